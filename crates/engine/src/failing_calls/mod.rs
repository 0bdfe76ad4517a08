//! Calls in an expression that fail whatever the message holds.

mod arity;
mod constant;

use serde_json::Value;

use crate::expression::Evaluator;

pub(crate) use arity::{Impossible, impossible};
use constant::{failing_branches, failing_constant};

/// Returns the calls of an expression that cannot succeed: one that is always evaluated, if there is any,
/// else all that are in branches, which may not run.
pub(crate) fn failing_calls(evaluator: &Evaluator, source: &Value) -> Vec<Impossible> {
    let mut calls = impossible(source);
    if calls.iter().any(|call| call.always) {
        return calls;
    }
    if let Some((place, reason)) = failing_constant(evaluator, source) {
        return vec![Impossible { place, reason, always: true }];
    }
    for (place, reason) in failing_branches(evaluator, source) {
        // A call with too few operands is found by both.
        let is_known =
            calls.iter().any(|call| place.starts_with(&call.place) || call.place.starts_with(&place));
        if !is_known {
            calls.push(Impossible { place, reason, always: false });
        }
    }
    calls
}
