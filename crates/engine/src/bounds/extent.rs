//! Bounds of the depth and the size of values.
//!
//! Copying, comparing, writing and dropping a value all recurse, and a value that doubles with every step
//! outgrows any machine in a few dozen. What tasks build is therefore kept as shallow as what a JSON parser
//! lets in, and within a number of bytes; a walk that measures a value stops when a bound is passed, however
//! large the rest.

use datalogic_rs::DataValue;
use datalogic_rs::datavalue::NumberValue;
use serde_json::Value;

/// Containers inside containers that a value may have, the root of the message counted.
pub const MAX_DEPTH: usize = 128;

/// Bytes counted for a value or key in addition to its text.
pub(crate) const NODE: usize = 32;

/// The bound that a value exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Excess {
    #[error("nests more than {MAX_DEPTH} deep")]
    Depth,
    #[error("takes more than {} MiB", .0 >> 20)]
    Bytes(usize),
}

/// The reason why a value in an arena cannot become one of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("holds a number beyond the range of doubles")]
    Infinite,
}

/// Returns the bytes a value takes, if it stays within `depth` containers and `limit` bytes: those of its
/// text, and 32 for every value and key.
pub(crate) fn measure(value: &Value, depth: usize, limit: usize) -> Result<usize, Excess> {
    let mut scale = Scale { bytes: 0, limit };
    scale.value(value, depth).map(|()| scale.bytes)
}

/// Returns the bytes a value takes: those of its text, and 32 for every value and key.
pub fn value_bytes(value: &Value) -> usize {
    measure(value, usize::MAX, usize::MAX).unwrap_or(usize::MAX)
}

/// As [`measure`], for a value in an arena, whose parts may be shared. JSON has no number that is not finite.
pub(crate) fn check_arena(value: &DataValue<'_>, limit: usize) -> Result<(), Unfit> {
    Scale { bytes: 0, limit }.arena_value(value, MAX_DEPTH)
}

/// Returns a number of bytes as messages show it: in whole MiB, or in KiB if that is none.
pub(crate) fn describe_bytes(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

struct Scale {
    bytes: usize,
    limit: usize,
}

impl Scale {
    fn node(&mut self, text: &str) -> Result<(), Excess> {
        self.bytes += NODE + text.len();
        if self.bytes > self.limit { Err(Excess::Bytes(self.limit)) } else { Ok(()) }
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Excess> {
        let inside = depth.checked_sub(1).ok_or(Excess::Depth);
        match value {
            Value::String(text) => self.node(text),
            Value::Array(items) => {
                let inside = inside?;
                self.node("")?;
                items.iter().try_for_each(|item| self.value(item, inside))
            }
            Value::Object(members) => {
                let inside = inside?;
                self.node("")?;
                members.iter().try_for_each(|(key, member)| {
                    self.node(key)?;
                    self.value(member, inside)
                })
            }
            _ => self.node(""),
        }
    }

    fn arena_value(&mut self, value: &DataValue<'_>, depth: usize) -> Result<(), Unfit> {
        let inside = depth.checked_sub(1).ok_or(Excess::Depth);
        match value {
            DataValue::Number(NumberValue::Float(double)) if !double.is_finite() => Err(Unfit::Infinite),
            DataValue::String(text) => self.node(text).map_err(Unfit::from),
            DataValue::Array(items) => {
                let inside = inside?;
                self.node("")?;
                items.iter().try_for_each(|item| self.arena_value(item, inside))
            }
            DataValue::Object(members) => {
                let inside = inside?;
                self.node("")?;
                members.iter().try_for_each(|(key, member)| {
                    self.node(key)?;
                    self.arena_value(member, inside)
                })
            }
            _ => self.node("").map_err(Unfit::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_containers_count_for_the_depth() {
        assert!(measure(&json!(1), 0, 99).is_ok());
        assert_eq!(measure(&json!([]), 0, 99), Err(Excess::Depth));
        assert!(measure(&json!({"a": [1], "b": 2}), 2, 999).is_ok());
        assert_eq!(measure(&json!({"a": [1], "b": 2}), 1, 999), Err(Excess::Depth));
    }

    #[test]
    fn text_values_and_keys_count_for_the_bytes() {
        let value = json!({"key": ["four", 1]});
        assert_eq!(measure(&value, 9, 167), Ok(5 * NODE + 7));
        assert_eq!(measure(&value, 9, 166), Err(Excess::Bytes(166)));
    }

    #[test]
    fn bounds_below_a_mebibyte_are_shown_in_kibibytes() {
        assert_eq!([3 << 20, 1 << 20, 256 << 10].map(describe_bytes), ["3 MiB", "1 MiB", "256 KiB"]);
    }

    #[test]
    fn shared_parts_are_measured_at_full_size() {
        let bump = datalogic_rs::bumpalo::Bump::new();
        let double = |inner| DataValue::Array(bump.alloc_slice_copy(&[inner, inner]));
        let grown = |times: usize| (0..times).fold(DataValue::Null, |inner, _| double(inner));
        assert_eq!(check_arena(&grown(10), 1 << 20), Ok(()));
        assert_eq!(check_arena(&grown(100), 1 << 20), Err(Excess::Bytes(1 << 20).into()));
    }

    #[test]
    fn infinite_number_is_unfit_at_any_depth() {
        let number = |double| DataValue::Number(NumberValue::Float(double));
        assert_eq!(check_arena(&number(f64::MAX), 99), Ok(()));
        for double in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let items = [number(1.5), number(double)];
            assert_eq!(check_arena(&DataValue::Array(&items), 999), Err(Unfit::Infinite));
        }
    }
}
