//! The live stream: server-sent events of one node.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::http::header::{CONTENT_ENCODING, HeaderName, HeaderValue};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use svc_console::{EndReason, HistoryRequest, LiveStream, WatchRequest};
use svc_model::ServiceError;
use svc_transport::TlsPeer;

use crate::admin::query::QueryParameters;
use crate::http::{AdminCaller, Error, RequestContext, tls_peer};
use crate::state::AppState;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// A proxy of nginx sends what it gets.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
/// The stream is not compressed: an encoder would hold events back.
const UNCOMPRESSED: (HeaderName, HeaderValue) = (CONTENT_ENCODING, HeaderValue::from_static("identity"));
const EVENTS: &str = "text/event-stream";
/// Seconds after which a viewer may ask for a place again.
const RETRY_SECS: u32 = 5;

/// `GET /live`.
pub(in crate::admin) async fn stream(
    state: Data<AppState>,
    caller: AdminCaller,
    context: RequestContext,
    query: QueryParameters,
    request: HttpRequest,
) -> Result<HttpResponse, Error> {
    let Some(console) = &state.work.console else {
        return Err(
            ServiceError::not_found("The console is off on this node; see server.console.enabled").into()
        );
    };
    if state.process.lifecycle.is_draining() {
        return Err(ServiceError::unavailable("The node is stopping").into());
    }
    let history = read_history(&query);
    let is_once = query.flag("once")?;
    let mut response = HttpResponse::Ok();
    response.content_type(EVENTS).insert_header(UNBUFFERED).insert_header(UNCOMPRESSED);
    if context.is_head {
        return Ok(response.finish());
    }
    if is_once {
        return Ok(response.streaming(console.show_once(history).map(Ok::<_, Infallible>)));
    }
    let last_event_id = request.headers().get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let viewer = WatchRequest {
        last_event_id: last_event_id.map(str::to_owned),
        history,
        is_allowed: {
            // A viewer does not keep the service alive, which knows the viewer.
            let (state, principal) = (Arc::downgrade(&state.clone().into_inner()), caller.principal);
            Arc::new(move || state.upgrade().is_some_and(|state| state.edge.auth.is_valid(&principal)))
        },
    };
    let events = console
        .watch(&viewer)
        .map_err(|full| ServiceError::unavailable(full.to_string()).with_retry_after(RETRY_SECS))?;
    let needs_certificate = state.config.server.tls.requires_client_certificate();
    let certified = tls_peer(&request).filter(|_| needs_certificate);
    Ok(response.streaming(ViewerStream::new(events, certified, state)))
}

fn read_history(query: &QueryParameters) -> HistoryRequest {
    let asked = query.any_of("history");
    let has =
        |word: &str| asked.as_ref().is_some_and(|words| words.values().iter().any(|value| value == word));
    HistoryRequest { hour: has("hour"), day: has("day") }
}

/// The events of a viewer, which end at once when the node drains, and when the certificate of the viewer no longer counts.
struct ViewerStream {
    /// `None` once it has ended.
    events: Option<LiveStream>,
    /// The client, if it needs a certificate.
    certified: Option<TlsPeer>,
    draining: LocalBoxFuture<'static, ()>,
}

impl ViewerStream {
    fn new(events: LiveStream, certified: Option<TlsPeer>, state: Data<AppState>) -> Self {
        let draining = async move { state.process.lifecycle.wait_until_draining().await };
        Self { events: Some(events), certified, draining: draining.boxed_local() }
    }

    /// Ends the stream with the event that names the reason.
    fn end(&mut self, reason: EndReason) -> Poll<Option<Result<Bytes, Infallible>>> {
        self.events = None;
        Poll::Ready(Some(Ok(reason.to_event())))
    }
}

impl Stream for ViewerStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let event = events.poll_next_unpin(cx);
        if event.is_ready() {
            if self.certified.as_ref().is_some_and(|peer| !peer.is_certified()) {
                return self.end(EndReason::KeyWithdrawn);
            }
            return event.map(|event| event.map(Ok));
        }
        if self.draining.poll_unpin(cx).is_pending() {
            return Poll::Pending;
        }
        self.end(EndReason::Draining)
    }
}
