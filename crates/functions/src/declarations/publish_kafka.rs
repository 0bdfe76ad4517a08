//! `publish_kafka`.

use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, DefaultInput, FunctionEntry, InputField, SentForm};
use svc_model::{ConnectorType, FieldError};

use super::FunctionDeclaration;
use super::cloud_event::{CLOUDEVENT, check_event};

/// The declaration of `publish_kafka`.
pub static PUBLISH_KAFKA: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "unsafe_write",
        strict: true,
        fields: &[
            InputField::connector("Kafka connector"),
            InputField::string("topic", "Topic; the connector's own by default").computed(),
            InputField::logic("key", "Expression for the record's key")
                .alias("key_logic")
                .sent_as(SentForm::Text),
            InputField::logic("value", "Expression for the record's value; without it the whole of data")
                .alias("value_logic")
                .or_default(DefaultInput::Data)
                .unless("tombstone"),
            InputField::bool(
                "tombstone",
                "true: a record without a value; false: null as JSON. By default null has no value",
            ),
            CLOUDEVENT,
        ],
        ..FunctionEntry::connector(
            "publish_kafka",
            "Publishes one record and waits for the broker's acknowledgement",
            ConnectorRequirement::new(&[ConnectorType::Kafka]).inheriting("topic"),
        )
    },
    check,
};

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_event(input, at, errors);
    if input.get("topic").and_then(Value::as_str).is_some_and(|topic| topic.trim().is_empty()) {
        errors.push(FieldError::invalid(format!("{at}.topic"), "a topic has a name"));
    }
    let has_value =
        ["value", "value_logic"].iter().any(|name| input.get(*name).is_some_and(|value| !value.is_null()));
    if has_value && input.get("tombstone") == Some(&Value::Bool(true)) {
        errors.push(FieldError::invalid(format!("{at}.tombstone"), "a tombstone has no value"));
    }
}
