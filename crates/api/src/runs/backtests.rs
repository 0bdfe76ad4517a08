//! Backtests: a version of a workflow over recorded runs.

use serde_json::Value;
use svc_model::Timestamp;

use crate::api_types::api_types;

api_types! {
    /// A backtest that is to be made.
    pub struct BacktestRequest {
        /// `draft`, as without it, or the number of a version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub version: Option<Value>,
        /// The recordings, by the words of their list: `channel`, `run_key`, `version`, `outcome`, `since`, `until`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub filter: Option<Value>,
        /// Maximum number of recorded runs, the newest first; 1000 unless given, 100000 at most.
        #[schema(minimum = 1, maximum = 100_000)]
        pub limit: optional u64,
        /// Paths below `data` or `input` that are not compared.
        pub ignore: optional Vec<String>,
    }

    /// A backtest that was started.
    pub struct BacktestStarted {
        /// Its id.
        pub id: String,
        /// Id of the node that makes it, and alone knows it.
        pub node: String,
    }

    /// A backtest.
    pub struct BacktestDetail {
        /// Its id.
        pub id: String,
        /// Id of the workflow.
        pub workflow_id: String,
        /// The version that runs.
        pub version: i64,
        /// `running`, `aborted`, `completed` or `failed`.
        pub state: String,
        /// Maximum number of recorded runs.
        pub limit: u64,
        /// Recorded runs so far.
        pub done: u64,
        /// The report, once it has ended: `{runs, kinds, groups: [{kind, subject, runs, samples}]}`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub report: Option<Value>,
        /// The reason for which it failed.
        pub reason: optional String,
        /// The principal that started it.
        pub started_by: String,
        /// Time of its start.
        pub started_at: Timestamp,
        /// Time of its end.
        pub ended_at: optional Timestamp,
    }
}
