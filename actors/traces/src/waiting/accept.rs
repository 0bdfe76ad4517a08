//! Acceptance of work that may not run yet.

use svc_model::ErrorReason;
use svc_store::{NewTrace, StoreError};

use super::room::no_room;
use super::terms::JobTerms;
use crate::handle::Traces;
use crate::job::Job;
use crate::queue::QueueRejection;
use crate::shared::TracesShared;
use crate::submission::{self, AcceptedJob, SubmitError};
use crate::token;

impl Traces {
    /// Accepts a job that may not run yet. When this returns, its row is on disk, belongs to no node, and takes no place
    /// in the queue of this process; the node that claims it once it may run acquires its permit then.
    ///
    /// # Errors
    /// - [`SubmitError::Shed`], 503: as much waits as may wait, of its channel or of the service, or the queue is
    ///   closed.
    /// - [`SubmitError::Unwritten`], with the error of the database, or because the row could not be made.
    /// - [`SubmitError::Failed`]: the answer of the database was lost.
    pub async fn submit_waiting(
        &self,
        job: Job,
        terms: JobTerms,
        request_id: Option<&str>,
    ) -> Result<AcceptedJob, SubmitError> {
        let TracesShared { waiting, traces, tally, settings, metrics, .. } = &*self.shared;
        if !waiting.slots.is_open() {
            return Err(self.refuse(QueueRejection::Closed));
        }
        let input = submission::write_input(&job)?;
        let most = terms.max_waiting;
        let terms = terms.into_wait();
        let (reason, channel) = (terms.reason, job.channel_id.as_deref().unwrap_or_default());
        if !tally.reserve(traces, (channel, reason), most).await {
            metrics.record_rejection("waiting");
            return Err(SubmitError::Shed(no_room()));
        }
        let (id, token) = (job.trace_id, token::make());
        let row = NewTrace {
            status: reason.status(),
            wait: Some(Box::new(terms)),
            ..submission::accepted_row(&job, request_id, input, &token)
        };
        match traces.insert(row).await {
            Ok(()) => {}
            // A row on disk is accepted work; if that stays unknown, it may run nevertheless.
            Err(StoreError::Unanswered(_)) if traces.is_stored(id).await.unwrap_or(false) => {}
            Err(error) => {
                settings.errors.tell(ErrorReason::Storage);
                tally.release(channel, reason);
                return Err(match error {
                    StoreError::Unanswered(_) => SubmitError::Failed(error.into()),
                    unwritten => SubmitError::Unwritten(unwritten.into()),
                });
            }
        }
        tally.confirm(channel, reason);
        Ok(AcceptedJob { trace_id: id, trace_token: token })
    }

    /// Has the work claimed that may run now, and the retries made that are due, because a channel was resumed.
    pub fn look_for_waiting_work(&self) {
        self.shared.tally.wake_resumed();
        self.look_for_dead_letters();
    }
}
