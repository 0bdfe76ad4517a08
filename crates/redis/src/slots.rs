//! The slots of a Redis Cluster: each key belongs to one of them, each of them to one server.

use redis::Value;

use crate::target::ServerPlace;

/// Slots of a Redis Cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// Returns the slot of a key. Of a key with a hash tag, which is text between braces, the tag alone decides.
pub(crate) fn slot_of(key: &str) -> u16 {
    crc16(hash_tag(key).unwrap_or(key).as_bytes()) % SLOTS
}

/// Returns the text between the first `{` and the first `}` after it, unless that is empty.
fn hash_tag(key: &str) -> Option<&str> {
    let (_, rest) = key.split_once('{')?;
    let (tag, _) = rest.split_once('}')?;
    Some(tag).filter(|tag| !tag.is_empty())
}

/// Puts a hash tag around all of a key but its first word, so that keys which begin with the result are in one slot.
pub(crate) fn with_hash_tag(key: &str) -> String {
    match key.split_once(':') {
        Some((first, rest)) => format!("{first}:{{{rest}}}"),
        None => format!("{{{key}}}"),
    }
}

/// CRC-16/XMODEM, by which a Redis Cluster assigns slots.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

/// The slots from one to another, both included, and the server that has them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    pub(crate) first: u16,
    pub(crate) last: u16,
    pub(crate) place: ServerPlace,
}

impl SlotRange {
    /// Reads the answer to `CLUSTER SLOTS`: the ranges, each with its servers, the one that writes first.
    pub(crate) fn read_all(answer: &Value) -> Vec<Self> {
        let Value::Array(ranges) = answer else { return Vec::new() };
        ranges.iter().filter_map(Self::read).collect()
    }

    fn read(range: &Value) -> Option<Self> {
        let Value::Array(parts) = range else { return None };
        let [first, last, Value::Array(server), ..] = parts.as_slice() else { return None };
        let [host, port, ..] = server.as_slice() else { return None };
        // No host stands for that of the server that was asked.
        let host = redis::from_redis_value_ref::<Option<String>>(host).ok()?.unwrap_or_default();
        let number = |value| redis::from_redis_value_ref::<u16>(value).ok();
        let (first, last) = (number(first)?, number(last)?);
        (last < SLOTS).then_some(Self { first, last, place: ServerPlace { host, port: number(port)? } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fall_into_the_slots_that_redis_computes() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        for (key, slot) in [("foo", 12182), ("svc{foo}bar", 12182), ("{}foo", slot_of("{}foo")), ("", 0)] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
        assert_ne!(slot_of("{}foo"), slot_of("foo"), "an empty tag is none");
        let window = with_hash_tag("svc:rl:orders:a}b{c");
        assert_eq!(slot_of(&window), slot_of(&format!("{window}:1700000000")));
    }

    #[test]
    fn ranges_are_read_with_the_server_that_writes() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let server = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let range = |first, last, servers: Vec<Value>| {
            Value::Array([vec![Value::Int(first), Value::Int(last)], servers].concat())
        };
        let answer = Value::Array(vec![
            range(0, 99, vec![server(text("10.0.0.1"), 6379), server(text("10.0.0.2"), 6379)]),
            range(100, 16_383, vec![server(Value::Nil, 6380)]),
            range(0, 16_384, vec![server(text("no slot"), 1)]),
        ]);
        let expected = |first, last, host: &str, port| SlotRange {
            first,
            last,
            place: ServerPlace { host: host.to_owned(), port },
        };
        assert_eq!(
            SlotRange::read_all(&answer),
            [expected(0, 99, "10.0.0.1", 6379), expected(100, 16_383, "", 6380)]
        );
        assert_eq!(SlotRange::read_all(&Value::Nil), []);
    }
}
