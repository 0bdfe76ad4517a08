//! The faults of a value, as problems of its fields.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use svc_model::{FieldCode, FieldError, nearest};

/// Maximum number of faults in a report.
pub(crate) const MAX_FAULTS: usize = 100;

/// Maximum length of a message, in characters: a schema may list many words.
const MAX_MESSAGE: usize = 300;

/// Maximum length of a path, in characters: a sender chooses the names in it, and each fault repeats them.
const MAX_PATH: usize = 300;

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The formats of JSON Schema.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Returns the reason why a schema does not compile, with what to write in the place of an unknown type or format.
pub(crate) fn describe_schema_fault(path: &str, message: &str) -> String {
    let quoted = |begin: &str, end: char| message.strip_prefix(begin)?.split_once(end).map(|(name, _)| name);
    let unknown = |kind: &str, name: &str, known: &[&'static str]| {
        let remedy = match nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("there are {}", known.join(", ")),
        };
        shorten_message(&format!("there is no {kind} '{name}', {remedy}"))
    };
    if let Some(format) = quoted("Unknown format: '", '\'') {
        return unknown("format", format, &FORMATS);
    }
    match quoted("\"", '"') {
        Some(name) if path.ends_with(".type") && message.contains("anyOf") => unknown("type", name, &TYPES),
        Some(_) if message.ends_with("is not a \"regex\"") => {
            let why = "a pattern is one that matches in linear time, without look-around and back references";
            shorten_message(&format!("{message}: {why}"))
        }
        _ => shorten_message(message),
    }
}

/// Returns the problems of a fault that the validator found in `root`. The value itself is not repeated.
pub(crate) fn to_field_errors(error: &ValidationError<'_>, root: &Value, at: &str) -> Vec<FieldError> {
    let path = shorten(&format!("{at}{}", path_within(root, error.instance_path().as_str())), MAX_PATH);
    let member = |name: &str| shorten(&format!("{path}.{name}"), MAX_PATH);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            vec![FieldError::required(member(&name))]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .take(MAX_FAULTS)
            .map(|name| {
                FieldError::new(member(name), FieldCode::UnknownField, "the schema has no such field")
            })
            .collect(),
        kind => {
            let code = match kind {
                ValidationErrorKind::Type { .. } => FieldCode::TypeMismatch,
                _ => FieldCode::Invalid,
            };
            vec![FieldError::new(path, code, shorten_message(&error.masked().to_string()))]
        }
    }
}

/// Converts a JSON pointer into a value to a path: items are numbers in brackets, members their names.
fn path_within(root: &Value, pointer: &str) -> String {
    let (mut path, mut reached) = (String::new(), Some(root));
    for part in pointer.split('/').skip(1) {
        if let Some(Value::Array(items)) = reached {
            reached = part.parse::<usize>().ok().and_then(|index| items.get(index));
            path.extend(["[", part, "]"]);
        } else {
            let name = part.replace("~1", "/").replace("~0", "~");
            reached = reached.and_then(|value| value.get(name.as_str()));
            path.extend([".", name.as_str()]);
        }
    }
    path
}

/// Returns the message, or its beginning if it is too long.
pub(crate) fn shorten_message(message: &str) -> String {
    shorten(message, MAX_MESSAGE)
}

fn shorten(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::MessageSchema;

    #[test]
    fn schema_that_does_not_compile_names_remedies() {
        for (schema, told) in [
            (json!({"type": "objekt"}), "$.type: there is no type 'objekt', did you mean 'object'?"),
            (json!({"type": "int"}), "did you mean 'integer'?"),
            (json!({"type": "x"}), "there are array, boolean, integer, null, number, object, string"),
            (json!({"format": "e-mail"}), "there is no format 'e-mail', did you mean 'email'?"),
            (json!({"pattern": "^(?=A)"}), "without look-around and back references"),
        ] {
            let error = MessageSchema::compile(&schema).map(drop).unwrap_err().to_string();
            assert!(error.contains(told), "{schema}: {error}");
        }
    }
}
