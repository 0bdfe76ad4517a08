//! Backtests as values: the order, the row, its progress and its end.

use serde_json::{Map, Value};
use svc_model::{EntityKind, Timestamp};

use crate::repo::operator_runs::OperatorRunState;

/// A backtest that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBacktest {
    /// A workflow, or a channel.
    pub kind: EntityKind,
    /// Id of the workflow or channel.
    pub definition: String,
    /// The version that runs.
    pub version: i64,
    /// The filter and the paths that are not compared.
    pub terms: Map<String, Value>,
    /// Maximum number of recorded runs.
    pub limit: i64,
    /// The principal that starts it.
    pub started_by: String,
}

/// A backtest.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBacktest {
    pub id: String,
    /// The kind of the definition.
    pub kind: String,
    /// Id of the workflow or channel.
    pub definition: String,
    /// The version that runs.
    pub version: i64,
    /// The filter and the paths that are not compared.
    pub terms: Map<String, Value>,
    /// Maximum number of recorded runs.
    pub limit: i64,
    pub state: String,
    /// Number of the recorded runs so far.
    pub done: i64,
    /// The place behind the last recorded run; `None` before the first.
    pub position: Option<String>,
    /// The report so far.
    pub report: Option<Value>,
    /// The reason of one that failed.
    pub reason: Option<String>,
    /// The node that makes it, or did last.
    pub holder: Option<String>,
    /// The principal that started it.
    pub started_by: String,
    /// Its start by the clock of the database.
    pub started_at: Timestamp,
    /// Its end.
    pub ended_at: Option<Timestamp>,
}

impl StoredBacktest {
    /// Returns the state, if this program knows it.
    pub fn parsed_state(&self) -> Option<OperatorRunState> {
        OperatorRunState::parse(&self.state)
    }
}

/// The progress of a backtest.
#[derive(Clone, Debug, PartialEq)]
pub struct BacktestPoint {
    /// Number of the recorded runs so far.
    pub done: i64,
    /// The place behind the last recorded run.
    pub position: Option<String>,
    /// The report so far.
    pub report: Value,
}

/// The end of a backtest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BacktestEnd {
    /// It went over all runs.
    Completed,
    /// It cannot go on, for this reason.
    Failed(String),
}

/// The state of a backtest after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BacktestStep {
    /// It goes on.
    Continues,
    /// It has ended.
    Ended(OperatorRunState),
    /// Another node makes it, or it is gone: nothing was written.
    Lost,
}
