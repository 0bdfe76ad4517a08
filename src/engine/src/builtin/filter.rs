//! `filter`: goes on only when its condition is exactly `true`.

use super::{Cx, Input, is_true};
use crate::expression::{Expression, SecretUse};
use crate::function::Outcome;

#[derive(Debug)]
pub(crate) struct Filter {
    condition: Expression,
    on_reject: Outcome,
}

impl Filter {
    pub(super) fn compile(input: &mut Input<'_, '_>) -> Option<Self> {
        let condition = input.required_logic("condition", SecretUse::Allowed);
        let on_reject = match input.one_of("on_reject", &["halt", "skip"])? {
            "halt" => Outcome::Halt,
            _ => Outcome::Skip,
        };
        Some(Self { condition: condition?, on_reject })
    }

    pub(super) fn run<'r>(&'r self, cx: &mut Cx<'_, 'r>) -> Outcome {
        match cx.evaluate(&self.condition, is_true) {
            Ok(true) => Outcome::Success,
            Ok(false) => self.on_reject,
            Err(reason) => {
                slog::warn!(
                    cx.logger, "condition failed";
                    "workflow" => cx.workflow, "task" => cx.task, "reason" => reason
                );
                self.on_reject
            }
        }
    }
}
