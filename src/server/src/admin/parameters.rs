//! The query parameters of every endpoint. Any other is refused before the handler runs: a misspelt filter must not read as
//! "everything", nor a misspelt `dry_run` as an order to write.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error as ActixError, HttpRequest};
use svc_api::{QueryParameter, endpoints};
use svc_model::{FieldError, ServiceError, unknown_key};

use crate::http::{ADMIN, Error, parse_query};
use crate::router::described_path;

/// Returns the parameters of the endpoint that a request matches; `None` if it matches none.
pub(super) fn endpoint_parameters(request: &HttpRequest) -> Option<&'static [QueryParameter]> {
    let pattern = request.match_pattern()?;
    let (_, below) = pattern.split_once(ADMIN)?;
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let endpoint = endpoints::find(method.as_str(), &described_path(&format!("{ADMIN}{below}")))?;
    Some(endpoint.query)
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
    let parameters = endpoint_parameters(request)?;
    // A malformed query is refused by the handlers that read it.
    let sent = parse_query(request.query_string()).ok()?;
    let parameters: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
    let unknown = sent.keys().filter(|key| !parameters.contains(&key.as_str()));
    let errors: Vec<_> = unknown.map(|key| refusal(key, &parameters)).collect();
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
