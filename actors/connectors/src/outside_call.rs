//! Calls that the service itself makes to addresses that others chose, such as those of webhooks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use svc_auth::RequestSigner;
use svc_engine::{ErrorCode, TaskError};
use svc_model::config::SecretText;
use svc_model::config::connector::SigningConfig;
use svc_outbound::header::HeaderMap;
use svc_outbound::{Method, OutboundResponse, PeerRequest, RequestBody};

use crate::directory::ConnectorDirectory;
use crate::drivers::http::{HttpDriver, OutsideExchange, sign_request};
use crate::functions::{Caller, OutsideAddress, call_driver, driver_of, refused_error, unanswered_error};

/// Bytes of an answer that are read. Its status counts, not its body, which may be huge.
const BODY_CAP: usize = 64 * 1024;
/// Time after the head of an answer in which its body is read, for the echo of a challenge and so that the connection
/// can be used again.
const BODY_PATIENCE: Duration = Duration::from_secs(2);

/// A `POST` to an address that somebody else chose, by the rules of an http connector with `allow_urls`. It carries
/// nothing of the connector but its signature.
pub struct OutsideRequest {
    /// Name of the connector.
    pub connector: Arc<str>,
    pub url: String,
    /// The channel, and the function, under which the call is counted and logged.
    pub channel: Arc<str>,
    pub function: Arc<str>,
    /// The id of the message, the same at every attempt; see [`message_id`](svc_auth::message_id).
    pub id: String,
    /// The secrets of Standard Webhooks that sign the call, each with a signature of its own. Without any, the `sign` of
    /// the connector signs, if it has one.
    pub secrets: Vec<SecretText>,
    pub content_type: &'static str,
    pub body: Bytes,
    /// Time limit of the whole attempt.
    pub timeout: Duration,
    /// Longest wait for a place among the calls of the host. A call without one is deferred.
    pub place_wait: Duration,
}

/// The class of an attempt, by which its caller goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideClass {
    /// The answer is a 2xx.
    Accepted,
    /// The answer is 410: the receiver wants no more of it.
    Gone,
    /// Any other answer, a redirect too, or none.
    Failed,
    /// Nothing was sent, and nothing will be: the connector does not allow the address, or the secrets are unusable.
    Forbidden,
    /// Nothing was sent: the host has all its places taken or its breaker open, or the connector is not in use.
    Deferred,
}

/// The outcome of one attempt.
#[derive(Clone, Debug)]
pub struct OutsideOutcome {
    pub class: OutsideClass,
    /// The status of the answer, if there is one.
    pub status: Option<u16>,
    /// The wait that the answer asks for, an hour at most.
    pub retry_after: Option<Duration>,
    /// The reason for which the attempt was not accepted, without secrets.
    pub reason: Option<String>,
    /// The body of an accepted answer, as far as it came soon and is short.
    pub body: Bytes,
}

impl ConnectorDirectory {
    /// Makes one attempt at a request. It is never redirected.
    pub async fn call_outside(&self, request: &OutsideRequest) -> OutsideOutcome {
        match self.try_call_outside(request).await {
            Ok(answer) => OutsideOutcome {
                class: OutsideClass::Accepted,
                status: Some(answer.status.as_u16()),
                retry_after: None,
                reason: None,
                body: answer.body,
            },
            Err(error) => error,
        }
    }

    async fn try_call_outside(&self, request: &OutsideRequest) -> Result<OutboundResponse, OutsideOutcome> {
        let address =
            OutsideAddress::parse(self, &request.connector, &request.url, "url").map_err(|error| {
                let class =
                    if error.is_transient() { OutsideClass::Deferred } else { OutsideClass::Forbidden };
                outcome(class, &error)
            })?;
        let signer = build_signer(request)?;
        let begun = tokio::time::Instant::now();
        let place = address.take_place(&request.connector, request.place_wait).await;
        let _place = place.map_err(|error| outcome(OutsideClass::Deferred, &error))?;
        let limit = request.timeout.saturating_sub(begun.elapsed());
        let caller = Caller::of_service(&request.channel, &request.function)
            .with_target(format!("POST {}", address.host));
        let attempt = self.attempt_outside(request, &address, signer.as_ref(), limit);
        address.call(self, &caller, &request.connector, attempt).await.map_err(|error| {
            let class = match (error.code, error.http_status) {
                (ErrorCode::CircuitOpen, _) => OutsideClass::Deferred,
                (_, Some(410)) => OutsideClass::Gone,
                // The text of every refusal of an address.
                _ if error.message.starts_with("SSRF protection: ") => OutsideClass::Forbidden,
                _ => OutsideClass::Failed,
            };
            outcome(class, &error)
        })
    }

    async fn attempt_outside(
        &self,
        request: &OutsideRequest,
        address: &OutsideAddress,
        signer: Option<&RequestSigner>,
        limit: Duration,
    ) -> Result<OutboundResponse, TaskError> {
        let connector = &*request.connector;
        let message = |driver: &HttpDriver| {
            let body = RequestBody { content_type: request.content_type, bytes: request.body.clone() };
            let mut sent = PeerRequest {
                method: Method::POST,
                url: address.url.clone(),
                headers: HeaderMap::new(),
                params: Vec::new(),
                body: Some(body),
                timeout: limit,
                cap: driver.settings.max_response_size.min(BODY_CAP),
                follow: false,
            };
            if let Some(signer) = signer.or(driver.settings.signer.as_ref()) {
                sign_request(signer, &request.id, &mut sent).map_err(|why| {
                    TaskError::new(
                        ErrorCode::ConnectorDetail,
                        format!("connector '{connector}': sign: {why}"),
                    )
                })?;
            }
            Ok((driver.address.clone(), OutsideExchange { request: sent, patience: Some(BODY_PATIENCE) }))
        };
        let (loaded, answer) = call_driver(self, connector, message).await?;
        let answer = answer.map_err(|error| unanswered_error(connector, &error))?.answer;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let driver: &HttpDriver = driver_of(connector, &loaded)?;
        Err(refused_error(connector, |text| driver.settings.redact(text, None), &answer, false))
    }
}

/// Makes the signer of the secrets of a request; `None` without any.
fn build_signer(request: &OutsideRequest) -> Result<Option<RequestSigner>, OutsideOutcome> {
    if request.secrets.is_empty() {
        return Ok(None);
    }
    let signer = SigningConfig::standard_webhooks(request.secrets.clone())
        .and_then(|config| RequestSigner::build(&config))
        .map_err(|why| TaskError::new(ErrorCode::Function, format!("the secrets are unusable: {why}")));
    signer.map(Some).map_err(|error| outcome(OutsideClass::Forbidden, &error))
}

fn outcome(class: OutsideClass, error: &TaskError) -> OutsideOutcome {
    OutsideOutcome {
        class,
        status: error.http_status,
        retry_after: error.retry_after_secs.map(|seconds| Duration::from_secs(seconds.get().into())),
        reason: Some(error.message.clone()),
        body: Bytes::new(),
    }
}
