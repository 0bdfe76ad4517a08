//! The registry as the queue of accepted jobs sees it: it finds the channel of a job and a worker to run it on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_supervision::CallErrorKind;
use futures_util::future::BoxFuture;
use svc_channels::{RunJob, refusal};
use svc_model::ErrorReason;
use svc_traces::{Job, JobFailure, JobOutcome, JobResult, Runner};

use crate::handle::{MAX_DISPATCHES, Registry};
use crate::resolve;
use crate::snapshot::{LoadedChannel, Snapshot};

impl Runner for Registry {
    fn run(&self, job: Job, limit: Duration) -> BoxFuture<'static, JobResult> {
        let registry = self.clone();
        Box::pin(async move { registry.perform(job, limit).await })
    }

    fn on_failure(&self, job: &Job) -> Option<Arc<str>> {
        self.channel_of(job)?.compiled()?.on_failure().cloned()
    }

    fn is_available(&self, channel: &str) -> bool {
        let snapshot = self.snapshot();
        // One that is gone has nothing to wait for.
        snapshot.channel_by_name(channel).is_none_or(|entry| {
            entry.quarantine().is_none() && self.unreadable_secret(&snapshot, entry).is_none()
        })
    }
}

impl Registry {
    /// Runs a job on the next worker. An actor on its way out hands the job back, and so does one that cannot take
    /// more: nothing ran then.
    async fn perform(&self, job: Job, limit: Duration) -> JobResult {
        let metrics = &self.shared.services.metrics;
        let turn = self.next_worker.fetch_add(1, Ordering::Relaxed);
        let mut run = RunJob { job, limit };
        for offer in 0..MAX_DISPATCHES {
            let Some(entry) = self.channel_of(&run.job) else {
                metrics.count_lost_job(None);
                return failed(resolve::unknown(&run.job.channel).message());
            };
            if let Some(quarantine) = entry.quarantine() {
                metrics.count_error(ErrorReason::ChannelQuarantined);
                metrics.count_lost_job(Some(entry.name()));
                slog::warn!(self.shared.services.log, "job of a quarantined channel became a dead letter";
                    "channel" => entry.name(), "trace_id" => %run.job.trace_id, "reason" => &*quarantine.reason);
                return unavailable(refusal::UNAVAILABLE);
            }
            if let Some(of_what) = self.unreadable_secret(&self.snapshot(), &entry) {
                return unavailable(&format!("Channel '{}' waits for a secret: {of_what}", entry.name()));
            }
            let Ok(actor) = entry.actor_after(None, turn.wrapping_add(offer)) else { return busy(run.job) };
            let error = match actor.ask(run).await {
                Ok(completed) => return completed,
                Err(error) => error,
            };
            if error.kind == CallErrorKind::Crashed {
                metrics.count_error(ErrorReason::Panic);
            }
            let refused = refusal::from_call_error(entry.name(), &error);
            match (error.kind, error.message) {
                (CallErrorKind::Draining | CallErrorKind::Stopped, Some(again)) => run = again,
                (CallErrorKind::Full | CallErrorKind::Restarting { .. }, Some(again)) => {
                    return busy(again.job);
                }
                (CallErrorKind::Quarantined { .. }, Some(_)) => return unavailable(refused.message()),
                _ => return failed(refused.message()),
            }
        }
        busy(run.job)
    }

    /// Returns a secret reference of the channel's workflow, or a connector of it, that the secret store had no value for:
    /// tasks would fail for no fault of the job.
    fn unreadable_secret(&self, snapshot: &Snapshot, entry: &LoadedChannel) -> Option<String> {
        let workflow = snapshot.workflows.get(entry.row.content.workflow_id.as_deref()?)?;
        let connectors = self.shared.services.connectors.as_ref();
        workflow.versions.iter().find_map(|version| {
            let lacks = |name: &&String| connectors.is_some_and(|connectors| connectors.lacks_secrets(name));
            let connector =
                || version.connectors.iter().find(lacks).map(|name| format!("connector '{name}'"));
            version.used_secrets.unreadable.clone().or_else(connector)
        })
    }

    /// By id; a dead letter, and a job whose channel was made anew, by name.
    fn channel_of(&self, job: &Job) -> Option<Arc<LoadedChannel>> {
        let snapshot = self.snapshot();
        let by_id = job.channel_id.as_deref().and_then(|id| snapshot.channel_by_id(id));
        by_id.or_else(|| snapshot.channel_by_name(&job.channel)).cloned()
    }
}

fn failed(message: &str) -> JobResult {
    JobResult::bare(JobOutcome::Failed(JobFailure::transient(message)), Duration::ZERO)
}

fn unavailable(message: &str) -> JobResult {
    let ended = JobOutcome::Unavailable { message: message.to_owned() };
    JobResult::bare(ended, Duration::ZERO)
}

fn busy(job: Job) -> JobResult {
    JobResult::bare(JobOutcome::Busy(Box::new(job)), Duration::ZERO)
}
