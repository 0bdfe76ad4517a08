//! The forms in which functions send their inputs to the system that they call.
//!
//! A function converts its inputs itself. What is declared here is for stubs, which record the input of a call
//! as the function would have sent it.

use serde_json::Value;

/// The form in which a function sends an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentForm {
    /// The value, which must be of the input's kind.
    Value,
    /// The value; null is left out.
    ValueOrNothing,
    /// A text, anything else as its JSON; null stays null.
    Text,
    /// A text, anything else as its JSON; null as the empty text.
    TextOrEmpty,
    /// A text that is needed, or a number or boolean as its JSON.
    Key,
    /// The name of something, not blank.
    Name,
    /// An object; null is left out.
    ObjectOrNothing,
    /// None: the function uses the input itself.
    Unsent,
}

/// The value that a function sends for an input that a task does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultInput {
    /// A text.
    Text(&'static str),
    /// The whole of `data`.
    Data,
    /// The payload of the run.
    Payload,
}

/// A value as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SentValue {
    /// This value.
    Converted(Value),
    /// This value, if it is of the input's kind.
    Typed(Value),
    /// Nothing.
    LeftOut,
}

impl SentForm {
    /// Converts a value of the input `name`.
    ///
    /// # Errors
    /// The requirement that the value does not meet.
    pub(crate) fn convert(self, name: &str, value: Value) -> Result<SentValue, String> {
        Ok(match (self, value) {
            (Self::Unsent, _) | (Self::ValueOrNothing | Self::ObjectOrNothing, Value::Null) => {
                SentValue::LeftOut
            }
            (Self::Text, Value::Null) => SentValue::Converted(Value::Null),
            (Self::TextOrEmpty, Value::Null) => SentValue::Converted("".into()),
            (Self::Text | Self::TextOrEmpty, value)
            | (Self::Key, value @ (Value::Number(_) | Value::Bool(_))) => {
                SentValue::Converted(to_text(value))
            }
            (Self::Key, Value::Null) => return Err("required".to_owned()),
            (Self::Name, value) => match value.as_str() {
                Some(text) if !text.trim().is_empty() => SentValue::Converted(value),
                _ => return Err(format!("expected the name of a {name}")),
            },
            (Self::ObjectOrNothing, value) if value.is_object() => SentValue::Converted(value),
            (Self::ObjectOrNothing, _) => return Err(format!("expected an object of {name}")),
            (Self::Value | Self::ValueOrNothing | Self::Key, value) => SentValue::Typed(value),
        })
    }
}

/// Returns a text as it is, and anything else as its JSON.
fn to_text(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => other.to_string().into(),
    }
}
