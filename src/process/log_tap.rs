//! A second reader of the log: what passes the filter is written, and handed to the reader, if one is connected.
#![cfg_attr(
    not(any(feature = "otlp", test)),
    expect(dead_code, reason = "only the export over OTLP reads it")
)]

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use slog::{Drain, KV as _, Key, Level, Never, OwnedKVList, Record, Serializer};
use svc_model::Timestamp;
use tokio::sync::mpsc;

use crate::process::log_queue::LogQueue;

/// The value of a field of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

/// A message of the log.
#[derive(Clone, Debug)]
pub(crate) struct TappedMessage {
    pub(crate) at: Timestamp,
    pub(crate) level: Level,
    /// The module that logged it.
    pub(crate) target: String,
    pub(crate) text: String,
    pub(crate) fields: Vec<(String, FieldValue)>,
}

/// The place at which a reader connects to the log. Clones share it. No message waits for the reader: one that finds no
/// room is dropped and counted.
#[derive(Clone, Debug, Default)]
pub struct LogTap(Arc<AssertUnwindSafe<TapState>>);

#[derive(Debug, Default)]
struct TapState {
    reader: ArcSwapOption<mpsc::Sender<TappedMessage>>,
    dropped: AtomicU64,
}

impl LogTap {
    /// Connects a reader in the place of the one before, with room for `capacity` messages.
    pub(crate) fn connect(&self, capacity: usize) -> mpsc::Receiver<TappedMessage> {
        let (sender, receiver) = mpsc::channel(capacity);
        self.0.reader.store(Some(Arc::new(sender)));
        receiver
    }

    /// Hands nothing on any more.
    pub(crate) fn disconnect(&self) {
        self.0.reader.store(None);
    }

    /// Returns the number of messages that found no room since the last call.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.0.dropped.swap(0, Ordering::Relaxed)
    }

    fn offer(&self, record: &Record<'_>, values: &OwnedKVList) {
        let reader = self.0.reader.load();
        let Some(sender) = &*reader else { return };
        if sender.try_send(TappedMessage::new(record, values)).is_err() {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl TappedMessage {
    fn new(record: &Record<'_>, values: &OwnedKVList) -> Self {
        let mut fields = FieldReader::default();
        // Reading into memory cannot fail; a value that cannot be read leaves out what comes after it.
        let _ = record.kv().serialize(record, &mut fields);
        let _ = values.serialize(record, &mut fields);
        Self {
            at: Timestamp::now(),
            level: record.level(),
            target: record.module().to_owned(),
            text: record.msg().to_string(),
            fields: fields.0,
        }
    }
}

/// Writes messages to the queue of the log, and hands them to the tap.
pub(crate) struct TappedQueue {
    pub(crate) queue: LogQueue,
    pub(crate) tap: LogTap,
}

impl Drain for TappedQueue {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        self.tap.offer(record, values);
        self.queue.log(record, values)
    }
}

/// Reads the fields of a message.
#[derive(Default)]
struct FieldReader(Vec<(String, FieldValue)>);

impl FieldReader {
    fn push(&mut self, key: &str, value: FieldValue) -> slog::Result {
        self.0.push((key.to_owned(), value));
        Ok(())
    }

    /// Keeps a number whole as far as the wire has room for it.
    fn push_integer(&mut self, key: &str, value: impl TryInto<i64> + fmt::Display + Copy) -> slog::Result {
        let kept = value.try_into().map_or_else(|_| FieldValue::Text(value.to_string()), FieldValue::Integer);
        self.push(key, kept)
    }
}

impl Serializer for FieldReader {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> slog::Result {
        self.push(key, FieldValue::Text(value.to_string()))
    }

    fn emit_str(&mut self, key: Key, value: &str) -> slog::Result {
        self.push(key, FieldValue::Text(value.to_owned()))
    }

    fn emit_bool(&mut self, key: Key, value: bool) -> slog::Result {
        self.push(key, FieldValue::Bool(value))
    }

    fn emit_f64(&mut self, key: Key, value: f64) -> slog::Result {
        self.push(key, FieldValue::Float(value))
    }

    fn emit_usize(&mut self, key: Key, value: usize) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_u16(&mut self, key: Key, value: u16) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_u32(&mut self, key: Key, value: u32) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_u64(&mut self, key: Key, value: u64) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_i32(&mut self, key: Key, value: i32) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_i64(&mut self, key: Key, value: i64) -> slog::Result {
        self.push_integer(key, value)
    }

    fn emit_none(&mut self, _key: Key) -> slog::Result {
        Ok(())
    }

    fn emit_unit(&mut self, _key: Key) -> slog::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slog::{Discard, Logger, info, o};

    use super::*;

    fn tapped() -> (Logger, LogTap) {
        let (queue, guard) = LogQueue::start(Discard);
        drop(guard);
        let tap = LogTap::default();
        (Logger::root(TappedQueue { queue, tap: tap.clone() }.fuse(), o!("node" => "n1")), tap)
    }

    #[test]
    fn reader_gets_text_and_typed_fields() {
        let (log, tap) = tapped();
        info!(log, "unread"; "a" => 1);
        let mut reader = tap.connect(4);
        info!(log, "read {}", 2; "text" => "t", "number" => 7_usize, "big" => u64::MAX, "is" => true,
            "share" => 0.5, "none" => None::<u8>);
        let message = reader.try_recv().unwrap();
        assert_eq!((message.text.as_str(), message.level), ("read 2", Level::Info));
        assert!(message.target.contains("log_tap"), "{}", message.target);
        let field = |name: &str| message.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        assert_eq!(field("text"), Some(&FieldValue::Text("t".to_owned())));
        assert_eq!(field("number"), Some(&FieldValue::Integer(7)));
        assert_eq!(field("big"), Some(&FieldValue::Text(u64::MAX.to_string())));
        assert_eq!(field("is"), Some(&FieldValue::Bool(true)));
        assert_eq!(field("share"), Some(&FieldValue::Float(0.5)));
        assert_eq!(field("node"), Some(&FieldValue::Text("n1".to_owned())));
        assert_eq!(field("none"), None);
    }

    #[test]
    fn full_reader_drops_messages_and_counts_them() {
        let (log, tap) = tapped();
        let mut reader = tap.connect(2);
        (0..5).for_each(|_| info!(log, "line"));
        assert_eq!((tap.take_dropped(), tap.take_dropped()), (3, 0));
        tap.disconnect();
        info!(log, "after");
        assert_eq!(tap.take_dropped(), 0);
        assert!(reader.try_recv().is_ok() && reader.try_recv().is_ok() && reader.try_recv().is_err());
    }
}
