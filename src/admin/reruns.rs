//! Reruns of traces, and the version of a workflow that runs again.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::Value;
use svc_api::{DataEnvelope, RerunAccepted};
use svc_model::{AuditAction, FieldError, ServiceError, id};
use svc_store::{Mutation, RerunOrder, RerunVersion};

use super::query::QueryParameters;
use super::request_body::require_known_keys;
use super::traces::TRACE;
use crate::http::{AdminCaller, Error, JsonBody};
use crate::state::AppState;

/// The place of the version in a body.
const VERSION: &str = "body.version";

/// `POST /traces/{id}/rerun`: accepts the stored input of a trace as work of its own.
pub(super) async fn rerun(
    state: Data<AppState>,
    caller: AdminCaller,
    trace: Path<String>,
    query: QueryParameters,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let (version, payload) = parse_rerun(&body.0)?;
    let order = RerunOrder { id: trace.to_string(), rerun: id::new_ordered_id(), version, payload };
    let mutation = Mutation::new(caller.audit(AuditAction::Rerun, TRACE, &trace));
    let accepted = state.work.traces.rerun(order, mutation).await?;
    state.metrics.record_audit_event(AuditAction::Rerun, TRACE);
    let data = RerunAccepted { trace_id: accepted.trace_id.to_string() };
    Ok(HttpResponse::Accepted().json(DataEnvelope { data }))
}

/// Reads the body of a rerun.
fn parse_rerun(body: &Value) -> Result<(RerunVersion, Option<Value>), ServiceError> {
    let members = require_known_keys(body, &["version", "payload"])?;
    let version = members.get("version").ok_or_else(|| FieldError::required(VERSION))?;
    Ok((parse_version(version)?, members.get("payload").cloned()))
}

/// Reads the body of a retry, which may be empty.
pub(super) fn parse_retry(body: &Value) -> Result<RerunVersion, ServiceError> {
    let members = require_known_keys(body, &["version"])?;
    members.get("version").map_or(Ok(RerunVersion::Current), parse_version)
}

fn parse_version(version: &Value) -> Result<RerunVersion, ServiceError> {
    match version {
        Value::String(name) if name == "same" => Ok(RerunVersion::Same),
        Value::String(name) if name == "current" => Ok(RerunVersion::Current),
        Value::Number(number) if number.as_i64().is_some_and(|number| number > 0) => {
            Ok(RerunVersion::Number(number.as_i64().unwrap_or_default()))
        }
        Value::String(_) | Value::Number(_) => {
            Err(FieldError::invalid(VERSION, "it is 'same', 'current' or the number of a version").into())
        }
        other => Err(FieldError::type_mismatch(VERSION, "'same', 'current' or a number", other).into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_named_or_numbered() {
        for (version, expected) in [
            (json!("same"), RerunVersion::Same),
            (json!("current"), RerunVersion::Current),
            (json!(3), RerunVersion::Number(3)),
        ] {
            assert_eq!(parse_rerun(&json!({ "version": version })).unwrap(), (expected, None));
            assert_eq!(parse_retry(&json!({ "version": version })).unwrap(), expected);
        }
        assert_eq!(parse_retry(&json!({})).unwrap(), RerunVersion::Current);
        for bad in [
            json!({}),
            json!([]),
            json!({"version": "latest"}),
            json!({"version": 0}),
            json!({"version": 1.5}),
            json!({"version": null}),
            json!({"version": "same", "data": 1}),
        ] {
            assert_eq!(parse_rerun(&bad).unwrap_err().status(), 400, "{bad}");
        }
    }
}
