//! The forms in which functions send their inputs to the system that they call.
//!
//! A function converts its inputs itself. What is declared here is for stubs, which record the input of a call
//! as the function would have sent it.

use serde_json::Value;
use svc_model::FieldError;

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
    /// A list of such texts.
    Keys,
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
            (Self::Keys, Value::Array(items)) => {
                let keys = items.into_iter().enumerate().map(|(index, item)| to_key(index, item));
                SentValue::Converted(keys.collect::<Result<Value, String>>()?)
            }
            (Self::Keys, _) => return Err("expected a list of keys".to_owned()),
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

/// Returns an element of a list of keys as it is sent.
fn to_key(index: usize, item: Value) -> Result<Value, String> {
    match item {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(to_text(item)),
        Value::Null => Err(format!("[{index}]: required")),
        other => Err(format!("[{index}]: {}", FieldError::type_mismatch("key", "string", &other).message)),
    }
}

/// Returns a text as it is, and anything else as its JSON.
fn to_text(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sent_as_texts() {
        let sent = |value: Value| SentForm::Keys.convert("keys", value);
        assert_eq!(sent(json!(["a", 1, true])), Ok(SentValue::Converted(json!(["a", "1", "true"]))));
        assert_eq!(sent(json!(["a", null])), Err("[1]: required".to_owned()));
        assert!(sent(json!([[1]])).is_err_and(|why| why.starts_with("[0]: expected string")));
        assert!(sent(json!(null)).is_err() && sent(json!("a")).is_err());
    }
}
