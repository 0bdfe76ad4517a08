//! The error envelope.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::{Code, FieldCode};
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema, Type};

/// `{"error": …}`: the body of every refusal and failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorEnvelope {
    /// Code, message and details of the error.
    pub error: ErrorDescription,
}

/// An error as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorDescription {
    /// The stable code, on which clients branch.
    #[schema(schema_with = error_codes)]
    pub code: String,
    /// A description for people.
    pub message: String,
    /// Every problem that was found, with its place; only with `VALIDATION_ERROR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable = false, required = false)]
    pub details: Vec<ErrorDetail>,
    /// The value of the header `x-request-id`, by which the log of the service has the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request_id: Option<String>,
    /// Id of the trace of a run that failed, if one is stored; also in the header `x-trace-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trace_id: Option<String>,
}

/// A problem at one place of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// The place, such as `channel.protocol`, `tasks[2].function.input.connector` or `body.status`.
    pub path: String,
    /// The class of the problem.
    #[schema(schema_with = field_codes)]
    pub code: String,
    /// A description for people.
    pub message: String,
    /// The expected value, or the names that could be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The received value, unless it could be secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
}

fn error_codes() -> RefOr<Schema> {
    let names = Code::ALL.iter().map(|code| code.name());
    let codes = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some("The stable code, on which clients branch."));
    codes.into()
}

/// Returns the schema of the class of a problem.
pub(crate) fn field_codes() -> RefOr<Schema> {
    let names = FieldCode::ALL.iter().map(|code| code.name());
    let codes = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some("The class of the problem."));
    codes.into()
}

#[cfg(test)]
mod tests {
    use svc_model::{FieldError, ServiceError};

    use super::*;

    #[test]
    fn service_error_round_trips_through_the_envelope() {
        let refused = ServiceError::invalid(vec![
            FieldError::type_mismatch("body.status", "string", &Value::Null),
            FieldError::required("channel.name"),
        ]);
        let failed =
            ServiceError::from_code(Code::EngineError).with_trace_id(svc_model::id::new_ordered_id());
        for body in
            [refused.body(Some("r-1")), ServiceError::not_found("gone").body(None), failed.body(Some("r"))]
        {
            let read: ErrorEnvelope = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), body.to_string());
        }
    }
}
