//! The faults of a value, as problems of its fields.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use svc_model::mask::dotted_path;
use svc_model::{FieldCode, FieldError};

/// Maximum number of faults in a report.
pub(crate) const MAX_FAULTS: usize = 100;

/// Maximum length of a message, in characters: a schema may list many words.
const MAX_MESSAGE: usize = 300;

/// Maximum length of a path, in characters: a sender chooses the names in it, and each fault repeats them.
const MAX_PATH: usize = 300;

/// Returns the problems of a fault of the validator. The value itself is not repeated.
pub(crate) fn to_field_errors(error: &ValidationError<'_>, at: &str) -> Vec<FieldError> {
    let path = shorten(&format!("{at}{}", dotted_path(error.instance_path().as_str())), MAX_PATH);
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

/// Returns the message, or its beginning if it is too long.
pub(crate) fn shorten_message(message: &str) -> String {
    shorten(message, MAX_MESSAGE)
}

fn shorten(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}
