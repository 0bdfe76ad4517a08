//! Records of topics: the registry as the Kafka crate sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_supervision::CallErrorKind;
use svc_channels::{RecordBatch, RecordResult, RunRecords, refusal};

use crate::dispatch::{DispatchError, FirstWorker};
use crate::handle::Registry;
use crate::ingress::failure_target;
use crate::snapshot::LoadedChannel;

impl Registry {
    /// Runs consecutive records of a partition through their channel, on the next worker. Their results go to
    /// the progress of the batch. Dropping the future drops the run.
    ///
    /// Returns the result of the next record if the batch did not reach the channel, or left it. That
    /// record is deferred if the channel is paused or not active any more, no worker serves it now, its actors are on their
    /// way out, or the secret store has no value for a secret that its workflow needs. A quarantined channel fails
    /// it.
    pub async fn run_records(
        &self,
        channel: &Arc<LoadedChannel>,
        mut batch: RecordBatch,
    ) -> Option<RecordResult> {
        if channel.quarantine().is_none()
            && let Some(secret) = self.unreadable_secret(&self.snapshot(), channel)
        {
            let reason = format!("channel '{}' waits for a secret: {secret}", channel.name());
            return Some(RecordResult::deferred(reason));
        }
        if channel.pause().is_some() {
            return Some(RecordResult::deferred(format!("channel '{}' is paused", channel.name())));
        }
        batch.set_report_target(failure_target::target(&channel.row));
        let offset = self.next_worker.fetch_add(1, Ordering::Relaxed);
        let first = FirstWorker { own: None, offset };
        let ended = self.dispatch(first, RunRecords(batch), self.same_channel(channel)).await;
        ended.err().map(|error| failed_dispatch(channel, error))
    }

    /// Counts the message of a record that is finished and whose result has no settlement; `None` for one of no
    /// active channel.
    pub fn count_lost_record(&self, channel: Option<&str>) {
        self.shared.services.metrics.count_lost_job(channel);
    }
}

/// Converts the error of a dispatch.
fn failed_dispatch(channel: &LoadedChannel, error: DispatchError<RunRecords, ()>) -> RecordResult {
    match error {
        DispatchError::NotFound { .. } => {
            // What becomes of its topic is decided by the next snapshot.
            RecordResult::deferred(format!("channel '{}' is not active any more", channel.name()))
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
            RecordResult::deferred(refusal::stopping(channel.name()).message())
        }
    }
}
