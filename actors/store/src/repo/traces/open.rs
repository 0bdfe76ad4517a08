//! The row of a run that begins before its row is on disk: accepted work that may end before it is written.

use std::sync::OnceLock;
use std::time::Duration;

use chrono::NaiveDateTime;
use parking_lot::Mutex;
use svc_model::{Timestamp, WorkflowVersion};

use crate::group::MOST_BYTES as MOST_GROUP_BYTES;
use crate::repo::traces::{NewTrace, TraceEnd, TraceStatus};
use crate::writer::MOST_ROWS;

/// Most bytes of an end that is written with its row. The writer counts the bytes of the row alone: the ends of as many
/// rows as one transaction takes are no larger than what it takes otherwise.
const MOST_BYTES: usize = MOST_GROUP_BYTES / MOST_ROWS;

/// A row to be written whose run has begun. An end that comes before a transaction takes the row is written with it, so
/// that the run costs one write.
#[derive(Debug)]
pub struct OpenTrace {
    row: NewTrace,
    end: Mutex<OpenEnd>,
    taken: OnceLock<Option<(TraceEnd, NaiveDateTime)>>,
}

/// The end of the run of a row that is not written yet.
#[derive(Debug)]
enum OpenEnd {
    Running,
    Ended(Box<(TraceEnd, NaiveDateTime)>),
    /// A transaction has taken the row: an end is a change of its own.
    Taken,
}

impl OpenTrace {
    /// Opens a pending row.
    pub const fn new(row: NewTrace) -> Self {
        Self { row, end: Mutex::new(OpenEnd::Running), taken: OnceLock::new() }
    }

    /// Ends the run, so that its row is written as it ended. Returns `false` if a transaction has taken the row, or if
    /// the end is not one of success or too large: then it is for the caller to write, after the row.
    pub fn end(&self, end: &TraceEnd) -> bool {
        // The columns of failures are those of the row.
        let has_failed = end.status != TraceStatus::Completed || end.error_group.is_some();
        if has_failed || end.bytes() > MOST_BYTES {
            return false;
        }
        let mut open = self.end.lock();
        let is_open = matches!(*open, OpenEnd::Running);
        if is_open {
            *open = OpenEnd::Ended(Box::new((end.clone(), Timestamp::now().naive())));
        }
        is_open
    }

    /// Returns the bytes of the row.
    pub(super) fn bytes(&self) -> usize {
        self.row.bytes()
    }

    /// Takes the row for a transaction; every attempt at it writes the same.
    pub(super) fn take(&self) -> InsertedTrace<'_> {
        let end = self.taken.get_or_init(|| match std::mem::replace(&mut *self.end.lock(), OpenEnd::Taken) {
            OpenEnd::Ended(end) => Some(*end),
            OpenEnd::Running | OpenEnd::Taken => None,
        });
        InsertedTrace { row: &self.row, end: end.as_ref() }
    }
}

/// A row to insert, with the end of its run if that came before the row.
#[derive(Clone, Copy)]
pub(super) struct InsertedTrace<'a> {
    row: &'a NewTrace,
    end: Option<&'a (TraceEnd, NaiveDateTime)>,
}

impl<'a> InsertedTrace<'a> {
    /// Returns the row as it was given.
    pub(super) const fn row(self) -> &'a NewTrace {
        self.row
    }

    /// Returns `true` if the columns of failures, of accepted work and of exported spans are null.
    pub(super) const fn is_plain(self) -> bool {
        let NewTrace { error_message, error_code, error_group, .. } = self.row;
        let NewTrace { access_token_hash, owner, distributed_trace_id, .. } = self.row;
        error_message.is_none()
            && error_code.is_none()
            && error_group.is_none()
            && access_token_hash.is_none()
            && owner.is_none()
            && distributed_trace_id.is_none()
    }

    pub(super) fn status(self) -> TraceStatus {
        self.end.map_or(self.row.status, |(end, _)| end.status)
    }

    pub(super) fn result_json(self) -> Option<&'a str> {
        self.end.map_or(&self.row.result_json, |(end, _)| &end.result_json).as_deref()
    }

    pub(super) fn task_trace_json(self) -> Option<&'a str> {
        self.end.map_or(&self.row.task_trace_json, |(end, _)| &end.task_trace_json).as_deref()
    }

    pub(super) fn duration_ms(self) -> Option<f64> {
        self.end.map_or(self.row.duration_ms, |(end, _)| end.duration_ms)
    }

    pub(super) fn workflow(self) -> Option<&'a WorkflowVersion> {
        self.end.map_or(&self.row.workflow, |(end, _)| &end.workflow).as_ref()
    }

    pub(super) fn started_at(self) -> Option<NaiveDateTime> {
        self.end.map_or(self.row.started_at, |(end, completed_at)| {
            let took = Duration::try_from_secs_f64(end.duration_ms.unwrap_or_default() / 1000.0);
            let took = chrono::Duration::from_std(took.unwrap_or_default()).unwrap_or_default();
            completed_at.checked_sub_signed(took)
        })
    }

    pub(super) fn completed_at(self) -> Option<NaiveDateTime> {
        self.end.map_or(self.row.completed_at, |(_, completed_at)| Some(*completed_at))
    }
}

impl<'a> From<&'a NewTrace> for InsertedTrace<'a> {
    fn from(row: &'a NewTrace) -> Self {
        Self { row, end: None }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::repo::traces::TraceMode;

    fn open() -> OpenTrace {
        OpenTrace::new(NewTrace::new(Uuid::nil(), "c".into(), TraceMode::Async, TraceStatus::Pending))
    }

    fn end_with(result: &str) -> TraceEnd {
        TraceEnd {
            status: TraceStatus::Completed,
            result_json: Some(result.to_owned()),
            duration_ms: Some(1500.0),
            ..TraceEnd::cancelled(Uuid::nil(), None)
        }
    }

    #[test]
    fn end_before_the_transaction_is_inserted() {
        let (open, before) = (open(), Timestamp::now().naive());
        assert!(open.end(&end_with("1")) && !open.end(&end_with("2")), "the first end counts");
        let row = open.take();
        assert_eq!((row.status(), row.result_json()), (TraceStatus::Completed, Some("1")));
        let (started, completed) = (row.started_at().unwrap(), row.completed_at().unwrap());
        assert_eq!((completed - started).num_milliseconds(), 1500);
        assert!(completed >= before);
        assert_eq!(open.take().result_json(), Some("1"), "another attempt at the transaction");
    }

    #[test]
    fn end_after_the_transaction_is_left_to_caller() {
        let open = open();
        assert_eq!(open.take().status(), TraceStatus::Pending);
        assert!(!open.end(&end_with("1")));
        assert_eq!((open.take().status(), open.take().result_json()), (TraceStatus::Pending, None));
    }

    #[test]
    fn failure_and_large_result_are_left_to_caller() {
        let open = open();
        assert!(!open.end(&TraceEnd { status: TraceStatus::Failed, ..end_with("1") }));
        assert!(!open.end(&end_with(&"x".repeat(MOST_BYTES + 1))));
        assert!(open.end(&end_with("1")));
    }
}
