//! Actions on many rows as values: the action, its run, and the pages of a run.

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_model::Timestamp;

use crate::repo::operator_runs::OperatorRunState;
use crate::repo::traces::AcceptedRerun;
use crate::repo::words::words;

words! {
    /// A kind of rows that are acted on.
    BulkKind {
        /// Dead letters.
        DeadLetters = "dead_letters",
        /// Occurrences of schedules.
        Occurrences = "occurrences",
        /// Traces.
        Traces = "traces",
    }
}

words! {
    /// An action on each of many rows.
    BulkAction {
        /// Makes dead letters due at once, with all their retries again.
        Requeue = "requeue",
        /// Deletes dead letters.
        Purge = "purge",
        /// Makes another attempt at occurrences.
        Retry = "retry",
        /// Ends occurrences, or accepted work.
        Cancel = "cancel",
        /// Submits the inputs of ended runs again.
        Rerun = "rerun",
        /// Puts missed instants of a schedule on record.
        Backfill = "backfill",
    }
}

/// A row at which the action failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkError {
    /// Id of the row.
    pub id: String,
    /// The reason.
    pub message: String,
}

/// Maximum number of errors that a run keeps.
pub(super) const MOST_BULK_ERRORS: usize = 100;

/// A run that is to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBulkRun {
    /// The kind of the rows.
    pub kind: BulkKind,
    pub action: BulkAction,
    /// The words of the filter, with instants in place of times ago.
    pub filter: Map<String, Value>,
    /// Rows a second; 0 for no pace.
    pub rate_per_second: u32,
    /// Number of the rows that match.
    pub matched: i64,
    /// The instants of a backfill, ascending, in UTC.
    pub instants: Option<Vec<NaiveDateTime>>,
    /// The principal that starts it.
    pub started_by: String,
}

/// A run of an action on many rows.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkRun {
    pub id: String,
    /// The kind of the rows.
    pub kind: String,
    pub action: String,
    /// The words of the filter; of a backfill those of its request.
    pub filter: Map<String, Value>,
    /// Rows a second; 0 for no pace.
    pub rate_per_second: i64,
    pub state: String,
    /// Number of the rows that matched.
    pub matched: i64,
    /// Number of the rows on which it acted.
    pub done: i64,
    /// Number of the rows at which it failed.
    pub failed: i64,
    /// Number of the rows that changed since they matched.
    pub skipped: i64,
    /// The first failures.
    pub errors: Vec<BulkError>,
    /// The reason of a run that failed.
    pub reason: Option<String>,
    /// The cursor of its next page; `None` for the first.
    pub position: Option<String>,
    /// The node that drives it.
    pub holder: Option<String>,
    /// The principal that started it.
    pub started_by: String,
    /// Its start by the clock of the database. It acts on rows that matched then.
    pub started_at: Timestamp,
    /// Its end.
    pub ended_at: Option<Timestamp>,
}

impl BulkRun {
    /// Returns the state, if this program knows it.
    pub fn parsed_state(&self) -> Option<OperatorRunState> {
        OperatorRunState::parse(&self.state)
    }
}

/// Rows of a run that are acted on in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkPage {
    /// Their ids.
    pub ids: Vec<String>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// The result of a step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkStep {
    /// The page is done, and the run goes on.
    Continues {
        /// Rows on which it acted.
        done: usize,
        /// Its new position.
        position: Option<String>,
    },
    /// The run has ended.
    Ended {
        /// Rows on which the step acted.
        done: usize,
        /// The state in which it ended.
        state: OperatorRunState,
    },
    /// Another node drives the run, or it is at another position. Nothing was written.
    Lost,
}

/// The result of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedPage {
    /// The step of the run.
    pub step: BulkStep,
    /// The reruns that it accepted. They wait for a free worker.
    pub reruns: Vec<AcceptedRerun>,
}

/// The results of an action on the rows of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::repo) struct RowResults {
    pub(in crate::repo) done: usize,
    pub(in crate::repo) skipped: usize,
    pub(in crate::repo) errors: Vec<BulkError>,
    pub(in crate::repo) reruns: Vec<AcceptedRerun>,
}
