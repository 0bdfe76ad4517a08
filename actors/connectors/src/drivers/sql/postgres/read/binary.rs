//! The wire forms that the driver leaves to its users: arrays of any depth, decimals, times of day, infinity.

use std::fmt::Write as _;

use serde_json::Value;

use crate::drivers::sql::value::{MALFORMED, NOT_FINITE};

type Read<T> = Result<T, &'static str>;

fn take<const N: usize>(raw: &mut &[u8]) -> Read<[u8; N]> {
    let (head, rest) = raw.split_first_chunk().ok_or(MALFORMED)?;
    *raw = rest;
    Ok(*head)
}

fn int(raw: &mut &[u8]) -> Read<i32> {
    take(raw).map(i32::from_be_bytes)
}

fn short(raw: &mut &[u8]) -> Read<i16> {
    take(raw).map(i16::from_be_bytes)
}

/// An array, its dimensions nested.
pub(super) fn array(mut raw: &[u8], member: &mut dyn FnMut(&[u8]) -> Read<Value>) -> Read<Value> {
    let raw = &mut raw;
    let (depth, _has_null, _kind) = (int(raw)?, int(raw)?, int(raw)?);
    let mut lengths = Vec::new();
    for _ in 0..depth {
        let (length, _first) = (int(raw)?, int(raw)?);
        lengths.push(usize::try_from(length).map_err(|_| MALFORMED)?);
    }
    if lengths.is_empty() { Ok(Value::Array(Vec::new())) } else { dimension(raw, &lengths, member) }
}

fn dimension(
    raw: &mut &[u8],
    lengths: &[usize],
    member: &mut dyn FnMut(&[u8]) -> Read<Value>,
) -> Read<Value> {
    let Some((&length, inner)) = lengths.split_first() else {
        // A negative length is a NULL.
        let Ok(length) = usize::try_from(int(raw)?) else { return Ok(Value::Null) };
        let (value, rest) = raw.split_at_checked(length).ok_or(MALFORMED)?;
        *raw = rest;
        return member(value);
    };
    let mut items = Vec::new();
    for _ in 0..length {
        items.push(dimension(raw, inner, member)?);
    }
    Ok(Value::Array(items))
}

/// The digits of a decimal, written out.
pub(super) fn numeric(mut raw: &[u8]) -> Read<String> {
    let raw = &mut raw;
    let (count, weight, sign, scale) = (short(raw)?, short(raw)?, short(raw)?, short(raw)?);
    let mut groups = Vec::new();
    for _ in 0..count {
        groups.push(short(raw)?);
    }
    let mut digits = match sign {
        0 => String::new(),
        0x4000 => "-".to_owned(),
        _ => return Err(NOT_FINITE),
    };
    // Each group is four digits; the first stands for 10000 to the power of the weight. Those not sent are
    // zero.
    let group = |place: i16| usize::try_from(place).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
    let _ = write!(digits, "{}", if weight < 0 { 0 } else { group(0) });
    for place in 1..=weight {
        let _ = write!(digits, "{:04}", group(place));
    }
    if let Ok(places @ 1..) = usize::try_from(scale) {
        let (mut fraction, mut place) = (String::new(), weight);
        while fraction.len() < places {
            place = place.saturating_add(1);
            let _ = write!(fraction, "{:04}", group(place));
        }
        fraction.truncate(places);
        let _ = write!(digits, ".{fraction}");
    }
    Ok(digits)
}

/// Dates and timestamps beyond all others.
pub(super) fn infinite<const N: usize>(raw: &[u8]) -> Option<&'static str> {
    let (mut last, mut first) = ([0xff; N], [0; N]);
    (last[0], first[0]) = (0x7f, 0x80);
    match raw {
        raw if raw == last => Some("infinity"),
        raw if raw == first => Some("-infinity"),
        _ => None,
    }
}

/// A time of day. 24:00:00 is one.
pub(super) fn time(mut raw: &[u8]) -> Read<String> {
    let micros = take(&mut raw).map(i64::from_be_bytes)?;
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction != 0 {
        let _ = write!(text, ".{fraction:06}");
    }
    Ok(text)
}

/// A time of day with its distance from UTC.
pub(super) fn time_with_zone(raw: &[u8]) -> Read<String> {
    let (of_day, mut zone) = raw.split_at_checked(8).ok_or(MALFORMED)?;
    // Seconds to the west.
    let east = -int(&mut zone)?;
    let (sign, minutes) = (if east < 0 { '-' } else { '+' }, east.abs() / 60);
    let mut text = time(of_day)?;
    match minutes {
        0 => text.push('Z'),
        _ => {
            let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(parts: &[i16]) -> Vec<u8> {
        parts.iter().flat_map(|part| part.to_be_bytes()).collect()
    }

    #[test]
    fn decimals_are_written_out() {
        for (parts, expected) in [
            (vec![0, 0, 0, 0], "0"),
            (vec![0, 0, 0, 2], "0.00"),
            (vec![1, 0, 0, 0, 7], "7"),
            (vec![2, 0, 0, 2, 12, 5000], "12.50"),
            (vec![2, 1, 0x4000, 0, 1, 2], "-10002"),
            (vec![1, 2, 0, 0, 5], "500000000"),
            (vec![1, -1, 0, 4, 25], "0.0025"),
            (vec![1, -2, 0, 8, 25], "0.00000025"),
            (vec![1, -3, 0, 12, 1], "0.000000000001"),
            (vec![3, 1, 0, 3, 1, 0, 1230], "10000.123"),
        ] {
            assert_eq!(numeric(&raw(&parts)).as_deref(), Ok(expected), "{parts:?}");
        }
        assert_eq!(numeric(&raw(&[0, 0, -0x4000, 0])), Err(NOT_FINITE));
        assert_eq!(numeric(&raw(&[3, 0, 0, 0, 1])), Err(MALFORMED));
    }

    #[test]
    fn times_have_their_zone_behind_them() {
        let with = |seconds: i64, zone: i32| {
            let mut raw = (seconds * 1_000_000).to_be_bytes().to_vec();
            raw.extend(zone.to_be_bytes());
            time_with_zone(&raw).unwrap()
        };
        assert_eq!(with(0, 0), "00:00:00Z");
        assert_eq!(with(3723, -5 * 3600 - 1800), "01:02:03+05:30");
        assert_eq!(with(86_399, 8 * 3600), "23:59:59-08:00");
        assert_eq!(time(&1_500_000_i64.to_be_bytes()).unwrap(), "00:00:01.500000");
    }

    #[test]
    fn infinity_is_told_by_its_bytes() {
        assert_eq!(infinite::<4>(&i32::MAX.to_be_bytes()), Some("infinity"));
        assert_eq!(infinite::<8>(&i64::MIN.to_be_bytes()), Some("-infinity"));
        assert_eq!(infinite::<8>(&0_i64.to_be_bytes()), None);
    }
}
