//! The faults of a value, as problems of its fields.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use svc_model::{FieldCode, FieldError};

/// Maximum number of faults in a report.
pub(crate) const MAX_FAULTS: usize = 100;

/// Maximum length of a message, in characters: a schema may list many words.
const MAX_MESSAGE: usize = 300;

/// Maximum length of a path, in characters: a sender chooses the names in it, and each fault repeats them.
const MAX_PATH: usize = 300;

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
