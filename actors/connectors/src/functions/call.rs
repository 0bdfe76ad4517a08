//! What every call of a connector goes through: its breaker, and what is counted.

use svc_engine::{ErrorCode, TaskCx, TaskError};
use tokio::time::Instant;

use crate::breaker::Verdict;
use crate::handle::{Connectors, NotLoaded};

/// Stands for the channel of a run that belongs to none.
const NO_CHANNEL: &str = "_none";

/// The channel of a run.
pub(crate) fn channel_of(cx: &TaskCx<'_>) -> String {
    let channel = cx.message().metadata.get("channel").and_then(|channel| channel.as_str());
    channel.filter(|channel| !channel.is_empty()).unwrap_or(NO_CHANNEL).to_owned()
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
        Err(_) => Verdict::Neutral,
    };
    if pass.settle(verdict) {
        connectors.metrics().tripped(channel, connector);
    }
    outcome
}

impl From<NotLoaded> for TaskError {
    fn from(error: NotLoaded) -> Self {
        let task = Self::new(ErrorCode::Function, error.to_string());
        match error {
            NotLoaded::Failed(_, reason) => task.with_detail(reason),
            NotLoaded::Unknown(_) | NotLoaded::Disabled(_) => task,
        }
    }
}
