//! The faults of a value, as problems of its fields.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use svc_model::mask::dotted_path;
use svc_model::{FieldCode, FieldError};

/// Maximum number of faults in a report.
pub(crate) const MAX_FAULTS: usize = 100;

/// Maximum length of a message, in characters: a schema may list many words.
const MAX_MESSAGE: usize = 300;

/// Returns the problems of a fault of the validator. The value itself is not repeated.
pub(crate) fn to_field_errors(error: &ValidationError<'_>, at: &str) -> Vec<FieldError> {
    let path = format!("{at}{}", dotted_path(error.instance_path().as_str()));
    let member = |name: &str| format!("{path}.{name}");
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
            let message: String = error.masked().to_string().chars().take(MAX_MESSAGE).collect();
            vec![FieldError::new(path, code, message)]
        }
    }
}
