//! Reads of paths that the library underneath would read otherwise. Not an operator for authors.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use crate::path::forced_key;

/// The name no author writes.
pub(crate) const FORCED: &str = "#forced";

/// `[value, path]`: the value at the path below the value, by the rules of [`crate::path`]; null if it
/// leads nowhere.
pub(super) struct Forced;

impl CustomOperator for Forced {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [value, DataValue::String(path)] = args else {
            return Err(super::arguments::refuse("a read takes a value and a path"));
        };
        Ok(path.split('.').try_fold(*value, step).unwrap_or_else(|| arena.null()))
    }
}

fn step<'a>(value: &'a DataValue<'a>, segment: &str) -> Option<&'a DataValue<'a>> {
    let forced = forced_key(segment);
    match value {
        DataValue::Object(pairs) => {
            let key = forced.unwrap_or(segment);
            pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
        }
        DataValue::Array(items) if forced.is_none() && segment.bytes().all(|b| b.is_ascii_digit()) => {
            items.get(segment.parse::<usize>().ok()?)
        }
        _ => None,
    }
}
