//! `validation`: reports every rule that is not exactly `true`.

use super::{Cx, Input, is_true};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Expression, SecretUse};
use crate::function::Outcome;

#[derive(Debug)]
pub(crate) struct Validation {
    rules: Box<[Rule]>,
}

#[derive(Debug)]
struct Rule {
    logic: Expression,
    message: String,
}

impl Validation {
    pub(super) fn compile(input: &mut Input<'_, '_>) -> Option<Self> {
        let rules = input.required_array("rules")?;
        let rules = input.each("rules", rules, |rule| {
            let logic = rule.required_logic("logic", SecretUse::Allowed);
            let message = rule.required_string("message");
            Some(Rule { logic: logic?, message: message?.to_owned() })
        })?;
        Some(Self { rules })
    }

    /// Any failure gives status 400; the workflow goes on.
    pub(super) async fn run<'r>(&'r self, cx: &mut Cx<'_, 'r>) -> Result<Outcome, TaskError> {
        let before = cx.work.errors.len();
        for rule in &self.rules {
            cx.pace.check().await?;
            match cx.evaluate(&rule.logic, is_true) {
                Ok(true) => {}
                Ok(false) => cx.work.errors.push(TaskError::validation(&*rule.message)),
                Err(reason) => cx.work.errors.push(TaskError::new(ErrorCode::Evaluation, reason)),
            }
        }
        Ok(if cx.work.errors.len() == before { Outcome::Success } else { Outcome::Status(400) })
    }
}
