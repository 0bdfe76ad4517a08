//! Reports of runs that failed for good, sent to the channel that is configured for failures.
//!
//! A report is accepted work of its own. Its row is written in the transaction that ends the failed run, so
//! no report is lost or made twice. A report that fails causes no further report.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use slog::Logger;
use svc_store::{NewTrace, TraceMode, TraceRepository, TraceStatus};
use uuid::Uuid;

use crate::ambiguity::wait_until_known;
use crate::input;
use crate::job::{Job, Runner};
use crate::queue::{JobQueue, QueuedJob};

/// Metadata key of a report; its value is the `trace_id` of the report. Callers cannot set it.
pub const FAILURE_OF: &str = "_svc_failure_of";

/// A report that is sent if the run fails for good.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// Name of the receiving channel.
    pub target: Arc<str>,
    /// Id of the failed work: of a submission the one that its submitter knows, of any other run its trace. `None` if no
    /// run began.
    pub trace_id: Option<Uuid>,
    /// Name of the channel of the run.
    pub channel: Arc<str>,
    /// Payload of the run.
    pub data: Value,
}

impl FailureReport {
    /// Returns the name of the channel that gets the report of a job; `None` for a job that is itself a
    /// report.
    pub(crate) fn find_target<'r>(job: &Job, runner: &'r dyn Runner) -> BoxFuture<'r, Option<Arc<str>>> {
        if job.metadata.contains_key(FAILURE_OF) {
            return Box::pin(std::future::ready(None));
        }
        runner.on_failure(job.channel_id.clone(), Arc::clone(&job.channel))
    }

    /// Creates the report of a job, which is a later attempt at the work `attempt_of` or the first at its own.
    pub(crate) fn for_job(job: &Job, attempt_of: Option<Uuid>, target: Arc<str>) -> Self {
        Self {
            target,
            trace_id: Some(attempt_of.unwrap_or(job.trace_id)),
            channel: Arc::clone(&job.channel),
            data: job.payload.clone(),
        }
    }

    /// Returns the job that delivers the report.
    pub(crate) fn into_job(self, error: &str) -> Job {
        let (id, failed) = (svc_model::id::new_ordered_id(), self.trace_id.map(|id| id.to_string()));
        let metadata = json!({
            "channel": &*self.target,
            "run": {"key": id.to_string()},
            FAILURE_OF: failed,
        });
        Job {
            trace_id: id,
            channel_id: None,
            channel: self.target,
            payload: json!({"trace_id": failed, "channel": &*self.channel, "error": error, "data": self.data}),
            metadata: if let Value::Object(metadata) = metadata { metadata } else { Map::new() },
            bucket: None,
            hold: None,
            attempt: None,
            trace_headers: BTreeMap::new(),
        }
    }
}

/// Returns the row of a report.
pub(crate) fn row(job: &Job, owner: Option<Arc<str>>) -> serde_json::Result<NewTrace> {
    Ok(NewTrace {
        input_json: Some(input::write(job, 0)?),
        owner,
        ..NewTrace::new(job.trace_id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
    })
}

/// A report whose row is written by the caller that ends the failed run.
pub struct PreparedReport {
    row: NewTrace,
    /// The job with its reserved slot. Without one, the row is taken over like the work of another node.
    queued: Option<QueuedJob>,
    waiting: Arc<JobQueue>,
    traces: TraceRepository,
    log: Logger,
}

impl fmt::Debug for PreparedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedReport")
            .field("row", &self.row)
            .field("queued", &self.queued)
            .finish_non_exhaustive()
    }
}

impl PreparedReport {
    pub(crate) const fn new(
        row: NewTrace,
        queued: Option<QueuedJob>,
        waiting: Arc<JobQueue>,
        traces: TraceRepository,
        log: Logger,
    ) -> Self {
        Self { row, queued, waiting, traces, log }
    }

    /// Returns the row, to be written in the transaction that ends the failed run.
    pub const fn row(&self) -> &NewTrace {
        &self.row
    }

    /// Queues the report, once its row is on disk.
    pub fn begin(self) {
        if let Some(queued) = self.queued {
            self.waiting.push(queued);
        }
    }

    /// Queues the report if its row is on disk, after a commit without an answer. Returns whether it is; waits
    /// until the database says so.
    pub async fn begin_if_stored(self) -> bool {
        let is_stored = wait_until_known(&self.traces, self.row.id, &self.log).await;
        if is_stored {
            self.begin();
        }
        is_stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_tells_what_failed_with_what_and_marks_itself() {
        let (target, channel): (Arc<str>, Arc<str>) = ("alerts".into(), "orders".into());
        let report = FailureReport { target, trace_id: Some(Uuid::nil()), channel, data: json!({"n": 1}) };
        let job = report.into_job("it broke");
        let failed = Uuid::nil().to_string();
        assert_eq!(
            job.payload,
            json!({"trace_id": failed, "channel": "orders", "error": "it broke", "data": {"n": 1}})
        );
        assert_eq!((&*job.channel, &job.metadata[FAILURE_OF]), ("alerts", &json!(failed)));
        assert_eq!(job.metadata["run"]["key"], job.trace_id.to_string());
    }
}
