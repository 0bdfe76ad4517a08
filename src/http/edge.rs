//! The one middleware around everything the service answers.
//!
//! Outermost first: request id, security headers, panic guard, CORS, metrics and access log, rate limit,
//! admin auth. Every response (of a handler, a refusal, the router, a caught panic) has the id, the headers
//! and, for an error, the envelope.

mod event_handshake;
mod router_refusal;

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready};
use actix_web::error::InternalError;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY,
};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::{HttpMessage, HttpResponse, web};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use slog::{debug, error, info, warn};
use svc_api::docs::DOCS;
use svc_channels::TraceIdField;
use svc_model::{Code, ServiceError};
use svc_transport::{ConnectionState, TlsPeer};
use tokio::time::Instant;

use super::auth::AuthFailureReason;
use super::context::tls_peer;
use super::cors::{find_listed_origin, find_listing_channel};
use super::error::X_TRACE_ID;
use super::monitoring::metrics::method_label;
use super::mount::{MountPoint, prefix_length};
use super::plane::{ADMIN, CONSOLE, DATA_PATH, DOCS_FILE, Plane, Planes, channel_path_start, reads_trace};
use super::request_id::X_REQUEST_ID;
use super::security_headers::{
    CONSOLE_POLICY, CONSOLE_REFERRER, DOCS_POLICY, HeaderWriter, SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY,
};
use super::{Error, Principal, RequestContext, RequestId};
use crate::router::described_path;
use crate::state::AppState;

/// Bytes of a path that the log repeats.
const LOGGED_PATH: usize = 1024;

/// Mounts the middleware for one worker.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    state: web::Data<AppState>,
    mount: MountPoint,
    public: bool,
    /// The author of every request; `None` if each has its credential.
    author: Option<Principal>,
}

impl Edge {
    /// Makes the middleware for clients: requests are limited, `/metrics` requires a key.
    pub(crate) fn for_clients(state: web::Data<AppState>, mount: MountPoint) -> Self {
        Self { state, mount, public: true, author: None }
    }

    /// Makes the middleware for the operational listener: nothing is limited, `/metrics` is open.
    pub(crate) fn for_operators(state: web::Data<AppState>) -> Self {
        Self { state, mount: MountPoint::of_pattern(""), public: false, author: None }
    }

    /// Makes the middleware for requests of the process itself: nothing is limited or refused, and `author` sends all.
    pub(crate) fn for_process(state: web::Data<AppState>, author: Principal) -> Self {
        Self { state, mount: MountPoint::of_pattern(ADMIN), public: false, author: Some(author) }
    }
}

impl<S, B> Transform<S, ServiceRequest> for Edge
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = actix_web::Error;
    type Transform = EdgeService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(EdgeService {
            inner: Rc::new(inner),
            state: self.state.clone(),
            mount: self.mount,
            public: self.public,
            author: self.author.clone(),
        }))
    }
}

/// The middleware around a worker's router.
#[derive(Debug)]
pub(crate) struct EdgeService<S> {
    inner: Rc<S>,
    state: web::Data<AppState>,
    mount: MountPoint,
    public: bool,
    author: Option<Principal>,
}

impl<S, B> Service<ServiceRequest> for EdgeService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = actix_web::Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<BoxBody>;
    type Error = actix_web::Error;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    forward_ready!(inner);

    fn call(&self, mut request: ServiceRequest) -> Self::Future {
        let exchange = Exchange::begin(&self.state, self.mount, &request);
        let refusal = match &self.author {
            Some(author) => {
                exchange.admit(&mut request, Some(author.clone()));
                None
            }
            None => exchange.refuse_or_admit(&mut request, self.public),
        };
        if let Some(answer) = refusal {
            return Box::pin(ready(Ok(exchange.finish(request.into_response(answer)))));
        }
        let inner = Rc::clone(&self.inner);
        Box::pin(async move {
            match AssertUnwindSafe(async move { inner.call(request).await }).catch_unwind().await {
                Ok(Ok(response)) => Ok(exchange.finish(response.map_into_boxed_body())),
                Ok(Err(error)) => Err(exchange.finish_without_request(error.error_response())),
                Err(panic) => {
                    let panicked = Error(
                        ServiceError::new(Code::InternalError, "Internal server error")
                            .with_internal(panic_text(&*panic)),
                    );
                    exchange.log_internal(&panicked);
                    Err(exchange.finish_without_request(panicked.to_response(Some(&exchange.id))))
                }
            }
        })
    }
}

/// A request in the middleware. It counts as in flight until dropped, also when its client disconnects.
struct Exchange {
    state: web::Data<AppState>,
    id: RequestId,
    started: Instant,
    plane: Plane,
    method: Method,
    path: String,
    /// Length of the prefix of the path that belongs to a larger application.
    host_length: usize,
    client_ip: IpAddr,
    forwarded: bool,
    cors: Option<HeaderValue>,
    /// Set if the channel lists the origins that may read its answers.
    has_own_origins: bool,
    /// The connection; `None` inside a larger application, which has a server of its own.
    connection: Option<Rc<ConnectionState>>,
    /// The client of a TLS connection; `None` in plain text.
    tls: Option<TlsPeer>,
    is_stream: Cell<bool>,
    /// Set if the connection ends with the answer.
    is_last: Cell<bool>,
}

impl Exchange {
    fn begin(state: &web::Data<AppState>, mount: MountPoint, request: &ServiceRequest) -> Self {
        state.process.lifecycle.begin_request();
        let connection = request.conn_data::<Rc<ConnectionState>>().cloned();
        if let Some(connection) = &connection {
            connection.begin_request();
        }
        let headers = request.headers();
        let peer =
            request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical());
        let (client_ip, is_first_ignored) = state.edge.proxies.resolve_client(peer, headers);
        if is_first_ignored {
            warn!(state.log, "forwarded headers are ignored, because no proxy is trusted; all clients of a proxy \
                share its address"; "peer" => %peer, "remedy" => "set rate_limit.trusted_proxies");
        }
        let host_length = mount.host_length(request);
        let plane = classify_request(&state.edge.planes, request, host_length);
        let listing = match plane {
            Plane::Data => find_listing_channel(&state.serving.registry.snapshot(), request, host_length),
            _ => None,
        };
        let listed = listing.as_ref().and_then(|channel| channel.cors_origins());
        Self {
            state: state.clone(),
            id: RequestId::from_headers(headers),
            started: Instant::now(),
            plane,
            method: request.method().clone(),
            path: request.path().to_owned(),
            host_length,
            client_ip,
            forwarded: client_ip != peer,
            cors: match listed {
                Some(listed) => find_listed_origin(listed, headers),
                None => state.edge.cors.allowed_origin(headers, plane),
            },
            has_own_origins: listed.is_some(),
            tls: tls_peer(request.request()),
            connection,
            is_stream: Cell::new(false),
            // Another protocol is never spoken, and the framework closes such a connection: its client has to know.
            is_last: Cell::new(request.head().connection_type() == ConnectionType::Upgrade),
        }
    }

    /// Answers a request that never reaches a handler; otherwise prepares it for routing.
    fn refuse_or_admit(&self, request: &mut ServiceRequest, public: bool) -> Option<HttpResponse> {
        if self.method == Method::OPTIONS {
            let path = (self.plane == Plane::Data).then(|| self.own_path());
            let snapshot = self.state.serving.registry.snapshot();
            let granted = event_handshake::answer_event_sender(&snapshot, path, request.headers());
            return Some(granted.unwrap_or_else(|| self.state.edge.cors.preflight()));
        }
        // Checked before any credential, so that guessing keys is limited too.
        if let Err(error) = self.check_rate_limit(public) {
            return Some(self.to_response(&Error(error), request.headers()));
        }
        if let Err(error) = self.check_client_certificate() {
            return Some(Error(error).to_response(Some(&self.id)));
        }
        if let Err(error) = self.check_page(request, public) {
            return Some(Error(error).to_response(Some(&self.id)));
        }
        let principal = match self.plane {
            // The handler checks the trace's token or a key, once it has the trace.
            Plane::Admin if reads_trace(&self.method, self.own_path()) => Ok(None),
            Plane::Admin => self.authorize(request.headers()).map(Some),
            Plane::Operational("/metrics") if public && self.state.mounts_metrics() => {
                self.authorize(request.headers()).map(Some)
            }
            Plane::Operational("/health") => Ok(self.identify(request)),
            _ => Ok(None),
        };
        let principal = match principal {
            Ok(principal) => principal,
            Err(error) => return Some(Error(error).to_response(Some(&self.id))),
        };
        self.admit(request, principal);
        None
    }

    /// Prepares a request for routing.
    fn admit(&self, request: &mut ServiceRequest, principal: Option<Principal>) {
        // A handler for GET answers HEAD; the framework leaves the body out. Channels decide by the real
        // method.
        if self.method == Method::HEAD && self.plane != Plane::Data {
            request.head_mut().method = Method::GET;
        }
        request.extensions_mut().insert(RequestContext {
            id: self.id.clone(),
            client_ip: self.client_ip,
            forwarded: self.forwarded,
            principal,
            is_head: self.method == Method::HEAD,
            host_length: self.host_length,
            channel_path_start: self.host_length + channel_path_start(self.own_path()),
        });
    }

    /// Returns the path without the prefix of a larger application.
    fn own_path(&self) -> &str {
        self.path.get(self.host_length..).unwrap_or(&self.path)
    }

    fn check_rate_limit(&self, public: bool) -> Result<(), ServiceError> {
        if public { self.state.edge.rate_limits.check(self.plane, self.client_ip) } else { Ok(()) }
    }

    /// Refuses a client of the admin API without the certificate that `server.tls.client_ca_path` asks for.
    fn check_client_certificate(&self) -> Result<(), ServiceError> {
        let is_required =
            self.plane == Plane::Admin && self.state.config.server.tls.requires_client_certificate();
        if !is_required {
            return Ok(());
        }
        let Some(peer) = self.tls.as_ref().filter(|peer| peer.has_certificate()) else {
            return Err(ServiceError::forbidden("The admin API needs a client certificate"));
        };
        if peer.is_certified() {
            return Ok(());
        }
        // A new handshake tells the client why.
        self.is_last.set(true);
        Err(ServiceError::forbidden("The client certificate has expired or is no longer accepted"))
    }

    /// Refuses a request of a foreign web page to an admin API without a key, and to metrics for this machine alone.
    fn check_page(&self, request: &ServiceRequest, public: bool) -> Result<(), ServiceError> {
        let is_guarded = match self.plane {
            Plane::Admin => true,
            Plane::Operational("/metrics") => public && self.state.config.listens_on_loopback(),
            _ => false,
        };
        if !is_guarded {
            return Ok(());
        }
        // The admin API grants reads to no origin but those that are listed.
        self.state.edge.auth.check_page(request.uri(), request.headers(), self.cors.is_some())
    }

    fn authorize(&self, headers: &HeaderMap) -> Result<Principal, ServiceError> {
        self.state.edge.auth.authorize(&self.method, headers, self.client_ip).map_err(|refusal| {
            self.count_refusal(refusal.reason);
            refusal.error
        })
    }

    /// Returns the reader of an open endpoint; `None` for a foreign page too, to which an API without keys tells as little
    /// as to any stranger.
    fn identify(&self, request: &ServiceRequest) -> Option<Principal> {
        let (edge, headers) = (&self.state.edge, request.headers());
        let is_listed_origin = edge.cors.allowed_origin(headers, Plane::Admin).is_some();
        edge.auth.check_page(request.uri(), headers, is_listed_origin).ok()?;
        edge.auth.identify(headers, self.client_ip).unwrap_or_else(|reason| {
            self.count_refusal(reason);
            None
        })
    }

    fn count_refusal(&self, reason: AuthFailureReason) {
        self.state.record_auth_refusal(reason, self.client_ip, &self.id);
    }

    fn finish(&self, mut response: ServiceResponse) -> ServiceResponse {
        if let Some(error) = self.missing_envelope(response.response()) {
            self.log_internal(&error);
            let (request, _) = response.into_parts();
            let answer = self.to_response(&error, request.headers());
            response = ServiceResponse::new(request, answer);
        }
        let path = match self.plane {
            Plane::Data => Cow::Borrowed(DATA_PATH),
            Plane::Operational(path) => Cow::Borrowed(path),
            Plane::Admin | Plane::Other => {
                let pattern = response.request().match_pattern();
                pattern.map_or(Cow::Borrowed("unmatched"), |pattern| Cow::Owned(own_pattern(&pattern)))
            }
        };
        self.complete_response(response.response_mut(), path);
        response
    }

    /// Returns the response to an error; only callers of channels get the form that they ask for.
    fn to_response(&self, error: &Error, request: &HeaderMap) -> HttpResponse {
        match self.plane {
            Plane::Data => error.to_accepted_response(&self.id, request),
            _ => error.to_response(Some(&self.id)),
        }
    }

    /// Completes responses that lost their request: a caught panic, or an error of the framework itself.
    fn finish_without_request(&self, mut answer: HttpResponse) -> actix_web::Error {
        let path = match self.plane {
            Plane::Data => DATA_PATH,
            Plane::Admin => ADMIN,
            Plane::Operational(path) => path,
            Plane::Other => "unmatched",
        };
        self.complete_response(&mut answer, Cow::Borrowed(path));
        InternalError::from_response("no handler answered", answer).into()
    }

    /// Returns the envelope that a response lacks: a handler's error has no request id yet, and refusals of
    /// the router have no body.
    fn missing_envelope(&self, response: &HttpResponse) -> Option<Error> {
        let status = response.status();
        if !status.is_client_error() && !status.is_server_error() {
            return None;
        }
        match response.error() {
            Some(error) => {
                Some(error.as_error::<Error>().cloned().unwrap_or_else(|| Error::from_status(status)))
            }
            None if self.plane != Plane::Data && is_bodiless(response) => {
                Some(router_refusal::to_error(response))
            }
            None => None,
        }
    }

    fn log_internal(&self, failed: &Error) {
        if let Some(internal) = failed.0.internal()
            && let Some(suppressed) = self.state.edge.failure_lines.allow_failure(&failed.0)
        {
            error!(self.state.log, "request failed"; "code" => failed.0.code().name(), "detail" => internal,
                "path" => self.logged_path(), "request_id" => self.id.as_str(), "suppressed" => suppressed,
                TraceIdField(failed.0.trace_id()));
        }
    }

    fn complete_response(&self, answer: &mut HttpResponse, path: Cow<'static, str>) {
        let took = self.started.elapsed();
        let status = answer.status();
        self.is_stream.set(answer.body().size() == BodySize::Stream);
        if self.is_last.get() || self.state.process.lifecycle.is_draining() {
            answer.head_mut().set_connection_type(ConnectionType::Close);
        }
        let mut headers = HeaderWriter::new(answer.headers_mut());
        headers.set(X_REQUEST_ID, self.id.header());
        for (name, value) in SECURITY_HEADERS {
            headers.set(name, value);
        }
        if self.tls.is_some() {
            let (name, value) = STRICT_TRANSPORT_SECURITY;
            headers.set(name, value);
        }
        if matches!(self.plane, Plane::Operational(DOCS | DOCS_FILE)) {
            headers.replace(CONTENT_SECURITY_POLICY, DOCS_POLICY);
        }
        if self.plane == Plane::Operational(CONSOLE) {
            headers.replace(CONTENT_SECURITY_POLICY, CONSOLE_POLICY);
            headers.replace(REFERRER_POLICY, CONSOLE_REFERRER);
        }
        if matches!(self.plane, Plane::Admin | Plane::Operational("/health" | "/metrics")) {
            headers.set(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        self.state.edge.cors.write_headers(self.cors.clone(), self.has_own_origins, &mut headers);
        self.state.metrics.record_http(method_label(&self.method), path, status.as_u16(), took);
        let trace_id = answer.headers().get(X_TRACE_ID).and_then(|id| id.to_str().ok());
        self.log_access(status, took, trace_id);
    }

    /// Returns the start of the path: callers choose its length.
    fn logged_path(&self) -> &str {
        let is_long = self.path.len() > LOGGED_PATH;
        let start = || (0..=LOGGED_PATH).rev().find_map(|end| self.path.get(..end));
        is_long.then(start).flatten().unwrap_or(&self.path)
    }

    fn log_access(&self, status: StatusCode, took: std::time::Duration, trace_id: Option<&str>) {
        macro_rules! log {
            ($level:ident) => {
                $level!(self.state.log, "answered"; "method" => self.method.as_str(), "path" => self.logged_path(),
                    "status" => status.as_u16(), "ms" => took.as_secs_f64() * 1e3,
                    "client_ip" => %self.client_ip, "request_id" => self.id.as_str(),
                    TraceIdField(trace_id))
            };
        }
        match self.plane {
            Plane::Admin => log!(info),
            _ if self.state.edge.access_sample.takes_next() => log!(info),
            _ => log!(debug),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.end_request(self.is_stream.get());
        }
        self.state.process.lifecycle.end_request();
    }
}

/// Returns the stricter plane of the raw and the decoded path, so that no spelling of an admin path bypasses
/// its guard.
fn classify_request(planes: &Planes, request: &ServiceRequest, host_length: usize) -> Plane {
    let (raw, decoded) = (request.path(), request.match_info().as_str());
    let written = planes.plane_of(raw.get(host_length..).unwrap_or(raw));
    if written == Plane::Admin || decoded == raw {
        return written;
    }
    // The router decodes no slash, so that the prefix has as many in both.
    let segments = raw.get(..host_length).unwrap_or_default().matches('/').count();
    planes.plane_of(decoded.get(prefix_length(decoded, segments)..).unwrap_or(decoded))
}

/// Returns the pattern of an endpoint as the API describes it, without the prefix of a larger application.
fn own_pattern(pattern: &str) -> String {
    described_path(pattern.find(ADMIN).and_then(|at| pattern.get(at..)).unwrap_or(pattern))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panicked without a text")
}

fn is_bodiless(response: &HttpResponse) -> bool {
    matches!(response.body().size(), BodySize::None | BodySize::Sized(0))
}

#[cfg(test)]
mod tests;
