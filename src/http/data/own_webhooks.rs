//! The webhooks of a consumer, for itself: `webhooks` below each mount of the data plane, under an API key of the
//! consumer. A channel of such a path wins.

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value, json};
use svc_api::{DataEnvelope, OwnWebhookDetail, PageEnvelope, WebhookAttemptDetail, WebhookTest};
use svc_model::{AuditAction, AuditResource, Page, ServiceError};
use svc_store::{AuditEntry, AuditReceipt, Mutation, WebhookEndpoint, WebhookFilter};

use crate::admin::{read_replay, to_attempt, to_own_detail, to_replay, to_test};
use crate::http::body::{measure_head, parse_json, read_body};
use crate::http::error::refuse_method;
use crate::http::{BodyLimit, Error, RequestContext};
use crate::state::AppState;

/// The part of the paths behind the mount.
const PATH: &str = "/webhooks";
/// The header of an API key; `Authorization: Bearer` is taken as well.
const API_KEY: &str = "x-api-key";
/// The name under which guesses of keys are counted.
const GUESSES: &str = "webhooks";
/// The methods of lists, and those of orders.
const READS: &str = "GET, HEAD";
const ORDERS: &str = "POST";
/// Parameters of the lists.
const LIST_PARAMETERS: [&str; 2] = ["limit", "offset"];

/// A request of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnWebhookRequest<'p> {
    /// The endpoints of the consumer.
    List,
    /// The attempts at one of them.
    Attempts(&'p str),
    /// A test event for one of them.
    Test(&'p str),
    /// A replay of deliveries to one of them.
    Replay(&'p str),
}

impl<'p> OwnWebhookRequest<'p> {
    /// Recognises a request by its method and its path behind the mount; `None` for a path of something else.
    ///
    /// # Errors
    /// 405 for another method of such a path.
    pub(super) fn parse(method: &Method, path: &'p str) -> Option<Result<Self, ServiceError>> {
        let rest = path.strip_prefix(PATH)?;
        let (own, methods) = match rest.strip_prefix('/').map(|rest| rest.split_once('/')) {
            None if rest.is_empty() => (Self::List, READS),
            Some(Some((id, "attempts"))) => (Self::Attempts(id), READS),
            Some(Some((id, "test"))) => (Self::Test(id), ORDERS),
            Some(Some((id, "replay"))) => (Self::Replay(id), ORDERS),
            _ => return None,
        };
        let is_allowed = methods.split(", ").any(|allowed| allowed == method.as_str());
        Some(if is_allowed { Ok(own) } else { Err(refuse_method(method, methods)) })
    }

    /// Answers the request under the API key that it presents. Guesses of keys are paced.
    pub(super) async fn answer(
        self,
        request: &HttpRequest,
        mut payload: Payload,
        query: &Map<String, Value>,
        state: &AppState,
        context: &RequestContext,
    ) -> Result<HttpResponse, Error> {
        let Some(consumer) = find_consumer(request, state) else {
            let head = || {
                let (fields, text) = measure_head(request);
                state.edge.in_flight.hold_head(fields, text)
            };
            state.edge.guesses.pace(GUESSES, context.client_ip, head, &state.process.lifecycle).await;
            return Err(ServiceError::unauthorized().into());
        };
        let mut answer = match self {
            Self::List => list(state, consumer, read_page(query)?).await,
            Self::Attempts(id) => {
                require_own(state, &consumer, id).await?;
                list_attempts(state, id, read_page(query)?).await
            }
            Self::Test(id) => {
                refuse_parameters(query, &[])?;
                require_own(state, &consumer, id).await?;
                state.work.webhooks.admit_order("test", id)?;
                send_test(state, audit(AuditAction::Test, consumer, id, context), id).await
            }
            Self::Replay(id) => {
                refuse_parameters(query, &[])?;
                require_own(state, &consumer, id).await?;
                state.work.webhooks.admit_order("replay", id)?;
                let mut permit = state.edge.in_flight.permit();
                let limit = BodyLimit::of_payloads(state);
                let body = read_body(request, &mut payload, limit, &[], Some(&mut permit));
                let body = state.process.lifecycle.receive_body(body).await?;
                let selection = read_replay(&parse_json(&body)?)?;
                let mutation = Mutation::new(audit(AuditAction::Replay, consumer, id, context));
                let (since, failed_only) = (selection.since, selection.is_failed_only);
                let replay = state.store.webhooks().replay(id, since, failed_only, mutation).await?;
                state.metrics.record_audit_event(AuditAction::Replay, AuditResource::Webhook);
                state.work.webhooks.wake();
                Ok(HttpResponse::Ok().json(DataEnvelope { data: to_replay(replay) }))
            }
        }?;
        // It is of one consumer, whose key may be in a header that no cache on the way knows.
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }
}

/// Returns the consumer whose live API key the request presents.
fn find_consumer(request: &HttpRequest, state: &AppState) -> Option<String> {
    let headers = request.headers();
    let own = headers.get(API_KEY).and_then(|value| value.to_str().ok());
    let bearer = || {
        let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key)
    };
    let key = own.or_else(bearer)?;
    let identity = state.serving.consumers.directory().find_api_key(key.trim())?;
    Some(identity.name.to_string())
}

/// Refuses an endpoint of another consumer as one that does not exist.
async fn require_own(state: &AppState, consumer: &str, id: &str) -> Result<(), ServiceError> {
    let endpoint = state.store.webhooks().get(id).await?;
    match endpoint.and_then(|endpoint| endpoint.consumer) {
        Some(owner) if owner == consumer => Ok(()),
        _ => Err(WebhookEndpoint::absent(id)),
    }
}

async fn list(state: &AppState, consumer: String, page: Page) -> Result<HttpResponse, Error> {
    let filter = WebhookFilter { consumer: Some(consumer), state: None };
    let (rows, total) = state.store.webhooks().list(filter, page).await?;
    let rows = rows.into_iter().map(to_own_detail);
    Ok(HttpResponse::Ok().json(PageEnvelope::<OwnWebhookDetail>::new(rows, total, page)))
}

async fn list_attempts(state: &AppState, id: &str, page: Page) -> Result<HttpResponse, Error> {
    let (rows, total) = state.store.webhooks().attempts(id, page).await?;
    let shown = |row| {
        let mut attempt = to_attempt(row);
        attempt.error = public_reason(attempt.status, attempt.error.is_some());
        attempt
    };
    let rows = rows.into_iter().map(shown);
    Ok(HttpResponse::Ok().json(PageEnvelope::<WebhookAttemptDetail>::new(rows, total, page)))
}

async fn send_test(state: &AppState, entry: AuditEntry, id: &str) -> Result<HttpResponse, Error> {
    // Recorded before it happens, whatever its result.
    state.store.audit().record(entry).await?;
    state.metrics.record_audit_event(AuditAction::Test, AuditResource::Webhook);
    let mut test: WebhookTest = to_test(state.work.webhooks.send_test(id).await?);
    test.error = public_reason(test.status, test.error.is_some());
    Ok(HttpResponse::Ok().json(DataEnvelope { data: test }))
}

/// Returns the reason of a failure without what it says of the network of the service.
fn public_reason(status: Option<i64>, is_failed: bool) -> Option<String> {
    is_failed.then(|| match status {
        Some(status) => format!("the endpoint answered {status}"),
        None => "the endpoint did not answer".to_owned(),
    })
}

fn audit(action: AuditAction, consumer: String, id: &str, context: &RequestContext) -> AuditEntry {
    let details = json!({
        "request_id": context.id.as_str(),
        "client_ip": context.client_ip.to_string(),
        "consumer": consumer,
    });
    AuditEntry {
        principal: consumer,
        action: action.name().to_owned(),
        resource_type: AuditResource::Webhook.name().to_owned(),
        resource_id: id.to_owned(),
        details: Some(details),
        receipt: AuditReceipt::default(),
    }
}

fn read_page(query: &Map<String, Value>) -> Result<Page, ServiceError> {
    refuse_parameters(query, &LIST_PARAMETERS)?;
    let text = |name: &str| query.get(name).and_then(Value::as_str);
    Page::parse(text("limit"), text("offset"))
}

fn refuse_parameters(query: &Map<String, Value>, known: &[&str]) -> Result<(), ServiceError> {
    match query.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) if known.is_empty() => {
            Err(ServiceError::validation(format!("{name}: unknown parameter, this request has none")))
        }
        Some(name) => {
            let known = known.join(", ");
            Err(ServiceError::validation(format!("{name}: unknown parameter, known: {known}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_recognised_by_method_and_path() {
        let parse = |method, path| {
            let parsed = OwnWebhookRequest::parse(&method, path);
            parsed.map(|own| own.map_err(|error| (error.status(), error.message().to_owned())))
        };
        let get = |path| parse(Method::GET, path);
        let post = |path| parse(Method::POST, path);
        assert_eq!(get("/webhooks"), Some(Ok(OwnWebhookRequest::List)));
        assert_eq!(get("/webhooks/a/attempts"), Some(Ok(OwnWebhookRequest::Attempts("a"))));
        assert_eq!(post("/webhooks/a/test"), Some(Ok(OwnWebhookRequest::Test("a"))));
        assert_eq!(post("/webhooks/a/replay"), Some(Ok(OwnWebhookRequest::Replay("a"))));
        for path in ["/", "/webhook", "/webhooksa", "/webhooks/a", "/webhooks/a/b/attempts"] {
            assert_eq!(get(path), None, "{path}");
        }
        for (method, path, use_instead) in [
            (Method::GET, "/webhooks/a/test", "GET is not allowed here; use POST"),
            (Method::POST, "/webhooks", "POST is not allowed here; use GET, HEAD"),
            (Method::DELETE, "/webhooks/a/attempts", "DELETE is not allowed here; use GET, HEAD"),
        ] {
            assert_eq!(parse(method, path), Some(Err((405, use_instead.to_owned()))), "{path}");
        }
    }

    #[test]
    fn reason_for_consumers_names_the_status_alone() {
        assert_eq!(public_reason(Some(500), true).as_deref(), Some("the endpoint answered 500"));
        assert_eq!(public_reason(None, true).as_deref(), Some("the endpoint did not answer"));
        assert_eq!(public_reason(Some(200), false), None);
    }
}
