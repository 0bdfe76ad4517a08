//! `http_call`: sends a request to an HTTP API, and repeats it while a retry is allowed and may help.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_auth::message_id;
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Expression, Function, Path, Redaction, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::HTTP_CALL;
use svc_model::config::connector::check_header;
use svc_outbound::header::{HeaderMap, HeaderName, HeaderValue};
use svc_outbound::{Method, OutboundResponse, PeerRequest, RequestBody};
use svc_spans::{SpanDraft, TraceContext};
use tokio::time::{Instant, sleep};

use super::call::{Caller, call_driver, call_with_breaker, driver_of};
use super::cloud_event::EventPlan;
use super::input::{self, Either, input_value, text};
use super::outside::OutsideAddress;
use super::request::{self, BodyFormat};
use super::response::{self, ResponseFormat};
use super::retry::{AttemptLimit, RetryPlan, random_fraction};
use crate::directory::ConnectorDirectory;
use crate::drivers::http::{Exchange, HttpDriver, HttpSettings, OutsideExchange, sign_request};

/// The task function.
pub(crate) struct HttpCall {
    connectors: ConnectorDirectory,
    timeout: Duration,
}

impl HttpCall {
    pub(crate) fn new(connectors: ConnectorDirectory, timeout: Duration) -> Self {
        Self { connectors, timeout }
    }
}

impl Function for HttpCall {
    svc_functions::declared_by!(HTTP_CALL);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &HTTP_CALL.entry;
        let method = text(table, input, "method").unwrap_or("GET");
        Ok(Box::new(HttpCallTask {
            connectors: self.connectors.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            method: Method::from_bytes(method.as_bytes()).map_err(|error| format!("method: {error}"))?,
            path: Either::compile(input, "path", cx)?,
            url: input_value(table, input, "url_logic").map(|logic| cx.expression(logic)).transpose()?,
            headers: headers(input_value(table, input, "headers"))?,
            headers_logic: input_value(table, input, "headers_logic")
                .map(|logic| cx.expression(logic))
                .transpose()?,
            idempotency_key: input_value(table, input, "idempotency_key")
                .map(|logic| cx.expression(logic))
                .transpose()?,
            body: Either::compile(input, "body", cx)?,
            body_format: BodyFormat::from_name(text(table, input, "body_format")),
            event: EventPlan::compile(input, cx)?.map(Box::new),
            output: text(table, input, "output").map(input::path).transpose()?,
            response_format: ResponseFormat::from_name(text(table, input, "response_format")),
            limit: AttemptLimit::compile(input_value(table, input, "timeout_ms"), self.timeout, cx)?,
            captures_error_body: input_value(table, input, "capture_error_body") == Some(&Value::Bool(true)),
        }))
    }
}

fn headers(given: Option<&Value>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let text = value.as_str().ok_or_else(|| format!("headers.{name}: expected string"))?;
        check_header(name, text).map_err(|why| format!("headers.{name}: {why}"))?;
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("headers: {error}"))?;
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|error| format!("headers: {error}"))?;
        headers.insert(header, value);
    }
    Ok(headers)
}

struct HttpCallTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    method: Method,
    path: Option<Either>,
    /// The whole address, in the place of a path below the connector's URL.
    url: Option<Expression>,
    headers: HeaderMap,
    headers_logic: Option<Expression>,
    idempotency_key: Option<Expression>,
    body: Option<Either>,
    body_format: BodyFormat,
    /// The event of CloudEvents that it sends. Boxed, because most calls send none.
    event: Option<Box<EventPlan>>,
    output: Option<Path>,
    response_format: ResponseFormat,
    limit: AttemptLimit,
    captures_error_body: bool,
}

/// Letters of a path in the record of a call.
const SHOWN_PATH: usize = 200;

/// The first status of a response that counts as a failure of the request.
const FIRST_ERROR: u16 = 400;

/// Adds the headers that pass the place of a request in a distributed trace on, unless its author wrote some.
fn add_trace_headers(headers: &mut HeaderMap, trace_headers: &[(&'static str, String)]) {
    if trace_headers.iter().any(|(name, _)| headers.contains_key(*name)) {
        return;
    }
    for (name, value) in trace_headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// The address of a call.
enum RequestAddress {
    /// A path below the connector's URL.
    Path(String),
    /// A computed address, to which nothing of the connector's goes.
    Outside(OutsideAddress),
}

/// The parts of a call that depend on the message.
struct RequestParts {
    address: RequestAddress,
    /// The literal headers of the task, overridden by the computed ones.
    headers: HeaderMap,
    body: Option<RequestBody>,
    /// The place of the task in a distributed trace.
    trace_context: TraceContext,
}

/// The parts of a call that are the same at every attempt.
#[derive(Clone, Copy)]
struct AttemptContext<'a> {
    parts: &'a RequestParts,
    redaction: &'a Redaction,
    /// Returns the id of the message, for a signature.
    message_id: &'a dyn Fn() -> String,
    /// The time of one attempt.
    timeout: Duration,
}

impl CompiledTask for HttpCallTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let mut redaction = cx.redaction().clone();
            self.call(cx, &mut redaction).await.map_err(|mut error| {
                error.redact(&redaction);
                error
            })?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl HttpCallTask {
    /// Makes the call and writes the response to the output path. Adds the secrets that the request carries
    /// to `redaction`. An API may repeat them, so they are masked in the response before it is written.
    ///
    /// # Errors
    /// The error of the call. It may contain those secrets: the caller redacts it.
    async fn call(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<(), TaskError> {
        let parts = self.request_parts(cx, redaction)?;
        let attempts = Arc::new(AtomicU32::new(0));
        let caller = Caller::of_task(cx).with_target(self.target(&parts, redaction)).with_attempts(&attempts);
        let remaining = cx.remaining();
        let task: &TaskCx<'_> = &*cx;
        let id = || message_id(&task.idempotency_key());
        let timeout = self.limit.read(task)?;
        let context = AttemptContext { parts: &parts, redaction: &*redaction, message_id: &id, timeout };
        let call = async {
            let answer = self.attempts(context, remaining, &attempts).await?;
            self.read(task, &answer)
        };
        let (connectors, connector) = (&self.connectors, &self.connector);
        let result = match &parts.address {
            RequestAddress::Path(_) => call_with_breaker(connectors, &caller, connector, call).await?,
            RequestAddress::Outside(address) => address.call(connectors, &caller, connector, call).await?,
        };
        if let (Some(path), Some(mut value)) = (&self.output, result) {
            if self.reads_secrets() {
                redaction.mask(&mut value);
            }
            cx.write(path, value)?;
        }
        Ok(())
    }

    /// Returns the method and the path for the record of the call, without the query and whatever may be a secret. Of
    /// a computed address it has the host alone.
    fn target(&self, parts: &RequestParts, redaction: &Redaction) -> String {
        let method = self.method.as_str();
        let path = match &parts.address {
            RequestAddress::Path(path) => path.split(['?', '#']).next().unwrap_or_default(),
            RequestAddress::Outside(address) => address.host.as_str(),
        };
        let reads_secrets = self.path.as_ref().is_some_and(Either::reads_secrets)
            || self.url.as_ref().is_some_and(Expression::reads_secrets);
        if path.is_empty() || reads_secrets {
            return method.to_owned();
        }
        let path = redaction.mask_text(path.to_owned());
        format!("{method} {}", path.chars().take(SHOWN_PATH).collect::<String>())
    }

    fn reads_secrets(&self) -> bool {
        [&self.path, &self.body].into_iter().flatten().any(Either::reads_secrets)
            || [&self.url, &self.headers_logic, &self.idempotency_key]
                .into_iter()
                .flatten()
                .any(Expression::reads_secrets)
            || self.event.as_ref().is_some_and(|event| event.reads_secrets())
    }

    /// Computes the parts of the request from the message. Adds the secrets that the expressions read to
    /// `redaction`.
    fn request_parts(
        &self,
        cx: &mut TaskCx<'_>,
        redaction: &mut Redaction,
    ) -> Result<RequestParts, TaskError> {
        let address = self.address(cx, redaction)?;
        let mut headers = self.headers.clone();
        if let Some(logic) = &self.headers_logic {
            request::add_headers(&mut headers, &cx.evaluate_tainted(logic, redaction)?)?;
        }
        if let Some(logic) = &self.idempotency_key {
            let key = cx.evaluate_tainted(logic, redaction)?;
            request::add_idempotency_key(&mut headers, key, || cx.idempotency_key())?;
        }
        let body = match &self.body {
            None => None,
            Some(Either::Literal(body)) => Some(self.body_format.body(body)?),
            Some(Either::Logic(logic)) => {
                Some(self.body_format.body(&cx.evaluate_tainted(logic, redaction)?)?)
            }
        };
        let body = match &self.event {
            None => body,
            Some(event) => event.evaluate(cx, redaction)?.put_into_request(&mut headers, body)?,
        };
        Ok(RequestParts { address, headers, body, trace_context: cx.trace_context().clone() })
    }

    fn address(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<RequestAddress, TaskError> {
        if let Some(logic) = &self.url {
            let Value::String(url) = cx.evaluate_tainted(logic, redaction)? else {
                return Err(TaskError::validation("url_logic: expected the text of a URL"));
            };
            let address = OutsideAddress::parse(&self.connectors, &self.connector, &url, "url_logic")?;
            return Ok(RequestAddress::Outside(address));
        }
        Ok(RequestAddress::Path(match &self.path {
            None => String::new(),
            Some(Either::Literal(path)) => request::path("path", path.clone())?,
            Some(Either::Logic(logic)) => {
                request::path("path_logic", cx.evaluate_tainted(logic, redaction)?)?
            }
        }))
    }

    /// Makes attempts until one succeeds, or another is not allowed or would not help.
    async fn attempts(
        &self,
        context: AttemptContext<'_>,
        left: Option<Duration>,
        made: &AtomicU32,
    ) -> Result<OutboundResponse, TaskError> {
        let parts = context.parts;
        let started = Instant::now();
        let mut attempts = 0;
        loop {
            let loaded = self.connectors.find(&self.connector)?;
            let HttpDriver { settings, .. } = driver_of(&self.connector, &loaded)?;
            let plan = self.plan(settings, started, left, context.timeout);
            // The first attempt has its whole time, a later one what is left for the call.
            let remaining = plan.deadline.saturating_duration_since(Instant::now());
            let limit = if attempts == 0 { context.timeout } else { context.timeout.min(remaining) };
            let mut span = parts.trace_context.begin(|| {
                let url = match &parts.address {
                    RequestAddress::Path(_) => &settings.base,
                    RequestAddress::Outside(address) => &address.url,
                };
                let peer = (url.host_str(), url.port_or_known_default());
                SpanDraft::outbound_request(self.method.as_str(), peer, &self.connector, attempts)
            });
            made.store(attempts + 1, Ordering::Relaxed);
            let attempt = self.attempt(context, (limit, span.context())).await;
            match &attempt {
                Ok(answer) => span.set_response(answer.status.as_u16(), FIRST_ERROR),
                Err(TaskError { http_status: Some(status), .. }) => span.set_response(*status, FIRST_ERROR),
                Err(error) => span.fail(error.code.name()),
            }
            drop(span);
            let mut error = match attempt {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            attempts += 1;
            let asked = error.retry_after_secs.map(|seconds| Duration::from_secs(seconds.get().into()));
            let pause =
                plan.pause(attempts, Instant::now(), random_fraction(), asked).filter(|_| error.retryable());
            let Some(pause) = pause else {
                if attempts > 1 {
                    error.retry_attempted = Some(true);
                    error.retry_count = NonZeroU32::new(attempts - 1);
                }
                return Err(error);
            };
            sleep(pause).await;
        }
    }

    /// Returns the retry plan of a call that may take the time `left`. A `POST` or `PATCH` is retried only if
    /// the connector allows it.
    fn plan(
        &self,
        settings: &HttpSettings,
        started: Instant,
        left: Option<Duration>,
        timeout: Duration,
    ) -> RetryPlan {
        let again = settings.retry_non_idempotent || !matches!(self.method, Method::POST | Method::PATCH);
        let retries = if again { settings.max_retries } else { 0 };
        let whole = timeout.saturating_mul(retries + 1);
        RetryPlan {
            retries,
            delay: Duration::from_millis(settings.retry_delay_ms),
            deadline: started + left.map_or(whole, |left| left.min(whole)),
        }
    }

    /// Makes one attempt. A status other than success is an error, without the secrets of connector and task.
    async fn attempt(
        &self,
        context: AttemptContext<'_>,
        (limit, trace_context): (Duration, &TraceContext),
    ) -> Result<OutboundResponse, TaskError> {
        let (connectors, connector) = (&self.connectors, &self.connector);
        let (loaded, answer) = match &context.parts.address {
            RequestAddress::Path(path) => {
                let trace_headers = trace_context.headers();
                let request = |driver: &HttpDriver| {
                    let mut request = self.request(&driver.settings, path, context, limit)?;
                    add_trace_headers(&mut request.headers, &trace_headers);
                    Ok((driver.address.clone(), Exchange(request)))
                };
                call_driver(connectors, connector, request).await?
            }
            RequestAddress::Outside(address) => {
                let begun = Instant::now();
                let _place = address.take_place(connector, limit).await?;
                let limit = limit.saturating_sub(begun.elapsed());
                let request = |driver: &HttpDriver| {
                    let request = self.outside_request(&driver.settings, address, context, limit)?;
                    Ok((driver.address.clone(), OutsideExchange { request, patience: None }))
                };
                call_driver(connectors, connector, request).await?
            }
        };
        let answered = answer.map_err(|error| response::unanswered_error(&self.connector, &error))?;
        if answered.answer.status.is_success() {
            return Ok(answered.answer);
        }
        let driver: &HttpDriver = driver_of(&self.connector, &loaded)?;
        let token = answered.token.as_ref().map(|token| token.expose());
        let hide = |text| context.redaction.mask_text(driver.settings.redact(text, token));
        Err(response::refused_error(&self.connector, hide, &answered.answer, self.captures_error_body))
    }

    /// Builds the request to the API. Headers of the task win over those of the connector.
    fn request(
        &self,
        settings: &HttpSettings,
        path: &str,
        context: AttemptContext<'_>,
        limit: Duration,
    ) -> Result<PeerRequest, TaskError> {
        let mut headers = settings.headers.clone();
        for (name, value) in &context.parts.headers {
            headers.insert(name, value.clone());
        }
        let request = PeerRequest {
            method: self.method.clone(),
            url: request::url(&settings.base, path)?,
            headers,
            params: settings.params.clone(),
            body: context.parts.body.clone(),
            timeout: limit,
            cap: settings.max_response_size,
            follow: true,
        };
        self.finish(settings, request, context)
    }

    /// Builds the request to a computed address: of the connector it has the signature alone.
    fn outside_request(
        &self,
        settings: &HttpSettings,
        address: &OutsideAddress,
        context: AttemptContext<'_>,
        limit: Duration,
    ) -> Result<PeerRequest, TaskError> {
        let request = PeerRequest {
            method: self.method.clone(),
            url: address.url.clone(),
            headers: context.parts.headers.clone(),
            params: Vec::new(),
            body: context.parts.body.clone(),
            timeout: limit,
            cap: settings.max_response_size,
            follow: true,
        };
        self.finish(settings, request, context)
    }

    /// Refuses a method that the connector does not allow, and signs the request if its calls are signed.
    fn finish(
        &self,
        settings: &HttpSettings,
        mut request: PeerRequest,
        context: AttemptContext<'_>,
    ) -> Result<PeerRequest, TaskError> {
        let method = self.method.as_str();
        if !settings.methods.is_empty() && !settings.methods.iter().any(|allowed| allowed == method) {
            let detail = format!("connector '{}' does not allow the method {method}", self.connector);
            return Err(TaskError::new(ErrorCode::ConnectorDetail, detail));
        }
        if let Some(signer) = &settings.signer {
            sign_request(signer, &(context.message_id)(), &mut request).map_err(|why| {
                let detail = format!("connector '{}': sign: {why}", self.connector);
                TaskError::new(ErrorCode::ConnectorDetail, detail)
            })?;
        }
        Ok(request)
    }

    /// Returns the response in the format of the task; `None` if the task has no output path.
    fn read(&self, cx: &TaskCx<'_>, answer: &OutboundResponse) -> Result<Option<Value>, TaskError> {
        self.output.as_ref().map(|_| self.response_format.read(cx, &self.connector, answer)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authored_trace_headers_are_kept_unmixed() {
        let own = [("traceparent", "own".to_owned()), ("tracestate", "a=1".to_owned())];
        let mut headers = HeaderMap::new();
        add_trace_headers(&mut headers, &own);
        let text =
            |headers: &HeaderMap, name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(text(&headers, "traceparent").as_deref(), Some("own"));
        assert_eq!(text(&headers, "tracestate").as_deref(), Some("a=1"));
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_static("theirs"));
        add_trace_headers(&mut headers, &own);
        assert_eq!((headers.len(), text(&headers, "traceparent").as_deref()), (1, Some("theirs")));
        add_trace_headers(&mut headers, &[]);
        assert_eq!(headers.len(), 1);
    }
}
