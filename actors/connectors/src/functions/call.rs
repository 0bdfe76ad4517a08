//! What every call of a connector goes through: its breaker, and what is counted.

use std::sync::Arc;

use actix::Message;
use actix_supervision::{Address, CallErrorKind, ReadHandler};
use svc_engine::{ErrorCode, TaskCx, TaskError};
use svc_model::config::connector::OperationSwitches;
use tokio::time::Instant;

use crate::breaker::Verdict;
use crate::drivers::Kind;
use crate::handle::{Connectors, NotLoaded};
use crate::table::Loaded;

/// Stands for the channel of a run that belongs to none.
const NO_CHANNEL: &str = "_none";
/// Times a call follows a connector that is being replaced, before it gives up.
const REPLACEMENTS: usize = 3;

/// The channel of a run, as its call chain names it. Metadata is for workflows to write: it chooses neither a breaker nor
/// a label of a metric.
pub(crate) fn channel_of(cx: &TaskCx<'_>) -> Arc<str> {
    cx.chain().last().cloned().unwrap_or_else(|| NO_CHANNEL.into())
}

/// One logical call, whatever it tries: let through by the breaker or not, counted once.
///
/// # Errors
/// `circuit_open` while the breaker holds calls back, else what the call failed with.
pub(crate) async fn guarded<T>(
    connectors: &Connectors,
    channel: &str,
    connector: &str,
    call: impl Future<Output = Result<T, TaskError>>,
) -> Result<T, TaskError> {
    let Some(pass) = connectors.guard().admit(channel, connector) else {
        connectors.metrics().rejected(channel, connector);
        let message =
            format!("the circuit breaker of connector '{connector}' is open for channel '{channel}'");
        return Err(TaskError::new(ErrorCode::CircuitOpen, message));
    };
    let started = Instant::now();
    let outcome = call.await;
    connectors.metrics().called(channel, connector, outcome.is_ok(), started.elapsed());
    let verdict = match &outcome {
        Ok(_) => Verdict::Success,
        Err(error) if error.retryable() => Verdict::Failure,
        Err(error) if error.code == ErrorCode::Http => Verdict::Answered,
        Err(_) => Verdict::Neutral,
    };
    if pass.settle(verdict) {
        connectors.metrics().tripped(channel, connector);
    }
    outcome
}

/// The driver of a connector, if it is of the kind that is needed.
///
/// # Errors
/// `connector_detail` for another kind.
pub(crate) fn kind<'l, K: Kind>(connector: &str, loaded: &'l Loaded) -> Result<&'l K, TaskError> {
    K::of(&loaded.driver).ok_or_else(|| {
        let detail = format!("connector '{connector}' is not {}", K::NEEDED);
        TaskError::new(ErrorCode::ConnectorDetail, detail)
    })
}

/// Refuses an operation that the connector does not allow.
///
/// # Errors
/// `connector_detail` naming the operation.
pub(crate) fn gate(gates: &OperationSwitches, operation: &str, connector: &str) -> Result<(), TaskError> {
    if gates.allow(operation) {
        return Ok(());
    }
    let detail = format!("connector '{connector}' does not allow the operation {operation}");
    Err(TaskError::new(ErrorCode::ConnectorDetail, detail))
}

/// Asks the actor of a connector what `message` makes of its driver; answers who was asked as well. A connector that is
/// replaced meanwhile is followed: nothing was sent yet.
///
/// # Errors
/// The connector is not loaded or of another kind, `message` fails, or the actor cannot answer.
pub(crate) async fn ask<K, A, M>(
    connectors: &Connectors,
    connector: &str,
    message: impl Fn(&K) -> Result<(Address<A>, M), TaskError>,
) -> Result<(Arc<Loaded>, M::Result), TaskError>
where
    K: Kind,
    A: ReadHandler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    let mut replaced = 0;
    loop {
        let loaded = connectors.find(connector)?;
        let (address, message) = message(kind(connector, &loaded)?)?;
        let error = match address.ask(message).await {
            Ok(answer) => return Ok((loaded, answer)),
            Err(error) => error,
        };
        let gone = matches!(error.kind, CallErrorKind::Draining | CallErrorKind::Stopped);
        if gone && error.is_retryable() && replaced < REPLACEMENTS {
            replaced += 1;
            continue;
        }
        let code = match error.kind {
            CallErrorKind::Full | CallErrorKind::Restarting { .. } | CallErrorKind::Crashed => ErrorCode::Io,
            _ => ErrorCode::Function,
        };
        let task = TaskError::new(code, format!("connector '{connector}': {error}"));
        return Err(TaskError { may_heal: error.is_retryable(), ..task });
    }
}

impl From<NotLoaded> for TaskError {
    fn from(error: NotLoaded) -> Self {
        // It may be loaded, created or enabled before a later run.
        let task = Self { may_heal: true, ..Self::new(ErrorCode::Function, error.to_string()) };
        match error {
            NotLoaded::Failed(_, reason) => task.with_detail(reason),
            NotLoaded::Unknown(_) | NotLoaded::Disabled(_) => task,
        }
    }
}
