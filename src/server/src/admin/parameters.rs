//! The query parameters of every endpoint. Any other is refused before the handler runs: a misspelt filter must not read as
//! "everything", nor a misspelt `dry_run` as an order to write.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error as ActixError, HttpRequest};
use svc_model::{FieldError, ServiceError, unknown_key};

use crate::http::{ADMIN, Error, parse_query};

const NONE: &[&str] = &[];
const VERSIONED_LIST: &[&str] =
    &["status", "tag", "channel_type", "protocol", "sort_by", "sort_order", "limit", "offset"];
const CONNECTOR_LIST: &[&str] = &["tag", "sort_by", "sort_order", "limit", "offset"];
const CHANGE: &[&str] = &["dry_run"];
const SERVING_CHANGE: &[&str] = &["dry_run", "reload"];
const IMPORT: &[&str] = &["dry_run", "on_conflict"];
const SKIP: &[&str] = &["dry_run", "offset"];
const DELETE: &[&str] = &["dry_run", "force"];

/// Returns the parameters of an endpoint, by its pattern below the admin base.
fn allowed_parameters(method: &Method, pattern: &str) -> &'static [&'static str] {
    match *method {
        Method::GET | Method::HEAD => allowed_read_parameters(pattern),
        Method::DELETE => DELETE,
        _ if pattern.ends_with("/import") => IMPORT,
        _ if pattern.ends_with("/skip") => SKIP,
        _ if ["/status", "/rollback", "/rollout"].iter().any(|end| pattern.ends_with(end)) => SERVING_CHANGE,
        _ => CHANGE,
    }
}

fn allowed_read_parameters(pattern: &str) -> &'static [&'static str] {
    match pattern {
        "/workflows" | "/channels" | "/workflows/export" | "/channels/export" => VERSIONED_LIST,
        "/connectors" | "/connectors/export" => CONNECTOR_LIST,
        "/workflows/{id}/versions" | "/channels/{id}/versions" => &["limit", "offset"],
        "/cron/occurrences" => &["channel_id", "status", "since", "until", "limit", "offset", "cursor"],
        "/traces" => &[
            "status",
            "channel",
            "mode",
            "workflow_id",
            "workflow_version",
            "sort_by",
            "sort_order",
            "limit",
            "offset",
            "cursor",
            "include_total",
        ],
        "/traces/{id}" => &["token"],
        "/trace-dlq" => &["channel", "exhausted", "limit", "offset"],
        "/audit-logs" => &[
            "action",
            "resource_type",
            "resource_id",
            "principal",
            "start_time",
            "end_time",
            "limit",
            "offset",
        ],
        "/packages" => &["limit", "offset"],
        "/functions" => &["all"],
        _ => NONE,
    }
}

/// Returns the parameters of the endpoint that a request matches; `None` if it matches none.
pub(super) fn endpoint_parameters(request: &HttpRequest) -> Option<&'static [&'static str]> {
    let pattern = request.match_pattern()?;
    let (_, below) = pattern.split_once(ADMIN)?;
    Some(allowed_parameters(request.method(), below))
}

/// Refuses a request with a parameter that its endpoint does not know.
pub(crate) async fn refuse_unknown_parameters<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, ActixError> {
    match find_unknown_parameters(request.request()) {
        Some(errors) => Ok(request.error_response(Error::from(errors)).map_into_right_body()),
        None => Ok(next.call(request).await?.map_into_left_body()),
    }
}

fn find_unknown_parameters(request: &HttpRequest) -> Option<ServiceError> {
    if request.query_string().is_empty() {
        return None;
    }
    let known = endpoint_parameters(request)?;
    // A malformed query is refused by the handlers that read it.
    let sent = parse_query(request.query_string()).ok()?;
    let unknown = sent.keys().filter(|key| !known.contains(&key.as_str()));
    let errors: Vec<_> = unknown.map(|key| refusal(key, known)).collect();
    (!errors.is_empty()).then(|| errors.into())
}

fn refusal(key: &str, known: &[&str]) -> FieldError {
    let error = unknown_key(format!("query.{key}"), key, known, &[]);
    let message = if known.is_empty() {
        format!("unknown query parameter '{key}', this endpoint has none")
    } else {
        error.message.replacen("unknown field", &format!("unknown query parameter '{key}'"), 1)
    };
    FieldError { message, ..error }
}
