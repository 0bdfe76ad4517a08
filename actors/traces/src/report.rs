//! Reports of runs that failed for good, to the channel that is named for them.
//!
//! A report is accepted work of its own: its row is written in the transaction that ends the failed run, so that none
//! is lost and none is made twice. A report that fails leads to no other one.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_store::{NewTrace, TraceMode, TraceStatus};
use uuid::Uuid;

use crate::input;
use crate::job::{Job, Runner};
use crate::queue::{JobQueue, QueuedJob};

/// The key of the metadata of a report; its value is the trace of the failed run. Callers cannot bring it.
pub const FAILURE_OF: &str = "_svc_failure_of";

/// A report that is sent if the run fails for good.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// Name of the channel that gets it.
    pub target: Arc<str>,
    /// The trace of the run.
    pub trace_id: Uuid,
    /// Name of its channel.
    pub channel: Arc<str>,
    /// The payload of the run.
    pub data: Value,
}

impl FailureReport {
    /// The report of a job, where its channel names somebody and the job is no report itself.
    pub(crate) fn for_job(job: &Job, runner: &dyn Runner) -> Option<Self> {
        if job.metadata.contains_key(FAILURE_OF) {
            return None;
        }
        let target = runner.on_failure(job)?;
        Some(Self {
            target,
            trace_id: job.trace_id,
            channel: Arc::clone(&job.channel),
            data: job.payload.clone(),
        })
    }

    /// The job that brings it.
    pub(crate) fn into_job(self, error: &str) -> Job {
        let (id, failed) = (svc_model::id::new_ordered_id(), self.trace_id.to_string());
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
        }
    }
}

/// The row of a report.
pub(crate) fn row(job: &Job, owner: Option<Arc<str>>) -> serde_json::Result<NewTrace> {
    Ok(NewTrace {
        input_json: Some(input::write(job, 0)?),
        owner,
        ..NewTrace::new(job.trace_id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
    })
}

/// A report whose row is still to be written, by who ends the failed run.
#[derive(Debug)]
pub struct PreparedReport {
    row: NewTrace,
    /// Its place in line; without one the row is taken up like work that another node left.
    queued: Option<QueuedJob>,
    waiting: Arc<JobQueue>,
}

impl PreparedReport {
    pub(crate) const fn new(row: NewTrace, queued: Option<QueuedJob>, waiting: Arc<JobQueue>) -> Self {
        Self { row, queued, waiting }
    }

    /// The row, to be written in the transaction that ends the failed run.
    pub const fn row(&self) -> &NewTrace {
        &self.row
    }

    /// Puts the report in line, once its row is on disk.
    pub fn begin(self) {
        if let Some(queued) = self.queued {
            self.waiting.push(queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_tells_what_failed_with_what_and_marks_itself() {
        let (target, channel): (Arc<str>, Arc<str>) = ("alerts".into(), "orders".into());
        let report = FailureReport { target, trace_id: Uuid::nil(), channel, data: json!({"n": 1}) };
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
