//! Calls in an expression that fail whatever the message holds.

mod arity;
mod constant;

use serde_json::Value;

use crate::expression::Evaluator;

pub(crate) use arity::{Impossible, impossible};
use constant::failing_constant;

/// Returns the calls of an expression that cannot succeed: one that is always evaluated, if there is any,
/// else all that are in branches, which may not run.
pub(crate) fn failing_calls(evaluator: &Evaluator, source: &Value) -> Vec<Impossible> {
    let mut calls = impossible(source);
    if !calls.iter().any(|call| call.always)
        && let Some((place, reason)) = failing_constant(evaluator, source)
    {
        calls = vec![Impossible { place, reason, always: true }];
    }
    calls
}
