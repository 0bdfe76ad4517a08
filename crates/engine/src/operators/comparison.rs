//! `<` and its like over numbers by all their digits. Not operators for authors, who write the names of the library
//! underneath: that one compares numbers as doubles, and here everything else.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue, Engine, Logic};
use serde_json::json;

use super::arguments::refuse;
use super::numbers::order;

/// `[one, other]`: `<`.
pub(crate) const LESS: &str = "#<";
/// `[one, other]`: `<=`.
pub(crate) const AT_MOST: &str = "#<=";
/// `[one, other]`: `>`.
pub(crate) const GREATER: &str = "#>";
/// `[one, other]`: `>=`.
pub(crate) const AT_LEAST: &str = "#>=";

/// The operators of the library, each over the members `one` and `other`, in the order of `NumberComparison::rule`.
static LIBRARY: LazyLock<Option<(Engine, Vec<Arc<Logic>>)>> = LazyLock::new(|| {
    let engine = Engine::builder().build();
    let rules = ["<", "<=", ">", ">="].into_iter().map(|operator| {
        let rule = json!({ operator: [{"var": "one"}, {"var": "other"}] });
        engine.compile_arc(&rule).ok()
    });
    let rules = rules.collect::<Option<Vec<_>>>()?;
    Some((engine, rules))
});

pub(super) struct NumberComparison {
    rule: usize,
    holds: fn(Ordering) -> bool,
}

impl NumberComparison {
    /// Every comparison, with its name.
    pub(super) const ALL: [(&'static str, Self); 4] = [
        (LESS, Self { rule: 0, holds: Ordering::is_lt }),
        (AT_MOST, Self { rule: 1, holds: Ordering::is_le }),
        (GREATER, Self { rule: 2, holds: Ordering::is_gt }),
        (AT_LEAST, Self { rule: 3, holds: Ordering::is_ge }),
    ];
}

impl CustomOperator for NumberComparison {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        match args {
            [DataValue::Number(one), DataValue::Number(other)] => {
                let are_numbers = !one.is_nan() && !other.is_nan();
                Ok(arena.bool(are_numbers && (self.holds)(order(*one, *other))))
            }
            [one, other] => {
                let (engine, rules) = LIBRARY.as_ref().ok_or_else(not_a_number)?;
                let rule = rules.get(self.rule).ok_or_else(not_a_number)?;
                let members = arena.alloc_slice_copy(&[("one", **one), ("other", **other)]);
                let pair = arena.alloc(DataValue::Object(members));
                // It fails over what has no order alone.
                engine.evaluate(rule, *pair, arena).map_err(|_| not_a_number())
            }
            _ => Err(refuse("Invalid Arguments")),
        }
    }
}

fn not_a_number() -> datalogic_rs::Error {
    refuse("NaN")
}
