//! Records of topics: the registry as the Kafka crate sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_supervision::CallErrorKind;
use svc_channels::{RecordResult, RecordRun, RunRecord, refusal};

use crate::dispatch::{DispatchError, FirstWorker};
use crate::failure_target;
use crate::handle::Registry;
use crate::snapshot::LoadedChannel;

impl Registry {
    /// Runs a record through its channel, on the next worker. Dropping the future drops the run.
    ///
    /// The record is deferred if nothing ran because no worker serves the channel now, its actors are on
    /// their way out, or the secret store has no value for a secret that its workflow needs. A quarantined
    /// channel fails it.
    pub async fn run_record(&self, channel: &Arc<LoadedChannel>, run: RecordRun) -> RecordResult {
        if channel.quarantine().is_none()
            && let Some(secret) = self.unreadable_secret(&self.snapshot(), channel)
        {
            return RecordResult::deferred(format!(
                "channel '{}' waits for a secret: {secret}",
                channel.name()
            ));
        }
        let offset = self.next_worker.fetch_add(1, Ordering::Relaxed);
        let first = FirstWorker { own: None, offset };
        let result = self.dispatch(first, RunRecord(run), self.same_channel(channel)).await;
        let mut result = result.unwrap_or_else(|error| failed_dispatch(channel, error));
        if let Some(settlement) = &mut result.settlement {
            settlement.set_report_target(failure_target::target(&channel.row));
        }
        result
    }
}

/// Converts the error of a dispatch.
fn failed_dispatch(channel: &LoadedChannel, error: DispatchError<RunRecord, ()>) -> RecordResult {
    match error {
        DispatchError::NotFound { .. } => {
            RecordResult::failed(format!("channel_unavailable: '{}' is no longer active", channel.name()))
        }
        DispatchError::Quarantined { reason, .. } => {
            RecordResult::failed(format!("channel_unavailable: {reason}"))
        }
        DispatchError::Failed { error, .. } if error.kind == CallErrorKind::Crashed => {
            RecordResult::failed("the run ended unexpectedly")
        }
        DispatchError::Failed { channel, error } => {
            RecordResult::deferred(refusal::from_call_error(channel.name(), &error).message())
        }
        DispatchError::NoWorker { channel, .. } => RecordResult::deferred(channel.no_worker().message()),
        DispatchError::Rejected { channel, .. } => {
            RecordResult::deferred(refusal::at_capacity(channel.name()).message())
        }
    }
}
