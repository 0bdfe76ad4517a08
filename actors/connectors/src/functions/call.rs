//! Calls of connectors: the breaker, the metrics, the message to the actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix::Message;
use actix_supervision::{Address, CallErrorKind, ReadHandler};
use svc_engine::{ErrorCode, Healing, TaskCx, TaskError};
use svc_model::Timestamp;
use svc_model::config::connector::OperationSwitches;
use tokio::time::Instant;

use crate::breaker::{BreakerPermit, Breakers, CallVerdict};
use crate::call_log::RecordedCall;
use crate::directory::ConnectorDirectory;
use crate::driver::Driver;
use crate::error::NotLoaded;
use crate::table::LoadedConnector;

/// The channel name of a run that belongs to no channel.
pub(crate) const NO_CHANNEL: &str = "_none";
/// Most times a call follows a connector that is being replaced.
const REPLACEMENTS: usize = 3;

/// The function of the calls that the guards of channels make.
const GUARD: &str = "guard";

/// The run, or the guard of a channel, that makes a call.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    channel: Arc<str>,
    function: Arc<str>,
    /// The part of the system that is called, without secrets.
    target: Option<Arc<str>>,
    /// The attempts that were made, if a call may make several.
    attempts: Option<Arc<AtomicU32>>,
    /// The time at which the call is dropped.
    deadline: Option<Instant>,
    /// True for a run that only follows another one: its calls are neither counted nor refused by a breaker.
    is_shadow: bool,
}

impl Caller {
    /// Returns the run of a task. Its channel is the last of its call chain: metadata is writable by workflows,
    /// so it chooses neither a breaker nor a metric label.
    pub(crate) fn of_task(cx: &TaskCx<'_>) -> Self {
        let channel = cx.chain().last().cloned().unwrap_or_else(|| NO_CHANNEL.into());
        let function = Arc::clone(cx.function());
        Self {
            channel,
            function,
            target: None,
            attempts: None,
            deadline: cx.deadline(),
            is_shadow: cx.is_shadow(),
        }
    }

    /// Returns the guard of a channel.
    pub(crate) fn of_guard(channel: Arc<str>) -> Self {
        Self {
            channel,
            function: GUARD.into(),
            target: None,
            attempts: None,
            deadline: None,
            is_shadow: false,
        }
    }

    /// Returns the service itself, for a call that no run makes.
    pub(crate) fn of_service(channel: &Arc<str>, function: &Arc<str>) -> Self {
        let (channel, function) = (Arc::clone(channel), Arc::clone(function));
        Self { channel, function, target: None, attempts: None, deadline: None, is_shadow: false }
    }

    /// Returns the permit of a call without asking a breaker, if its run only follows another one.
    pub(crate) fn free_permit<'b>(&self, breakers: &'b Breakers) -> Option<BreakerPermit<'b>> {
        self.is_shadow.then(|| breakers.permit_uncounted())
    }

    /// Names the part of the system that is called, for the record of the call.
    pub(crate) fn with_target(self, target: impl Into<Arc<str>>) -> Self {
        Self { target: Some(target.into()), ..self }
    }

    /// Counts the attempts of the call in this counter.
    pub(crate) fn with_attempts(self, attempts: &Arc<AtomicU32>) -> Self {
        Self { attempts: Some(Arc::clone(attempts)), ..self }
    }

    /// Returns the record of a call that has ended now.
    fn record(&self, took: Duration, code: Option<&'static str>, http_status: Option<u16>) -> RecordedCall {
        let attempts = self.attempts.as_ref().map(|attempts| attempts.load(Ordering::Relaxed));
        RecordedCall {
            ended_at: Timestamp::now(),
            channel: Arc::clone(&self.channel),
            function: Arc::clone(&self.function),
            target: self.target.clone(),
            code,
            http_status,
            took,
            attempts: attempts.unwrap_or(1),
        }
    }
}

/// The code of a call that was dropped with its run.
const DROPPED: &str = "dropped";

/// A call that the breaker admitted. Counted once: when it ends, or when it is dropped before its end.
struct AdmittedCall<'c> {
    connectors: &'c ConnectorDirectory,
    caller: &'c Caller,
    connector: &'c str,
    started: Instant,
    permit: Option<BreakerPermit<'c>>,
}

impl AdmittedCall<'_> {
    /// Ends the call; `code` is that of its error, with the status of an HTTP answer.
    fn end(&mut self, code: Option<&'static str>, http_status: Option<u16>, verdict: CallVerdict) {
        let Some(permit) = self.permit.take() else { return };
        let (metrics, channel) = (self.connectors.metrics(), &self.caller.channel);
        let took = self.started.elapsed();
        metrics.record_call(channel, self.connector, code.is_none(), took);
        self.connectors.calls().add(self.connector, self.caller.record(took, code, http_status));
        if permit.settle(verdict) {
            metrics.record_trip(channel, self.connector);
        }
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        if self.permit.is_none() {
            return;
        }
        // A backend that lets the deadline of a run pass has failed; a run may be dropped for other reasons too.
        let is_late = self.caller.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let (code, verdict) = match is_late {
            true => (ErrorCode::Timeout.name(), CallVerdict::Failure),
            false => (DROPPED, CallVerdict::Neutral),
        };
        self.end(Some(code), None, verdict);
    }
}

/// Makes one logical call, which may consist of several attempts: admits it through the breaker of channel
/// and connector, and counts it once.
///
/// # Errors
/// `circuit_open` while the breaker rejects calls; otherwise the error of the call.
pub(crate) async fn call_with_breaker<T>(
    connectors: &ConnectorDirectory,
    caller: &Caller,
    connector: &str,
    call: impl Future<Output = Result<T, TaskError>>,
) -> Result<T, TaskError> {
    let channel = &*caller.channel;
    let refusal =
        || format!("the circuit breaker of connector '{connector}' is open for channel '{channel}'");
    let breakers = connectors.breakers();
    let permit = caller.free_permit(breakers).or_else(|| breakers.admit(channel, connector));
    call_admitted(connectors, caller, connector, permit, refusal, call).await
}

/// Makes one logical call that a breaker admits, and counts it once.
///
/// # Errors
/// `circuit_open` with the text of `refusal` if there is no permit; otherwise the error of the call.
pub(crate) async fn call_admitted<T>(
    connectors: &ConnectorDirectory,
    caller: &Caller,
    connector: &str,
    permit: Option<BreakerPermit<'_>>,
    refusal: impl Fn() -> String,
    call: impl Future<Output = Result<T, TaskError>>,
) -> Result<T, TaskError> {
    let channel = &*caller.channel;
    let Some(permit) = permit else {
        connectors.metrics().record_rejection(channel, connector);
        let code = Some(ErrorCode::CircuitOpen.name());
        connectors
            .calls()
            .add(connector, RecordedCall { attempts: 0, ..caller.record(Duration::ZERO, code, None) });
        return Err(TaskError::new(ErrorCode::CircuitOpen, refusal()));
    };
    let (started, permit) = (Instant::now(), Some(permit).filter(|_| !caller.is_shadow));
    let mut admitted = AdmittedCall { connectors, caller, connector, started, permit };
    let outcome = call.await;
    let verdict = match &outcome {
        Ok(_) => CallVerdict::Success,
        Err(error) if error.retryable() => CallVerdict::Failure,
        Err(error) if error.code == ErrorCode::Http => CallVerdict::Answered,
        Err(_) => CallVerdict::Neutral,
    };
    let error = outcome.as_ref().err();
    admitted.end(error.map(|error| error.code.name()), error.and_then(|error| error.http_status), verdict);
    outcome
}

/// Returns the driver of a connector as the type that is needed.
///
/// # Errors
/// `connector_detail` if the connector is of another type.
pub(crate) fn driver_of<'l, D: Driver>(
    connector: &str,
    loaded: &'l LoadedConnector,
) -> Result<&'l D, TaskError> {
    loaded.driver().ok_or_else(|| {
        let detail = format!("connector '{connector}' is not {}", D::REQUIREMENT);
        TaskError::new(ErrorCode::ConnectorDetail, detail)
    })
}

/// Refuses an operation that the connector does not allow.
///
/// # Errors
/// `connector_detail` naming the operation.
pub(crate) fn check_operation(
    switches: &OperationSwitches,
    operation: &str,
    connector: &str,
) -> Result<(), TaskError> {
    if switches.allow(operation) {
        return Ok(());
    }
    let detail = format!("connector '{connector}' does not allow the operation {operation}");
    Err(TaskError::new(ErrorCode::ConnectorDetail, detail))
}

/// Sends the message that `message` makes of the driver to its actor. Returns the answer and the connector
/// that gave it. If the connector is replaced before the actor took the message, its successor is called.
///
/// # Errors
/// The connector is not loaded or of another type, `message` fails, or the actor cannot answer.
pub(crate) async fn call_driver<D, A, M>(
    connectors: &ConnectorDirectory,
    connector: &str,
    message: impl Fn(&D) -> Result<(Address<A>, M), TaskError>,
) -> Result<(Arc<LoadedConnector>, M::Result), TaskError>
where
    D: Driver,
    A: ReadHandler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    let mut replaced = 0;
    loop {
        let loaded = connectors.find(connector)?;
        let (address, message) = message(driver_of(connector, &loaded)?)?;
        let error = match address.ask(message).await {
            Ok(answer) => return Ok((loaded, answer)),
            Err(error) => error,
        };
        let has_ended = matches!(error.kind, CallErrorKind::Draining | CallErrorKind::Stopped);
        if has_ended && error.is_retryable() && replaced < REPLACEMENTS {
            replaced += 1;
            continue;
        }
        let code = match error.kind {
            CallErrorKind::Full | CallErrorKind::Restarting { .. } | CallErrorKind::Crashed => ErrorCode::Io,
            _ => ErrorCode::Function,
        };
        let task = TaskError::new(code, format!("connector '{connector}': {error}"));
        let healing = error.is_retryable().then_some(Healing::Transient);
        return Err(TaskError { healing, ..task });
    }
}

impl From<NotLoaded> for TaskError {
    fn from(error: NotLoaded) -> Self {
        // It may be loaded, created or enabled before a later run.
        let task =
            Self { healing: Some(Healing::Transient), ..Self::new(ErrorCode::Function, error.to_string()) };
        match error {
            NotLoaded::Failed(_, reason) => task.with_detail(reason),
            NotLoaded::Unknown(_) | NotLoaded::Disabled(_) => task,
        }
    }
}
