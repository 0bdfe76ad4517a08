//! `validation`: reports every rule that is not exactly `true`.

use datalogic_rs::DataValue;
use serde_json::Value;

use super::context::{BuiltinCx, is_true};
use super::input::BuiltinInput;
use crate::catalogue::{FunctionEntry, InputField};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::expression::{Expression, SecretPolicy};
use crate::function::TaskOutcome;
use crate::inputs::is_computed;

/// Maximum length of a computed message, in characters: a sender may choose what is in it.
const MAX_COMPUTED: usize = 1000;

/// The catalogue entry of `validation`.
pub(super) static ENTRY: FunctionEntry = FunctionEntry {
    aliases: &["validate"],
    fields: &[InputField::array("rules", "What must hold; all rules are looked at").required().each(&[
        InputField::condition("logic", "Expression; only true passes").required(),
        InputField::string("message", "Text of the error where it is not true").required().computed(),
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
    message: RuleMessage,
}

/// The text of a rule that does not hold.
#[derive(Debug)]
enum RuleMessage {
    Literal(String),
    Computed(Expression),
}

impl RuleMessage {
    fn compile(rule: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        match rule.get("message").filter(|source| is_computed(source) || is_read(source)) {
            Some(source) => {
                let secrets = SecretPolicy::Refused("the message of a rule");
                rule.logic("message", source, secrets).map(Self::Computed)
            }
            None => rule.required_string("message").map(|text| Self::Literal(text.to_owned())),
        }
    }

    /// Returns the error of a message for which the rule is not true.
    fn report<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> TaskError {
        let text = match self {
            Self::Literal(text) => Ok(text.clone()),
            Self::Computed(message) => cx.evaluate(message, |value| match value {
                DataValue::String(text) => (*text).to_owned(),
                value => value.to_serde_value().to_string(),
            }),
        };
        match (self, text) {
            (_, Err(reason)) => TaskError::new(ErrorCode::Evaluation, reason),
            (Self::Literal(_), Ok(text)) => TaskError::validation(text),
            (Self::Computed(_), Ok(text)) => {
                // The end of a secret may be what is cut off.
                let text = cx.work.redaction.mask_text(text);
                TaskError::validation(text.chars().take(MAX_COMPUTED).collect::<String>())
            }
        }
    }
}

/// Returns `true` for a read of the message, and nothing next to it.
fn is_read(source: &Value) -> bool {
    source.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("var"))
}

impl ValidationTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let rules = input.required_array("rules")?;
        let rules = input.each("rules", rules, |rule| {
            let logic = rule.required_condition("logic");
            let message = RuleMessage::compile(rule);
            Some(Rule { logic: logic?, message: message? })
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
                Ok(false) => {
                    let error = rule.message.report(cx);
                    cx.work.errors.push(error);
                }
                Err(reason) => cx.work.errors.push(TaskError::new(ErrorCode::Evaluation, reason)),
            }
        }
        Ok(if cx.work.errors.len() == before { TaskOutcome::Success } else { TaskOutcome::Status(400) })
    }
}
