//! Validation problems with the path of the field they were found in.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::code::Code;
use crate::error::ServiceError;
pub(crate) use crate::field_code::FieldCode;

/// A problem at one path of a document.
///
/// `path` starts at the resource (`channel.protocol`, `tasks[2].function.input.connector`), or at `body` if
/// the JSON does not have the shape of the request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    /// The path of the field.
    pub path: String,
    /// The class of the problem.
    pub code: FieldCode,
    /// A description of the problem.
    pub message: String,
    /// The expected value. Boxed, like `got`: few problems have them, and the type is a part of many results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Box<Value>>,
    /// The received value. Never a value that may be secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Box<Value>>,
    /// The path of the member that the problem is about; `path` is the path of its block.
    #[serde(skip)]
    pub member: Option<Box<str>>,
    /// True if the key at `path` is wrong, whatever its value is, and the code does not say so.
    #[serde(skip)]
    pub is_wrong_key: bool,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl FieldError {
    /// Creates a problem.
    pub fn new(path: impl Into<String>, code: FieldCode, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            code,
            message: message.into(),
            expected: None,
            got: None,
            member: None,
            is_wrong_key: false,
        }
    }

    /// Creates a problem about an invalid value.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(path, FieldCode::Invalid, message)
    }

    /// Creates a problem about a missing required field.
    pub fn required(path: impl Into<String>) -> Self {
        Self::new(path, FieldCode::Required, "this field is required")
    }

    /// Creates a problem about a wrong JSON type. It contains only the type of `got`, never the value.
    pub fn type_mismatch(path: impl Into<String>, expected: &str, got: &Value) -> Self {
        let got_type = json_type(got);
        Self::new(path, FieldCode::TypeMismatch, format!("expected {expected}, got {got_type}"))
            .with_expected(expected)
            .with_got(got_type)
    }

    /// Creates a problem about an excessive length; `unit` is `bytes` or `characters`.
    pub fn too_long(path: impl Into<String>, limit: usize, length: usize, unit: &str) -> Self {
        Self::new(path, FieldCode::TooLong, format!("at most {limit} {unit}"))
            .with_expected(limit)
            .with_got(length)
    }

    /// Adds the expected value.
    #[must_use]
    pub fn with_expected(mut self, expected: impl Into<Value>) -> Self {
        self.expected = Some(Box::new(expected.into()));
        self
    }

    /// Adds the path of the member that the problem of a block is about.
    #[must_use]
    pub fn with_member(mut self, path: impl Into<Box<str>>) -> Self {
        self.member = Some(path.into());
        self
    }

    /// Marks the problem as one of the key at its path.
    #[must_use]
    pub fn with_wrong_key(mut self) -> Self {
        self.is_wrong_key = true;
        self
    }

    /// Returns `true` for a problem of the key at the path, whatever its value is.
    pub fn is_about_key(&self) -> bool {
        self.is_wrong_key || self.code.is_about_key()
    }

    /// Adds the received value.
    #[must_use]
    pub fn with_got(mut self, got: impl Into<Value>) -> Self {
        self.got = Some(Box::new(got.into()));
        self
    }

    /// Returns `{path, code, message, expected?, got?}`.
    pub fn to_json(&self) -> Value {
        let mut object = serde_json::Map::new();
        object.insert("path".into(), self.path.as_str().into());
        object.insert("code".into(), self.code.name().into());
        object.insert("message".into(), self.message.as_str().into());
        if let Some(expected) = &self.expected {
            object.insert("expected".into(), expected.as_ref().clone());
        }
        if let Some(got) = &self.got {
            object.insert("got".into(), got.as_ref().clone());
        }
        Value::Object(object)
    }
}

/// An entry of a validation report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Issue {
    /// The path of the field; `(root)` if no field applies.
    pub field: String,
    /// A description of the problem.
    pub message: String,
    /// The class of the problem, if a field code applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<FieldCode>,
    /// Id of the channel that serves and is in the way, in a conflict about a name or a route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rival: Option<String>,
}

impl Issue {
    /// Creates an entry without a code.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), code: None, rival: None }
    }

    /// Adds the code.
    #[must_use]
    pub fn with_code(self, code: FieldCode) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Adds the id of the channel that is in the way.
    #[must_use]
    pub fn with_rival(self, id: impl Into<String>) -> Self {
        Self { rival: Some(id.into()), ..self }
    }

    /// Creates an entry about the document as a whole.
    pub fn root(message: impl Into<String>) -> Self {
        Self::new("(root)", message)
    }
}

impl From<&ServiceError> for Issue {
    /// Converts the refusal of a request to an entry about the document as a whole.
    fn from(error: &ServiceError) -> Self {
        let code = match error.code() {
            Code::NotFound => Some(FieldCode::NotFound),
            Code::Conflict => Some(FieldCode::Conflict),
            Code::PreconditionFailed => Some(FieldCode::PreconditionFailed),
            _ => None,
        };
        Self { code, ..Self::root(error.message()) }
    }
}

impl From<FieldError> for Issue {
    fn from(error: FieldError) -> Self {
        Self::new(error.path, error.message).with_code(error.code)
    }
}

/// The report of a validation or of a dry run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationReport {
    /// Problems for which the real request would be refused.
    pub errors: Vec<Issue>,
    /// Problems for which it would not be refused.
    pub warnings: Vec<Issue>,
}

impl ValidationReport {
    /// Returns true if the real request would not be refused.
    pub fn valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns `{valid, errors, warnings}`, without the outer `data`.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "valid": self.valid(), "errors": self.errors, "warnings": self.warnings })
    }
}

impl From<ServiceError> for ValidationReport {
    /// Builds the report of a request that would be refused with this error.
    fn from(refused: ServiceError) -> Self {
        let mut errors: Vec<_> = refused.details().iter().cloned().map(Issue::from).collect();
        if errors.is_empty() {
            errors.push(Issue::from(&refused));
        }
        Self { errors, warnings: Vec::new() }
    }
}

impl From<Vec<FieldError>> for ValidationReport {
    fn from(errors: Vec<FieldError>) -> Self {
        Self { errors: errors.into_iter().map(Issue::from).collect(), warnings: Vec::new() }
    }
}

/// Returns the JSON type of a value, as used in error messages.
pub(crate) const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_code_serialises_as_its_name() {
        for code in FieldCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }

    #[test]
    fn a_problem_omits_what_it_does_not_know() {
        let bare = FieldError::invalid("a.b", "no");
        assert_eq!(bare.to_json(), json!({"path": "a.b", "code": "INVALID", "message": "no"}));
        let full = FieldError::too_long("a", 255, 300, "bytes");
        assert_eq!(full.to_json(), serde_json::to_value(&full).unwrap());
        assert_eq!((&full.to_json()["expected"], &full.to_json()["got"]), (&json!(255), &json!(300)));
    }

    #[test]
    fn a_report_is_valid_without_errors_whatever_its_warnings() {
        let warned = ValidationReport { errors: vec![], warnings: vec![Issue::root("careful")] };
        assert_eq!(
            warned.to_json(),
            json!({"valid": true, "errors": [], "warnings": [{"field": "(root)", "message": "careful"}]})
        );
        let refused = ValidationReport::from(vec![FieldError::required("x")]);
        assert_eq!(
            (refused.valid(), refused.to_json()["errors"][0]["code"].as_str()),
            (false, Some("REQUIRED"))
        );
    }
}
