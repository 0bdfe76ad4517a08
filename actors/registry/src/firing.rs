//! The registry as schedules see it: it finds a worker to run a channel on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_supervision::CallErrorKind;
use svc_channels::{CompiledChannel, RunScheduled, ScheduledRun, ScheduledRunOutcome, ScheduledRunResult};
use svc_model::ErrorReason;
use svc_traces::{FailureReport, PreparedReport};
use uuid::Uuid;

use crate::handle::{MAX_DISPATCHES, Registry};
use crate::snapshot::LoadedChannel;

impl Registry {
    /// Prepares the report of a scheduled run that failed, where its channel names somebody who is told.
    pub fn prepare_report(
        &self,
        definition: &CompiledChannel,
        trace_id: Uuid,
        error: &str,
    ) -> Option<PreparedReport> {
        let (traces, target) = (self.shared.services.traces.as_ref()?, definition.on_failure()?);
        let report = FailureReport {
            target: Arc::clone(target),
            trace_id,
            channel: definition.name().into(),
            data: definition.cron()?.payload.clone(),
        };
        traces.prepare_report(report, error)
    }

    /// Runs a channel of a schedule on the next worker. Dropping the future drops the run.
    ///
    /// Where nothing ran because the channel has no room for it now, or its actors are on their way out, the answer is
    /// [`ScheduledRunOutcome::Busy`].
    pub async fn run_scheduled(
        &self,
        entry: &Arc<LoadedChannel>,
        firing: ScheduledRun,
    ) -> ScheduledRunResult {
        let metrics = &self.shared.services.metrics;
        let turn = self.next_worker.fetch_add(1, Ordering::Relaxed);
        let mut entry = Arc::clone(entry);
        let mut message = RunScheduled(firing);
        for offer in 0..MAX_DISPATCHES {
            if let Some(quarantine) = entry.quarantine() {
                metrics.count_error(ErrorReason::ChannelQuarantined);
                return unavailable(&quarantine.reason);
            }
            let Ok(actor) = entry.actor_after(None, turn.wrapping_add(offer)) else { return busy() };
            let error = match actor.ask(message).await {
                Ok(fired) => return fired,
                Err(error) => error,
            };
            match (error.kind, error.message) {
                (CallErrorKind::Draining | CallErrorKind::Stopped, Some(again)) => message = again,
                (CallErrorKind::Quarantined { reason }, _) => {
                    metrics.count_error(ErrorReason::ChannelQuarantined);
                    return unavailable(&reason);
                }
                (_, Some(_)) => return busy(),
                (_, None) => {
                    metrics.count_error(ErrorReason::Panic);
                    return failed("the run ended unexpectedly".to_owned());
                }
            }
            match self.snapshot().channel_by_id(entry.id()) {
                Some(newer) => entry = Arc::clone(newer),
                None => return unavailable("it is no longer active"),
            }
        }
        busy()
    }
}

fn unavailable(reason: &str) -> ScheduledRunResult {
    failed(format!("channel_unavailable: {reason}"))
}

fn failed(message: String) -> ScheduledRunResult {
    ended(ScheduledRunOutcome::Failed { message })
}

fn busy() -> ScheduledRunResult {
    ended(ScheduledRunOutcome::Busy)
}

fn ended(ended: ScheduledRunOutcome) -> ScheduledRunResult {
    ended.without_run()
}
