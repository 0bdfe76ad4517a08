//! Accepted jobs: the registry as the queue of the traces crate sees it.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_supervision::CallErrorKind;
use futures_util::future::BoxFuture;
use svc_channels::{CRASHED, PanicFlag, PinnedVersion, RunJob, refusal};
use svc_model::WorkflowVersion;
use svc_traces::{Job, JobFailure, JobKey, JobOutcome, JobResult, JobThread, QueueShares, Runner};
use uuid::Uuid;

use crate::dispatch::{DispatchError, FirstWorker};
use crate::handle::Registry;
use crate::ingress::failure_target;
use crate::ingress::pinned_versions::{PinError, requested_version};
use crate::resolve;
use crate::snapshot::{LoadedChannel, Snapshot};
use crate::worker::{WorkerId, WorkerThread};

impl Runner for Registry {
    fn run(&self, job: Job, limit: Duration, thread: Option<usize>) -> BoxFuture<'static, JobResult> {
        let registry = self.clone();
        Box::pin(async move {
            let asked = requested_version(&job.metadata).map(|version| (version, registry.channel_of(&job)));
            let pinned = match asked {
                None => None,
                Some((version, channel)) => match registry.pin_version(channel.as_deref(), &version).await {
                    Ok(pinned) => Some(pinned),
                    Err(PinError::Unusable(reason)) => return permanent(&reason),
                    Err(PinError::Unavailable(reason)) => return unavailable(&reason),
                },
            };
            registry.run_job(job, limit, pinned, thread.map(WorkerId)).await
        })
    }

    fn next_thread(&self) -> Option<JobThread> {
        let snapshot = self.snapshot();
        let turn = self.next_job_thread.fetch_add(1, Ordering::Relaxed);
        let WorkerThread { id, at } =
            snapshot.workers.get(turn.checked_rem(snapshot.workers.len())?)?.clone();
        Some(JobThread { id, at })
    }

    fn has_thread(&self, id: usize) -> bool {
        self.has_worker(WorkerId(id))
    }

    fn on_failure(&self, channel_id: Option<Arc<str>>, channel: Arc<str>) -> BoxFuture<'_, Option<Arc<str>>> {
        if let Some(entry) = self.find_channel(channel_id.as_deref(), &channel) {
            return Box::pin(ready(failure_target::target(&entry.row)));
        }
        Box::pin(async move {
            let row = self.stored_channel(channel_id.as_deref(), &channel).await?;
            failure_target::target(&row)
        })
    }

    fn is_paused(&self, channel_id: Option<&str>, channel: &str) -> bool {
        let snapshot = self.snapshot();
        // Also of a channel that is not active, or that another node serves.
        channel_id.is_some_and(|id| snapshot.pause_of(id).is_some())
            || self.find_channel(channel_id, channel).is_some_and(|entry| entry.pause().is_some())
    }

    fn find_id(&self, channel: &str) -> Option<Arc<str>> {
        self.find_channel(None, channel).map(|entry| Arc::clone(&entry.id))
    }

    fn serves(&self, channel_id: Option<&str>, channel: &str) -> bool {
        self.find_channel(channel_id, channel).is_some()
    }

    fn serves_every_channel(&self) -> bool {
        self.shared.filter.is_empty()
    }

    fn begins_unserved(&self, channel_id: Option<Arc<str>>, channel: Arc<str>) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.begins_work_of_unknown(channel_id.as_deref(), &channel).await })
    }

    fn note_failure(&self, channel_id: Option<Arc<str>>, channel: Arc<str>, run: Uuid) -> BoxFuture<'_, ()> {
        match self.find_channel(channel_id.as_deref(), &channel) {
            Some(entry) => Box::pin(async move { self.note_channel_failure(&entry, &run.to_string()).await }),
            None => Box::pin(ready(())),
        }
    }

    fn workflow_of(&self, job: JobKey<'_>) -> Option<WorkflowVersion> {
        let entry = self.find_channel(job.channel_id, job.channel)?;
        entry.compiled_channel()?.workflow_for(job.bucket, job.trace_id)
    }

    fn free_permits(&self, channel_id: Option<&str>, channel: &str) -> usize {
        let entry = self.find_channel(channel_id, channel);
        entry.and_then(|entry| entry.compiled_channel()?.free_permits()).unwrap_or(usize::MAX)
    }

    fn shares(&self, channel_id: &str) -> Option<QueueShares> {
        match self.snapshot().channel_by_id(channel_id) {
            Some(entry) => entry.compiled_channel().map(|compiled| compiled.queue_shares()),
            // Its work ends as that of an unknown channel.
            None => Some(QueueShares { channel_id: channel_id.to_owned(), ..QueueShares::default() }),
        }
    }

    fn max_waiting(&self, channel_id: &str) -> u64 {
        let snapshot = self.snapshot();
        let compiled = snapshot.channel_by_id(channel_id).and_then(|entry| entry.compiled_channel());
        compiled.map_or(u64::MAX, |compiled| compiled.max_waiting())
    }

    fn is_available(&self, channel: &str) -> bool {
        let snapshot = self.snapshot();
        match snapshot.channel_by_name(channel) {
            Some(entry) => {
                entry.quarantine().is_none()
                    && entry.pause().is_none()
                    && self.unreadable_secret(&snapshot, entry).is_none()
            }
            // A removed channel has nothing to wait for, that of another node has.
            None => self.admits(channel),
        }
    }
}

/// The reason why a job is not offered to an actor.
enum Obstacle {
    /// No active channel has the id or the name.
    NoChannel,
    /// The channel is paused.
    Paused(Arc<LoadedChannel>),
    /// The secret store had no value for a secret of the channel.
    Secret { channel: Arc<LoadedChannel>, secret: String },
}

impl Registry {
    /// Runs a job on the worker of the calling thread, or on the next one. The job is handed back as
    /// [`JobOutcome::Busy`] if nothing ran because no actor could take it.
    async fn run_job(
        &self,
        job: Job,
        limit: Duration,
        pinned: Option<PinnedVersion>,
        own: Option<WorkerId>,
    ) -> JobResult {
        let offset = match own {
            Some(_) => 0,
            None => self.next_worker.fetch_add(1, Ordering::Relaxed),
        };
        let find = |message: &RunJob, _| {
            let channel = self.channel_of(&message.job).ok_or(Obstacle::NoChannel)?;
            if channel.quarantine().is_none() && channel.pause().is_some() {
                return Err(Obstacle::Paused(channel));
            }
            match self.unreadable_secret(&self.snapshot(), &channel) {
                Some(secret) if channel.quarantine().is_none() => Err(Obstacle::Secret { channel, secret }),
                _ => Ok(channel),
            }
        };
        let panicked = PanicFlag::default();
        let message = RunJob { job, limit, pinned, panicked: panicked.clone() };
        match self.dispatch(FirstWorker { own, offset }, message, find).await {
            Ok(completed) => completed,
            Err(error) => self.result_without_run(error, &panicked),
        }
    }

    /// Returns the result of a job that no actor ran to its end.
    fn result_without_run(&self, error: DispatchError<RunJob, Obstacle>, panicked: &PanicFlag) -> JobResult {
        let services = &self.shared.services;
        match error {
            DispatchError::NotFound { error: Obstacle::NoChannel, message } => {
                services.metrics.count_lost_job(None);
                self.warn_of_lost_report(&message.job);
                failed_result(resolve::unknown(&message.job.channel).message())
            }
            DispatchError::NotFound { error: Obstacle::Paused(channel), .. } => {
                let message = format!("channel '{}' is paused", channel.name());
                let channel_id = Arc::clone(&channel.id);
                JobResult::bare(JobOutcome::Paused { message, channel_id }, Duration::ZERO)
            }
            DispatchError::NotFound { error: Obstacle::Secret { channel, secret }, .. } => {
                unavailable(&format!("Channel '{}' waits for a secret: {secret}", channel.name()))
            }
            DispatchError::Quarantined { channel, reason, message } => {
                services.metrics.count_lost_job(Some(channel.name()));
                let trace_id = message.map(|message| message.job.trace_id.to_string());
                slog::warn!(services.log, "job of a quarantined channel became a dead letter";
                    "channel" => channel.name(), "trace_id" => trace_id, "reason" => &*reason);
                unavailable(refusal::UNAVAILABLE)
            }
            DispatchError::NoWorker { message, .. } | DispatchError::Rejected { message, .. } => {
                busy(message.job)
            }
            DispatchError::Failed { channel, error } => {
                let refused = refusal::from_call_error(channel.name(), &error);
                match (error.kind, error.message) {
                    (CallErrorKind::Full | CallErrorKind::Restarting { .. }, Some(message)) => {
                        busy(message.job)
                    }
                    // What panicked is defective, and would panic again over the same message.
                    _ if panicked.is_raised() => permanent(CRASHED),
                    _ => failed_result(refused.message()),
                }
            }
        }
    }

    /// Returns a secret reference of the channel's workflow, or a connector of it, for which the secret store had no value:
    /// the tasks of the job would fail.
    pub(crate) fn unreadable_secret(&self, snapshot: &Snapshot, entry: &LoadedChannel) -> Option<String> {
        let workflow = snapshot.workflows.get(entry.row.content.workflow_id.as_deref()?)?;
        let connectors = self.shared.services.connectors.as_ref();
        workflow.versions.iter().find_map(|version| {
            let lacks = |name: &&String| connectors.is_some_and(|connectors| connectors.lacks_secrets(name));
            let connector =
                || version.connectors.iter().find(lacks).map(|name| format!("connector '{name}'"));
            version.used_secrets.unreadable.clone().or_else(connector)
        })
    }

    /// Finds the channel of a job by id, or by name: for a dead letter, and for a job whose channel was created again.
    fn channel_of(&self, job: &Job) -> Option<Arc<LoadedChannel>> {
        self.find_channel(job.channel_id.as_deref(), &job.channel)
    }

    fn find_channel(&self, id: Option<&str>, name: &str) -> Option<Arc<LoadedChannel>> {
        let snapshot = self.snapshot();
        let by_id = id.and_then(|id| snapshot.channel_by_id(id));
        by_id.or_else(|| snapshot.channel_by_name(name)).cloned()
    }
}

fn failed_result(message: &str) -> JobResult {
    JobResult::bare(JobOutcome::Failed(JobFailure::transient(message)), Duration::ZERO)
}

fn permanent(message: &str) -> JobResult {
    JobResult::bare(JobOutcome::Failed(JobFailure::permanent(message)), Duration::ZERO)
}

fn unavailable(message: &str) -> JobResult {
    let ended = JobOutcome::Unavailable { message: message.to_owned() };
    JobResult::bare(ended, Duration::ZERO)
}

fn busy(job: Job) -> JobResult {
    JobResult::bare(JobOutcome::Busy(Box::new(job)), Duration::ZERO)
}
