//! `filter`: goes on only when its condition is exactly `true`.

use super::context::{BuiltinCx, is_true};
use super::input::BuiltinInput;
use crate::catalogue::{FunctionEntry, InputField};
use crate::expression::Expression;
use crate::function::TaskOutcome;

/// The catalogue entry of `filter`.
pub(super) static ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::condition("condition", "Expression; only true passes").required(),
        InputField::string("on_reject", "halt stops the workflow, skip only this task; halt by default")
            .one_of(&["halt", "skip"]),
    ],
    ..FunctionEntry::built_in("filter", "Stops the workflow, or only itself, unless its condition is true")
};

#[derive(Debug)]
pub(crate) struct FilterTask {
    condition: Expression,
    on_reject: TaskOutcome,
}

impl FilterTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let condition = input.required_condition("condition");
        let on_reject = match input.one_of("on_reject", &["halt", "skip"])? {
            "halt" => TaskOutcome::Halt,
            _ => TaskOutcome::Skip,
        };
        Some(Self { condition: condition?, on_reject })
    }

    pub(super) fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> TaskOutcome {
        match cx.evaluate(&self.condition, is_true) {
            Ok(true) => TaskOutcome::Success,
            Ok(false) => self.on_reject,
            Err(reason) => {
                slog::warn!(
                    cx.logger, "condition failed"; "workflow" => cx.workflow, "task" => cx.task,
                    "reason" => cx.work.reason_for_log(reason)
                );
                self.on_reject
            }
        }
    }
}
