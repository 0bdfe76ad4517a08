//! `send_webhook`.

use serde_json::{Map, Value};
use svc_engine::Template;
use svc_engine::catalogue::{
    DefaultInput, DefaultOutput, FunctionEntry, FunctionTarget, InputField, PathUse, SentForm,
};
use svc_model::{FieldError, webhook_topic_problem};

use super::FunctionDeclaration;

/// The declaration of `send_webhook`.
pub static SEND_WEBHOOK: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "idempotent_write",
        strict: true,
        fields: &[
            InputField::string("topic", "Topic of the event").required().computed().sent_as(SentForm::Name),
            InputField::logic("data", "Expression for the data of the event; without it the whole of data")
                .alias("data_logic")
                .or_default(DefaultInput::Data),
            InputField::string(
                "consumer",
                "Name of the consumer whose endpoints get the event; without it those of all",
            )
            .computed(),
            InputField::string(
                "output",
                "Path that gets {webhook_id, endpoints}; without it nothing is written",
            )
            .path(PathUse::Target { alone: false })
            .sent_as(SentForm::Unsent),
        ],
        target: FunctionTarget::Topic,
        default_output: DefaultOutput::Discarded,
        ..FunctionEntry::utility("send_webhook", "Accepts an event for the webhook endpoints of its topic")
    },
    check,
};

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let literal = input.get("topic").map(Template::compile);
    let literal = literal.as_ref().and_then(Template::as_literal).and_then(Value::as_str);
    if let Some(why) = literal.and_then(webhook_topic_problem) {
        errors.push(FieldError::invalid(format!("{at}.topic"), why));
    }
}
