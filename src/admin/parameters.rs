//! The query parameters of every endpoint, and the values of those that take one of a set. Any other is refused before the
//! handler runs: a misspelt filter must not read as "everything" or "nothing", nor a misspelt `dry_run` as an order to
//! write.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error as ActixError, HttpRequest, web};
use svc_api::{QueryParameter, endpoints};
use svc_model::{FieldError, ServiceError, unknown_key};

use crate::http::{ADMIN, Error};
use crate::router::described_path;

/// Returns the parameters of the endpoint that a request matches; `None` if it matches none.
pub(super) fn endpoint_parameters(request: &HttpRequest) -> Option<&'static [QueryParameter]> {
    let pattern = request.match_pattern()?;
    let (_, below) = pattern.split_once(ADMIN)?;
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let endpoint = endpoints::find(method.as_str(), &described_path(&format!("{ADMIN}{below}")))?;
    Some(endpoint.query)
}

/// Refuses a request with a parameter, or a value, that its endpoint does not know.
pub(crate) async fn refuse_unknown_parameters<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, ActixError> {
    match find_unknown(request.request()) {
        Some(errors) => Ok(request.error_response(Error::from(errors)).map_into_right_body()),
        None => Ok(next.call(request).await?.map_into_left_body()),
    }
}

fn find_unknown(request: &HttpRequest) -> Option<ServiceError> {
    if request.query_string().is_empty() {
        return None;
    }
    let parameters = endpoint_parameters(request)?;
    // A malformed query is refused by the handlers that read it.
    let sent = web::Query::<Vec<(String, String)>>::from_query(request.query_string()).ok()?.into_inner();
    let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
    // Of a repeated key that takes one value the last counts.
    let counts = |place: usize, key: &String, parameter: Option<&QueryParameter>| {
        parameter.is_some_and(|parameter| parameter.kind.takes_several())
            || !sent.iter().skip(place + 1).any(|(other, _)| other == key)
    };
    let errors: Vec<_> = sent
        .iter()
        .enumerate()
        .filter_map(|(place, (key, value))| {
            let parameter = parameters.iter().find(|parameter| parameter.name == key);
            match parameter {
                _ if !counts(place, key, parameter) => None,
                Some(parameter) => unknown_value(parameter, value),
                None => Some(refusal(key, &names)),
            }
        })
        .collect();
    (!errors.is_empty()).then(|| errors.into())
}

/// Returns the refusal of a value that the parameter does not take; an empty one counts as absent.
pub(crate) fn unknown_value(parameter: &QueryParameter, value: &str) -> Option<FieldError> {
    let QueryParameter { name, kind, .. } = parameter;
    let known = kind.names()?;
    let is_unknown = |value: &&str| !value.is_empty() && parameter.spelling(value).is_none();
    let unknown = match kind.takes_several() {
        true => value.split(',').map(str::trim).find(is_unknown),
        false => Some(value).filter(is_unknown),
    };
    unknown.map(|value| {
        let message = format!("query parameter '{name}' must be one of {}", known.join(", "));
        FieldError::invalid(format!("query.{name}"), message).with_expected(known).with_got(value)
    })
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
