//! `index`: one element of any list, also of a computed one.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::arguments::{kind_of, refuse};

/// `[list, position]`: the element, counted from 0, or from the end for a negative position; null outside the list.
pub(super) struct IndexOperator;

impl CustomOperator for IndexOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [list, position] = args else {
            return Err(refuse("index takes a list and a position"));
        };
        let Some(position) = position.as_i64() else {
            return Err(refuse(format!(
                "index takes a whole number as the position, not {}",
                kind_of(position)
            )));
        };
        let items: &'a [DataValue<'a>] = match list {
            DataValue::Array(items) => items,
            DataValue::Null => &[],
            other => return Err(refuse(format!("index takes a list, not {}", kind_of(other)))),
        };
        let distance = usize::try_from(position.unsigned_abs()).ok();
        let place =
            if position < 0 { distance.and_then(|back| items.len().checked_sub(back)) } else { distance };
        Ok(place.and_then(|place| items.get(place)).unwrap_or_else(|| arena.null()))
    }
}
