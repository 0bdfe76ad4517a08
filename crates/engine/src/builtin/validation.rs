//! `validation`: reports every rule that is not exactly `true`.

use super::context::{BuiltinCx, is_true};
use super::input::BuiltinInput;
use crate::catalogue::{FunctionEntry, InputField};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::Expression;
use crate::function::TaskOutcome;

/// The catalogue entry of `validation`.
pub(super) static ENTRY: FunctionEntry = FunctionEntry {
    aliases: &["validate"],
    fields: &[InputField::array("rules", "What must hold; all rules are looked at").required().each(&[
        InputField::condition("logic", "Expression; only true passes").required(),
        InputField::string("message", "Text of the error where it is not true").required(),
    ])],
    ..FunctionEntry::built_in("validation", "Reports every rule that is not true; the workflow goes on")
};

#[derive(Debug)]
pub(crate) struct ValidationTask {
    rules: Box<[Rule]>,
}

#[derive(Debug)]
struct Rule {
    logic: Expression,
    message: String,
}

impl ValidationTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let rules = input.required_array("rules")?;
        let rules = input.each("rules", rules, |rule| {
            let logic = rule.required_condition("logic");
            let message = rule.required_string("message");
            Some(Rule { logic: logic?, message: message?.to_owned() })
        })?;
        Some(Self { rules })
    }

    /// Any failure gives status 400; the workflow goes on.
    pub(super) async fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<TaskOutcome, TaskError> {
        let before = cx.work.errors.len();
        for rule in &self.rules {
            cx.pace.check().await?;
            match cx.evaluate(&rule.logic, is_true) {
                Ok(true) => {}
                Ok(false) => cx.work.errors.push(TaskError::validation(&*rule.message)),
                Err(reason) => cx.work.errors.push(TaskError::new(ErrorCode::Evaluation, reason)),
            }
        }
        Ok(if cx.work.errors.len() == before { TaskOutcome::Success } else { TaskOutcome::Status(400) })
    }
}
