//! A job from the start of its run until its outcome is written.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::claim::JobClaim;
use crate::job::JobFailure;
use crate::queue::QueueSlot;
use crate::report::FailureReport;
use crate::worker::state::{AttemptOutcome, JobAttempt};
use crate::worker::{StopSignal, StopStage, WorkerShared};

/// The possessions of a job that runs or has run.
pub(crate) struct StartedJob {
    pub(super) attempt: JobAttempt,
    /// Id and name of the channel.
    pub(super) channel: (Option<Arc<str>>, Arc<str>),
    /// Keeps the bytes of the job reserved until its outcome is on disk.
    pub(super) slot: Option<QueueSlot>,
    /// The report that is sent if the job fails for good.
    pub(super) report: Option<FailureReport>,
    /// Includes the turn of a job that is suspected of crashing its node.
    pub(super) claim: JobClaim,
    /// The room of the job at its worker.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// A run that has ended and is not written yet.
pub(crate) struct FinishedJob {
    pub(super) job: StartedJob,
    pub(super) verdict: AttemptOutcome,
}

/// A job whose outcome is not written yet. If it is dropped, because its thread has ended or its task has panicked, it
/// is passed on to be written elsewhere: as failed if the run has not ended. On shutdown its row stays unfinished.
pub(crate) struct RunningJob {
    job: Option<StartedJob>,
    verdict: Option<AttemptOutcome>,
    orphans: mpsc::UnboundedSender<FinishedJob>,
    stop: Arc<StopSignal>,
}

impl RunningJob {
    pub(super) const fn new(
        job: StartedJob,
        orphans: mpsc::UnboundedSender<FinishedJob>,
        stop: Arc<StopSignal>,
    ) -> Self {
        Self { job: Some(job), verdict: None, orphans, stop }
    }

    /// Ends the run with an outcome.
    pub(super) fn end(mut self, verdict: AttemptOutcome) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Writes the outcome of the run.
    pub(super) async fn write(mut self, shared: &WorkerShared) {
        if let (Some(job), Some(verdict)) = (&mut self.job, &mut self.verdict) {
            shared.write(job, verdict).await;
        }
        self.job = None;
    }

    /// Returns the job, whose run has no outcome to write.
    pub(super) fn give_back(mut self) -> Option<StartedJob> {
        self.job.take()
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let Some(job) = self.job.take().filter(|_| !self.stop.has_reached(StopStage::Ending)) else { return };
        let cut_off = || {
            let failure = JobFailure::transient("the run was cut off by the end of its thread");
            AttemptOutcome::Failed(job.attempt.failure(failure))
        };
        let verdict = self.verdict.take().unwrap_or_else(cut_off);
        // The receiver is gone only when the process ends; the row stays unfinished.
        let _ended = self.orphans.send(FinishedJob { job, verdict });
    }
}
