//! Backtests: a version of a workflow or of a channel over recorded runs.

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
        /// The recordings, by the words of their list: `channel`, `run_key`, `version`, `outcome`, `since`, `until`, the
        /// last two as instants or times ago such as `-1d`. Those of the workflow, or of the channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub filter: Option<Value>,
        /// Maximum number of recorded runs, the newest first; 1000 unless given, 100000 at most.
        #[schema(minimum = 1, maximum = 100_000)]
        pub limit: optional u64,
        /// Paths in `data`, `errors`, `input`, `status`, `headers` or `body` that are not compared, such as
        /// `input.params[1]`.
        pub ignore: optional Vec<String>,
    }

    /// A backtest that was put on record.
    pub struct BacktestStarted {
        /// Its id.
        pub id: String,
    }

    /// A backtest.
    pub struct BacktestDetail {
        /// Its id.
        pub id: String,
        /// `workflow` or `channel`.
        pub kind: String,
        /// Id of the workflow or channel.
        pub definition: String,
        /// The version that runs.
        pub version: i64,
        /// `pending` until a node takes it, `running`; `aborting` until its node has noticed; `aborted`, `completed` or
        /// `failed` once it has ended.
        pub state: String,
        /// Maximum number of recorded runs.
        pub limit: i64,
        /// Recorded runs so far.
        pub done: i64,
        /// The filter, with an end, and the paths that are not compared: `{filter, ignore}`.
        #[schema(value_type = Object)]
        pub terms: Value,
        /// The report so far: `{runs, kinds, groups: [{kind, subject, runs, samples}], differing, shortened}`, of a channel
        /// also `guards: {judged, not_judged}`. Not in lists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>, nullable = false)]
        pub report: Option<Value>,
        /// The reason for which it failed.
        pub reason: optional String,
        /// The node that makes it, or did last.
        pub node: nullable String,
        /// The principal that started it.
        pub started_by: String,
        /// Time of its start.
        pub started_at: Timestamp,
        /// Time of its end.
        pub ended_at: optional Timestamp,
    }
}
