//! A job from the start of its run until its outcome is written.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::claim::JobClaim;
use crate::job::JobFailure;
use crate::queue::QueueSlot;
use crate::report::FailureReport;
use crate::worker::state::{AttemptOutcome, JobAttempt};
use crate::worker::{StopSignal, StopStage};

/// The possessions of a job that runs or has run.
pub(crate) struct StartedJob {
    pub(super) attempt: JobAttempt,
    /// Keeps the bytes of the job reserved until its outcome is on disk.
    pub(super) slot: QueueSlot,
    /// The report that is sent if the job fails for good.
    pub(super) report: Option<FailureReport>,
    /// Includes the turn of a job that is suspected of crashing its node.
    pub(super) claim: JobClaim,
    /// The room of the job at its worker.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// A run that has ended and is not written yet.
pub(crate) struct FinishedJob {
    pub(super) job: StartedJob,
    pub(super) verdict: AttemptOutcome,
}

/// A job that runs. If it is dropped without an outcome, because its thread has ended or its task has panicked, the
/// run has failed; on shutdown its row stays unfinished.
pub(super) struct RunningJob {
    job: Option<StartedJob>,
    finished: mpsc::UnboundedSender<FinishedJob>,
    stop: Arc<StopSignal>,
}

impl RunningJob {
    pub(super) const fn new(
        job: StartedJob,
        finished: mpsc::UnboundedSender<FinishedJob>,
        stop: Arc<StopSignal>,
    ) -> Self {
        Self { job: Some(job), finished, stop }
    }

    /// Passes the outcome on to be written.
    pub(super) fn finish(mut self, verdict: AttemptOutcome) {
        self.send(verdict);
    }

    /// Returns the job, whose run has no outcome to write.
    pub(super) fn give_back(mut self) -> Option<StartedJob> {
        self.job.take()
    }

    fn send(&mut self, verdict: AttemptOutcome) {
        if let Some(job) = self.job.take() {
            // The receiver is gone only when the process ends; the row stays unfinished.
            let _ended = self.finished.send(FinishedJob { job, verdict });
        }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let Some(job) = self.job.as_ref().filter(|_| !self.stop.has_reached(StopStage::Ending)) else {
            return;
        };
        let failure = JobFailure::transient("the run was cut off by the end of its thread");
        self.send(AttemptOutcome::Failed(job.attempt.failure(failure)));
    }
}
