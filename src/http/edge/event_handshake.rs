//! The validation request of a sender of events, as the specification of web hooks of CloudEvents has it: `OPTIONS`
//! with `WebHook-Request-Origin` asks for the permission to deliver. No browser sends that header with a preflight.

use actix_web::HttpResponse;
use actix_web::http::header::{ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderMap, HeaderName, HeaderValue};
use svc_registry::Snapshot;

use crate::http::plane::channel_path_start;

const REQUEST_ORIGIN: HeaderName = HeaderName::from_static("webhook-request-origin");
const ALLOWED_ORIGIN: HeaderName = HeaderName::from_static("webhook-allowed-origin");
const ALLOWED_RATE: HeaderName = HeaderName::from_static("webhook-allowed-rate");

/// The value of an answer that admits every sender, or any rate.
const ANY: HeaderValue = HeaderValue::from_static("*");

/// Answers a sender whom the channel of the path admits; `path` is that of a request to the data plane. `None` for
/// any other request: only these headers are a permission, whatever the status.
pub(super) fn answer_event_sender(
    snapshot: &Snapshot,
    path: Option<&str>,
    headers: &HeaderMap,
) -> Option<HttpResponse> {
    let sender = headers.get(REQUEST_ORIGIN)?;
    if headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let path = path?;
    let resolution = snapshot.resolve(path.get(channel_path_start(path)..)?, "POST").ok()?;
    let grant = resolution.channel()?.compiled_channel()?.event_grant(sender.to_str().ok()?)?;
    let mut answer = HttpResponse::Ok().finish();
    let answered = answer.headers_mut();
    answered.insert(ALLOW, HeaderValue::from_static("POST"));
    answered.insert(ALLOWED_ORIGIN, if grant.is_for_all { ANY } else { sender.clone() });
    answered.insert(ALLOWED_RATE, grant.rate.map_or(ANY, HeaderValue::from));
    Some(answer)
}
