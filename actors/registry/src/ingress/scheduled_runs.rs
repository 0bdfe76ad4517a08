//! Scheduled runs: the registry as the cron crate sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_supervision::CallError;
use svc_channels::{RunScheduled, ScheduledRun, ScheduledRunOutcome, ScheduledRunResult};
use svc_model::WorkflowVersion;

use crate::dispatch::{DispatchError, FirstWorker};
use crate::handle::Registry;
use crate::ingress::pinned_versions::PinError;
use crate::snapshot::LoadedChannel;

impl Registry {
    /// Runs a scheduled channel on the next worker, with that version of the workflow if one is given. Dropping the future
    /// drops the run.
    ///
    /// The outcome is [`ScheduledRunOutcome::Busy`] if nothing ran because the channel has no capacity now,
    /// no worker serves it, or its actors are on their way out.
    pub async fn run_scheduled(
        &self,
        channel: &Arc<LoadedChannel>,
        version: Option<WorkflowVersion>,
        mut run: ScheduledRun,
    ) -> ScheduledRunResult {
        if let Some(version) = version {
            match self.pin_version(Some(&**channel), &version).await {
                Ok(pinned) => run.pinned = Some(pinned),
                Err(PinError::Unusable(reason)) => return unavailable(&reason),
                Err(PinError::Unavailable(_)) => return ScheduledRunOutcome::Busy.without_run(),
            }
        }
        let offset = self.next_worker.fetch_add(1, Ordering::Relaxed);
        let first = FirstWorker { own: None, offset };
        let result = self.dispatch(first, RunScheduled(run), self.same_channel(channel)).await;
        result.unwrap_or_else(|error| match error {
            DispatchError::NotFound { .. } => unavailable("it is no longer active"),
            DispatchError::Quarantined { reason, .. } => unavailable(&reason),
            DispatchError::Failed { error: CallError { message: None, .. }, .. } => {
                failed_run("the run ended unexpectedly".to_owned())
            }
            DispatchError::NoWorker { .. }
            | DispatchError::Failed { .. }
            | DispatchError::Rejected { .. } => ScheduledRunOutcome::Busy.without_run(),
        })
    }
}

fn unavailable(reason: &str) -> ScheduledRunResult {
    failed_run(format!("channel_unavailable: {reason}"))
}

fn failed_run(message: String) -> ScheduledRunResult {
    ScheduledRunOutcome::failed(message).without_run()
}
