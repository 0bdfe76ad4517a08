//! The refusals of the router, which have no body.

use actix_web::HttpResponse;
use actix_web::http::header::ALLOW;
use svc_model::ServiceError;

use crate::http::Error;

/// Returns the error for a bare refusal of the router, with the allowed methods. `HEAD` is allowed wherever
/// `GET` is.
pub(super) fn to_error(response: &HttpResponse) -> Error {
    let Error(error) = Error::from_status(response.status());
    let Some(methods) = response.headers().get(ALLOW).and_then(|methods| methods.to_str().ok()) else {
        return Error(error);
    };
    let allows = |name| methods.split(',').any(|method| method.trim() == name);
    let head = if allows("GET") && !allows("HEAD") { ", HEAD" } else { "" };
    let allowed = format!("{methods}{head}");
    let message = format!("The path does not take this method; use {allowed}");
    Error(ServiceError::method_not_allowed(message).with_allow(allowed))
}
