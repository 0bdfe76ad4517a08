//! Acceptance of several jobs in one transaction: all or none.

use std::sync::Arc;

use slog::warn;
use svc_model::{Code, ErrorReason, ServiceError};
use svc_store::{NewTrace, Outage, StoreError};
use tokio::time::timeout;

use super::room::{ReservedRoom, no_room};
use super::terms::JobTerms;
use crate::ambiguity::wait_until_known;
use crate::claim::JobClaim;
use crate::handle::{HOLD_BACK, Submission, Traces};
use crate::job::Job;
use crate::queue::{JobQueue, QueueRejection, QueuedJob};
use crate::shared::TracesShared;
use crate::submission::{self, AcceptedJob, SubmitError};
use crate::token;

/// A job that is accepted together with others.
#[derive(Debug)]
pub struct BatchedJob {
    pub job: Job,
    /// The terms on which it waits; `None` for one that may run at once.
    pub terms: Option<JobTerms>,
}

/// Jobs with all that they need to begin once their rows are on disk. Dropping it gives their room back.
#[derive(Default)]
struct PendingBatch {
    accepted: Vec<AcceptedJob>,
    queued: Vec<QueuedJob>,
    rooms: Vec<ReservedRoom>,
}

impl PendingBatch {
    /// Has the jobs run, whose rows are on disk.
    fn begin(self, queue: &JobQueue) -> Vec<AcceptedJob> {
        for queued in self.queued {
            queue.push(queued);
        }
        for room in self.rooms {
            room.confirm();
        }
        self.accepted
    }
}

impl Traces {
    /// Accepts jobs. When this returns, the rows of all are on disk, written in one transaction, and this process or
    /// another one will run them. `request_id` is the correlation id of the request that brought them. Delays its
    /// answer as [`submit`](Self::submit) does, and is not cancel-safe either.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and 413 in [`SubmitError::Shed`] for more jobs than the queue has places; none of
    /// the jobs is accepted then.
    pub async fn submit_batch(
        &self,
        jobs: Vec<BatchedJob>,
        request_id: Option<&str>,
    ) -> Result<Vec<AcceptedJob>, SubmitError> {
        let TracesShared { waiting, traces, settings, .. } = &*self.shared;
        let places = settings.queue.buffer_size;
        if jobs.iter().filter(|job| job.terms.is_none()).count() > places {
            let message = format!("The batch has more events than the queue has places ({places})");
            return Err(SubmitError::Shed(ServiceError::new(Code::PayloadTooLarge, message)));
        }
        let (mut batch, mut rows) = (PendingBatch::default(), Vec::with_capacity(jobs.len()));
        for BatchedJob { job, terms } in jobs {
            rows.push(match terms {
                None => self.queue_job(job, request_id, &mut batch)?,
                Some(terms) => {
                    let row = self.have_wait(job, terms, &mut batch).await?;
                    NewTrace { request_id: request_id.map(str::to_owned), ..row }
                }
            });
        }
        if rows.is_empty() {
            return Ok(batch.accepted);
        }
        let written = traces.insert_together(rows).await;
        let accepted = match written.inspect_err(|_| settings.errors.tell(ErrorReason::Storage)) {
            Ok(()) => batch.begin(waiting),
            Err(StoreError::Unanswered(outage)) => self.settle_batch(batch, outage).await?,
            Err(refused) => return Err(SubmitError::Unwritten(refused.into())),
        };
        // The jobs are accepted whether the queue calmed down or the time ran out.
        let _calm = timeout(HOLD_BACK, waiting.slots.wait_until_calm()).await;
        Ok(accepted)
    }

    /// Takes a place in the queue for a job, and returns its row.
    fn queue_job(
        &self,
        job: Job,
        request_id: Option<&str>,
        batch: &mut PendingBatch,
    ) -> Result<NewTrace, SubmitError> {
        let Submission { row, owner, slot, token } = self.prepare(&job, request_id)?;
        batch.accepted.push(AcceptedJob { trace_id: job.trace_id, trace_token: token });
        batch.queued.push(QueuedJob::new(job, slot, 0, JobClaim::for_accepted(owner)));
        Ok(row)
    }

    /// Takes room among the waiting rows for a job, and returns its row.
    async fn have_wait(
        &self,
        job: Job,
        terms: JobTerms,
        batch: &mut PendingBatch,
    ) -> Result<NewTrace, SubmitError> {
        let TracesShared { waiting, traces, tally, metrics, .. } = &*self.shared;
        if !waiting.slots.is_open() {
            return Err(self.refuse(QueueRejection::Closed));
        }
        let input = submission::write_input(&job)?;
        let most = terms.max_waiting;
        let terms = terms.into_wait();
        let (reason, channel) = (terms.reason, job.channel_id.as_deref().unwrap_or_default());
        let Some(room) = ReservedRoom::take(tally, traces, (channel, reason), most).await else {
            metrics.record_rejection("waiting");
            return Err(SubmitError::Shed(no_room()));
        };
        batch.rooms.push(room);
        let token = token::make();
        let row = NewTrace {
            status: reason.status(),
            wait: Some(Box::new(terms)),
            ..submission::accepted_row(&job, None, input, &token)
        };
        batch.accepted.push(AcceptedJob { trace_id: job.trace_id, trace_token: token });
        Ok(row)
    }

    /// Resolves a write whose answer was lost. The rows are of one transaction, so that the first is on disk if all
    /// are. The jobs keep their room until the database answers.
    async fn settle_batch(
        &self,
        batch: PendingBatch,
        outage: Outage,
    ) -> Result<Vec<AcceptedJob>, SubmitError> {
        let failed = SubmitError::Failed(StoreError::Unanswered(outage).into());
        let Some(first) = batch.accepted.first().map(|job| job.trace_id) else { return Err(failed) };
        match self.shared.traces.is_stored(first).await {
            Ok(true) => return Ok(batch.begin(&self.shared.waiting)),
            Ok(false) => {}
            Err(error) => {
                warn!(self.shared.log, "jobs may have been accepted"; "trace_id" => %first, "error" => %error);
                let shared = Arc::clone(&self.shared);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the caller is told at once; the rows are the truth"
                )]
                tokio::spawn(async move {
                    if wait_until_known(&shared.traces, first, &shared.log).await {
                        batch.begin(&shared.waiting);
                    }
                });
            }
        }
        Err(failed)
    }
}
