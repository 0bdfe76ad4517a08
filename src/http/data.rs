//! The data plane: a request becomes a message for the channel's actor on this thread, its answer becomes the
//! response.
//!
//! Checks in this order, the first failure answers: method, query string, path and name, body size, content
//! type, format of the body, quarantine and kind of the channel. The channel decides everything after that. No body is read
//! for an unknown path. Once the channel is known, errors use its own error bodies, if configured.

mod documents;
mod own_webhooks;
pub(crate) mod served_channels;

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_channels::{ChannelResponse, DataRequest, Delivery, Ingress, Reservation};
use svc_model::config::ContentEncoding;
use svc_model::{Code, ServiceError};
use svc_registry::{Resolution, Snapshot, WorkerId};
use svc_spans::{ActiveSpan, SpanDraft, TraceContext};
use tokio::time::{Instant, sleep};

use super::body::BodyLimit;
use super::body_format::{BodyDecoding, DecodedBody};
use super::error::write_accepted_form;
use super::limits::refusal_pacer::is_refusal;
use super::monitoring::metrics::method_label;
use super::submissions::{self, SubmissionRequest};
use super::{BytesPermit, Error, RequestContext, body, query};
use crate::state::AppState;
use own_webhooks::OwnWebhookRequest;

/// The status of an accepted submission.
const ACCEPTED: u16 = 202;

/// The first status of a response that counts as a failure of the service.
const FIRST_FAILURE: u16 = 500;

/// Longest wait of a request for the first thread that serves.
const LONGEST_START: Duration = Duration::from_secs(5);
/// Pause between two looks for it.
const START_POLL: Duration = Duration::from_millis(10);

const CACHE_CONTROL: &str = "cache-control";
const PROFILE: HeaderName = HeaderName::from_static("x-svc-profile");

/// The worker id of this thread, once the registry knows the thread; until then any worker's actor serves.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalWorker(Rc<Cell<Option<WorkerId>>>);

impl LocalWorker {
    /// Makes the current thread a worker.
    pub(crate) fn join(state: &web::Data<AppState>) -> Self {
        let (own, state) = (Self::default(), state.clone());
        let slot = Rc::clone(&own.0);
        actix_rt::spawn(async move {
            slot.set(state.process.workers.join_with_retries(&state.serving.registry, &state.log).await)
        });
        own
    }
}

/// The methods of the data plane. The edge answers `OPTIONS`.
const METHODS: [Method; 6] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];

/// Serves every path of the data plane. Refusals for lack of capacity leave at a bounded rate, so that
/// callers who do not back off cannot take the threads that accepted work needs.
///
/// The future is large, and the framework would move it several times for every request.
pub(crate) fn submit(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    context: RequestContext,
) -> LocalBoxFuture<'static, Result<HttpResponse, Error>> {
    Box::pin(async move {
        let mut body_bytes = 0;
        let mut span = begin_span(&request, &state, &context);
        let answer = answer_request(&request, payload, &state, context, &mut body_bytes, &mut span).await;
        if span.is_recording() {
            let status = answer.as_ref().map_or_else(|error| error.status_code(), HttpResponse::status);
            span.set_response(status.as_u16(), FIRST_FAILURE);
        }
        drop(span);
        if is_refusal(&answer) && !state.process.lifecycle.is_draining() {
            Box::pin(state.edge.pacer.pace(body_bytes, || hold_head(&request, &state))).await;
        }
        answer
    })
}

/// Takes the bytes of the head of a request whose answer is held back; the server keeps the head until the answer leaves.
fn hold_head(request: &HttpRequest, state: &AppState) -> Option<BytesPermit> {
    let (fields, text) = body::measure_head(request);
    state.edge.in_flight.hold_head(fields, text)
}

/// Begins the span of a request, in the trace that its headers name.
fn begin_span(request: &HttpRequest, state: &AppState, context: &RequestContext) -> ActiveSpan {
    let headers = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let draft = || SpanDraft::request(request.method().as_str(), context.id.as_str());
    state.edge.spans.extract(headers).begin(draft)
}

/// Sets the route of a request: the pattern of its channel, or the path that names the channel.
fn set_route(span: &mut ActiveSpan, method: &Method, resolution: &Resolution) {
    let Some(channel) = resolution.channel().filter(|_| span.is_recording()) else { return };
    let named = || format!("/api/v1/data/{}", channel.name());
    let route = channel.row.content.route_pattern.clone().unwrap_or_else(named);
    span.set_route(method.as_str(), &route, channel.name());
}

/// Answers a request, or refuses it; `body_bytes` is set to the length of the body that was read.
async fn answer_request(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
    context: RequestContext,
    body_bytes: &mut usize,
    span: &mut ActiveSpan,
) -> Result<HttpResponse, Error> {
    check_method(request.method())?;
    let query = query::parse(request.query_string());
    let path = channel_path(request, &context);
    let resolve = |snapshot: &Snapshot| snapshot.resolve(path, request.method().as_str())?.require_channel();
    let submission = SubmissionRequest::parse(request, path, query.as_ref().ok());
    if let Some(submission) = submission.as_ref().filter(|submission| submission.has_token()) {
        return Box::pin(submission.answer(state)).await;
    }
    let is_submission = submission.is_some();
    let (resolved, generation) = {
        let snapshot = state.serving.registry.snapshot();
        (resolve(&snapshot), snapshot.generation())
    };
    let (mut resolution, query) = match (resolved, query) {
        (Ok(resolution), Ok(query)) => (resolution, query),
        (Ok(resolution), Err(error)) => {
            return Ok(to_http_response(resolution.error_response(error, context.id.as_str())?));
        }
        // Rare, so that it has a future of its own.
        (Err(unknown), query) => {
            let answer = answer_unresolved(request, payload, state, &context, query, unknown, is_submission);
            return Box::pin(answer).await;
        }
    };
    set_route(span, request.method(), &resolution);
    let received = receive_body(request, payload, state, accepted_encodings(&resolution), body_bytes).await;
    let mut worker = local_worker(request);
    if worker.is_none() {
        worker = Box::pin(await_worker(request, state)).await;
    }
    // A body may take long: the current snapshot decides.
    if state.serving.registry.snapshot().generation() != generation {
        resolution = resolve(&state.serving.registry.snapshot())?;
    }
    let has_params = !resolution.params.is_empty();
    let decoded = match received {
        Ok((raw, permit)) => {
            decode_body(request, state, &resolution, &raw).await.map(|body| (raw, permit, body))
        }
        Err(error) => Err(error),
    };
    let prepared = decoded.and_then(|(raw, permit, body)| {
        build_message(request, &context, query, raw, permit, body, &mut resolution)
    });
    let is_async = is_async(&resolution, prepared.as_deref().ok());
    let answer = match prepared {
        Ok(mut message) => {
            message.trace_context = span.context().clone();
            state.serving.registry.submit(worker, &resolution, message).await
        }
        Err(error) => Err(record_body_refusal(&resolution, error)),
    };
    let is_guess = answer.as_ref().map_or_else(ServiceError::is_guess, |answer| answer.is_guess);
    if let Some(channel) = resolution.channel().filter(|_| is_guess) {
        Box::pin(pace_guess(request, state, &context, channel.id())).await;
    }
    let mut answer = answer.or_else(|error| resolution.error_response(error, context.id.as_str()))?;
    if is_async && answer.status == ACCEPTED {
        add_location(request, &context, &resolution, has_params, &mut answer);
    }
    write_accepted_form(&mut answer, request.headers());
    keep_private(request.method(), &resolution, &mut answer);
    Ok(to_http_response(answer))
}

/// Keeps what is answered under a credential out of caches that others share, unless the workflow says how it is
/// cached. The only credential that caches know of is `Authorization`.
fn keep_private(method: &Method, resolution: &Resolution, answer: &mut ChannelResponse) {
    let compiled = resolution.channel().and_then(|channel| channel.compiled_channel());
    let is_cacheable = *method == Method::GET || *method == Method::HEAD;
    if is_cacheable
        && compiled.is_some_and(|compiled| compiled.asks_for_credentials())
        && answer.headers.iter().all(|(name, _)| name != CACHE_CONTROL)
    {
        answer.headers.push((CACHE_CONTROL.to_owned(), "private".to_owned()));
    }
}

/// Holds the answer to a guess back.
async fn pace_guess(request: &HttpRequest, state: &AppState, context: &RequestContext, channel_id: &str) {
    let (head, lifecycle) = (|| hold_head(request, state), &state.process.lifecycle);
    state.edge.guesses.pace(channel_id, context.client_ip, head, lifecycle).await;
}

/// Adds the place of an accepted submission to its answer.
fn add_location(
    request: &HttpRequest,
    context: &RequestContext,
    resolution: &Resolution,
    has_params: bool,
    answer: &mut ChannelResponse,
) {
    let by_name = resolution.channel().filter(|_| has_params).map(|channel| channel.name());
    submissions::add_location(request, context, by_name, answer);
}

/// Returns the worker of this thread, once the registry knows it.
fn local_worker(request: &HttpRequest) -> Option<WorkerId> {
    request.app_data::<LocalWorker>().and_then(|worker| worker.0.get())
}

/// Waits until a thread of the process serves, and returns the worker of this one. A request over a socket that was there
/// before the process meets this moment of its start.
async fn await_worker(request: &HttpRequest, state: &AppState) -> Option<WorkerId> {
    let (process, end) = (&state.process, Instant::now() + LONGEST_START);
    let is_waited_for = || process.lifecycle.is_ready() && !process.workers.has_any(&state.serving.registry);
    while is_waited_for() && Instant::now() < end {
        sleep(START_POLL).await;
    }
    local_worker(request)
}

/// Refuses a method that the data plane does not have.
fn check_method(method: &Method) -> Result<(), ServiceError> {
    if METHODS.contains(method) {
        return Ok(());
    }
    let refused = format!("{method} is not a method of the data plane");
    Err(ServiceError::method_not_allowed(refused).with_allow(METHODS.map(|m| m.to_string()).join(", ")))
}

/// Returns the path of a request below the mount of the data plane.
fn channel_path<'r>(request: &'r HttpRequest, context: &RequestContext) -> &'r str {
    let path = request.uri().path();
    path.get(context.channel_path_start..).unwrap_or(path)
}

/// Answers a request whose path and method are of no channel: with a document, as a request of a customer for its own
/// webhooks, or with an error.
async fn answer_unresolved(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
    context: &RequestContext,
    query: Result<Map<String, Value>, ServiceError>,
    unknown: ServiceError,
    is_submission: bool,
) -> Result<HttpResponse, Error> {
    let is_not_found = unknown.status() == StatusCode::NOT_FOUND.as_u16();
    // A caller that takes a 404 for final would give up for good.
    if is_not_found && state.process.dev.get().is_some_and(|project| project.is_loading()) {
        return Err(ServiceError::unavailable("The project is being loaded").with_retry_after(1).into());
    }
    if let Ok(query) = &query
        && is_not_found
    {
        let start = context.channel_path_start;
        if let Some(answer) = documents::answer_document(request, start, query, state) {
            return answer;
        }
        let parse = |path| OwnWebhookRequest::parse(request.method(), path);
        let path = channel_path(request, context);
        // A mount may have the name of these paths.
        if let Some(own) = parse(path).or_else(|| parse(state.edge.planes.behind_mount(path)))
            && !state.serving.consumers.directory().current().is_empty()
        {
            return own?.answer(request, payload.into_inner(), query, state, context).await;
        }
    }
    let path = channel_path(request, context);
    let refusal = submissions::refuse_write(request.method(), path);
    if let Some(refusal) = refusal.filter(|_| is_not_found) {
        return Err(refusal.into());
    }
    if is_submission || (is_not_found && submissions::is_address(path)) {
        return Err(submissions::unknown().into());
    }
    Err(query.err().unwrap_or(unknown).into())
}

/// Returns the encodings of bodies that the channel decodes.
fn accepted_encodings(resolution: &Resolution) -> &[ContentEncoding] {
    let compiled = resolution.channel().and_then(|channel| channel.compiled_channel());
    compiled.map(|compiled| compiled.decompress()).unwrap_or_default()
}

/// Returns whether a message runs after its answer: by its request, or because its channel accepts all for later.
fn is_async(resolution: &Resolution, message: Option<&DataRequest>) -> bool {
    let compiled = resolution.channel().and_then(|channel| channel.compiled_channel());
    compiled.is_some_and(|compiled| compiled.accepts())
        || message.is_some_and(|message| message.delivery == Delivery::Async)
}

/// Counts the refusal of a body by its channel.
fn record_body_refusal(resolution: &Resolution, error: ServiceError) -> ServiceError {
    if let Some(compiled) = resolution.channel().and_then(|channel| channel.compiled_channel()) {
        compiled.record_refusal("body", body_refusal_reason(&error), &error);
    }
    error
}

/// Returns the inner reason for which a body was refused.
pub(crate) fn body_refusal_reason(error: &ServiceError) -> &'static str {
    match error.code() {
        Code::RequestTimeout => "too_slow",
        Code::PayloadTooLarge => "too_large",
        Code::UnsupportedMediaType => "content_type",
        Code::ServiceUnavailable => "no_room",
        _ => "malformed",
    }
}

/// Reads the body of a request, counted among the bytes the process holds.
async fn receive_body(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
    accepted: &[ContentEncoding],
    body_bytes: &mut usize,
) -> Result<(Bytes, BytesPermit), ServiceError> {
    let mut permit = state.edge.in_flight.permit();
    let mut payload = payload.into_inner();
    let limit = BodyLimit::of_payloads(state);
    let body = body::read_body(request, &mut payload, limit, accepted, Some(&mut permit));
    let raw = state.process.lifecycle.receive_body(pin!(body)).await?;
    *body_bytes = raw.len();
    Ok((raw, permit))
}

/// Reads a body as its channel says; none if there is none. A large or compressed one is read on a thread that serves
/// no connection.
///
/// # Errors
/// 415 for a content type or encoding that the channel does not take, 400 for a body that is not what its type says,
/// 413 for one that is too large once decompressed.
async fn decode_body(
    request: &HttpRequest,
    state: &AppState,
    resolution: &Resolution,
    raw: &Bytes,
) -> Result<Option<DecodedBody>, ServiceError> {
    let compiled = resolution.channel().and_then(|channel| channel.compiled_channel());
    if raw.is_empty() && !compiled.is_some_and(|compiled| compiled.takes_events()) {
        return Ok(None);
    }
    let limit = BodyLimit::of_payloads(state);
    let reading = BodyDecoding::select(compiled.map(|compiled| &**compiled), request.headers(), limit)?;
    if !reading.is_long(raw.len()) {
        return reading.read(raw);
    }
    let raw = raw.clone();
    let decoded = Box::pin(state.serving.compute_gate.run_blocking(move || reading.read(&raw))).await;
    decoded.map_err(|error| ServiceError::internal_error(format!("parsing a body: {error}")))?
}

/// Makes the message of a request whose body has arrived.
///
/// # Errors
/// 503 when the process holds too many bytes.
fn build_message(
    request: &HttpRequest,
    context: &RequestContext,
    query: Map<String, Value>,
    raw: Bytes,
    mut permit: BytesPermit,
    decoded: Option<DecodedBody>,
    resolution: &mut Resolution,
) -> Result<Box<DataRequest>, ServiceError> {
    let body_bytes = decoded.as_ref().map_or(0, |body| body.bytes);
    let (body, body_kind, cloud_events) =
        decoded.map_or_else(Default::default, |body| (Some(body.value), body.kind, body.events));
    permit.grow_for_run(raw.len().max(body_bytes), body.as_ref())?;
    let profile = asks_for_profile(request.headers(), &query);
    Ok(Box::new(DataRequest {
        ingress: Ingress::Http,
        delivery: if resolution.is_async { Delivery::Async } else { Delivery::Sync },
        method: method_label(request.method()).into(),
        is_callback: resolution.is_callback,
        params: std::mem::take(&mut resolution.params),
        query,
        headers: copy_headers(request.headers()),
        raw,
        body_bytes,
        body,
        body_kind,
        cloud_events,
        client_ip: Some(context.client_ip),
        forwarded: context.forwarded,
        request_id: context.id.as_str().to_owned(),
        profile,
        reservation: Some(Reservation::new(permit)),
        trace_context: TraceContext::default(),
        crash_trace: None,
        pause: None,
    }))
}

fn to_http_response(answer: ChannelResponse) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = HttpResponse::build(status);
    for (name, value) in &answer.headers {
        // Several lines of one name are several values. The line that most answers have needs no parser.
        match (name.as_str(), value.as_str()) {
            ("content-type", "application/json") => {
                response.append_header((CONTENT_TYPE, HeaderValue::from_static("application/json")))
            }
            line => response.append_header(line),
        };
    }
    response.body(answer.body)
}

fn copy_headers(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}

fn asks_for_profile(headers: &HeaderMap, query: &Map<String, Value>) -> bool {
    let is_truthy = |text: &str| matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
    let by_header = headers.get(PROFILE).and_then(|value| value.to_str().ok());
    by_header.or_else(|| query.get("profile")?.as_str()).is_some_and(is_truthy)
}
