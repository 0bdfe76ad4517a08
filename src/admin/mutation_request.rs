//! Mutating requests: their author, their query, and the state they are based on.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::IF_MATCH;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use serde_json::Value;
use svc_api::ValidationResult;
use svc_model::{
    AuditAction, AuditResource, FieldError, Issue, Precondition, ServiceError, ValidationReport,
};
use svc_store::Mutation;
use tokio::time::Instant;

use super::query::QueryParameters;
use super::request_body::require_known_keys;
use super::response::data_response;
use crate::http::{AdminCaller, Error};

/// The context of a mutation other than path and body.
pub(super) struct MutationRequest {
    pub(super) caller: AdminCaller,
    pub(super) query: QueryParameters,
    precondition: Precondition,
    is_dry_run: bool,
    received_at: Instant,
}

impl MutationRequest {
    /// Returns `true` if nothing is to be written.
    pub(super) fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns the precondition on the state of the entity.
    pub(super) fn precondition(&self) -> &Precondition {
        &self.precondition
    }

    /// Returns the mutation for a change that does not affect the serving versions.
    pub(super) fn mutation(
        &self,
        action: AuditAction,
        resource: impl Into<AuditResource>,
        id: &str,
    ) -> Mutation {
        Mutation {
            dry_run: self.is_dry_run,
            precondition: self.precondition.clone(),
            received_at: self.received_at,
            ..Mutation::new(self.caller.audit(action, resource, id))
        }
    }
}

impl FromRequest for MutationRequest {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let mut read = || {
            let caller = AdminCaller::from_request(request, payload).into_inner()?;
            let query = QueryParameters::from_request(request, payload).into_inner()?;
            let lines = request.headers().get_all(IF_MATCH).map(|line| line.as_bytes());
            Ok(Self {
                caller,
                precondition: Precondition::parse(lines)?,
                is_dry_run: query.flag("dry_run")?,
                query,
                received_at: Instant::now(),
            })
        };
        ready(read())
    }
}

/// Responds with the report of a dry run: the refusals that the request would meet. A database outage is no
/// such refusal.
pub(super) fn dry_run_response<T>(outcome: Result<T, ServiceError>) -> Result<HttpResponse, Error> {
    Ok(data_response(ValidationResult::from(refusal_to_validation(outcome)?)))
}

/// As [`dry_run_response`], with the warnings that come with the real response.
pub(super) fn dry_run_response_with<T>(
    outcome: Result<T, ServiceError>,
    warnings: Vec<Issue>,
) -> Result<HttpResponse, Error> {
    let report = ValidationReport { warnings, ..refusal_to_validation(outcome)? };
    Ok(data_response(ValidationResult::from(report)))
}

/// Turns a refusal into a report; an error that the caller cannot avoid stays an error.
pub(super) fn refusal_to_validation<T>(
    outcome: Result<T, ServiceError>,
) -> Result<ValidationReport, ServiceError> {
    match outcome {
        Ok(_) => Ok(ValidationReport::default()),
        Err(refused) if refused.status() < 500 => Ok(refused.into()),
        Err(failed) => Err(failed),
    }
}

/// Reads a body that may hold a version under one key, and nothing else.
pub(super) fn parse_version(body: &Value, key: &str) -> Result<Option<i64>, ServiceError> {
    let fields = require_known_keys(body, &[key])?;
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(version) => version
            .as_i64()
            .map(Some)
            .ok_or_else(|| FieldError::type_mismatch(format!("body.{key}"), "integer", version).into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::FieldCode;
    use svc_store::StoreError;

    use super::*;

    #[test]
    fn refusal_becomes_a_report_and_an_outage_does_not() {
        let refused = refusal_to_validation::<()>(Err(ServiceError::not_found("no draft"))).unwrap();
        assert_eq!((refused.valid(), refused.errors[0].field.as_str()), (false, "(root)"));
        assert_eq!(refused.errors[0].code, Some(FieldCode::NotFound));
        assert!(refusal_to_validation(Ok(())).unwrap().valid());
        assert!(refusal_to_validation::<()>(Err(StoreError::Unavailable("away".into()).into())).is_err());
    }

    #[test]
    fn body_holds_a_version_or_nothing() {
        assert_eq!(parse_version(&json!({}), "to_version").unwrap(), None);
        assert_eq!(parse_version(&json!({"to_version": 3}), "to_version").unwrap(), Some(3));
        for bad in
            [json!([]), json!({"to_version": "3"}), json!({"to_version": 1.5}), json!({"to_versoin": 3})]
        {
            assert_eq!(parse_version(&bad, "to_version").unwrap_err().status(), 400, "{bad}");
        }
        let misspelt = parse_version(&json!({"to_versoin": 3}), "to_version").unwrap_err();
        assert!(misspelt.message().contains("to_version"), "{}", misspelt.message());
    }
}
