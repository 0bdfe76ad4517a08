//! Bodies about rollouts that move by themselves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

/// The limits of a rollout that moves by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateTerms {
    /// Runs of the newer version that a step needs, 30 or more; 200 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_runs: Option<u64>,
    /// Seconds for which a step waits for them beyond its interval, before the rollout is paused; 3600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wait_secs: Option<u64>,
    /// Permitted difference of the shares of failed runs, 0 to 1; 0.01 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error_ratio_delta: Option<f64>,
    /// Permitted quotient of the 99th percentiles of the durations, and of the 90th and the medians, 1 or more; 1.5 by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_p99_ratio: Option<f64>,
    /// Share of the newer version's runs, 0.001 to 1, that the older one runs too, as a shadow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<f64>,
    /// Permitted share of those runs that differ, 0 to 1; 0.01 by default. Needs `compare`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_difference_ratio: Option<f64>,
    /// Probability with which a good version is not rolled back, over all tests of the rollout; 0.9999 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// The traffic of the active versions of a workflow, and the rollout that moves it by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowRollout {
    /// Id of the workflow.
    pub workflow_id: String,
    /// The active versions, newest first.
    pub versions: Vec<ActiveShare>,
    /// The last rollout that moved by itself; `null` if there was none.
    #[schema(required = true)]
    pub canary: Option<CanaryStatus>,
}

/// The share of the traffic of an active version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActiveShare {
    /// The version.
    pub version: i64,
    /// Its share in percent.
    pub rollout_percentage: i64,
}

/// The messages that both versions of a rollout ran, one of them as a shadow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShadowStatus {
    /// Number of messages in the steps so far, of all nodes.
    pub runs: u64,
    /// Number of those whose runs differ.
    pub different: u64,
    /// The counts and samples of this node since it loaded the versions; `null` on one that runs neither.
    #[schema(required = true)]
    pub node: Option<NodeShadows>,
}

/// The shadow runs of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeShadows {
    /// Number of shadow runs.
    pub runs: u64,
    /// Number of runs by the kind of their differences; `same` has none.
    pub kinds: BTreeMap<String, u64>,
    /// Number of runs without a shadow, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Number of calls that were not made, because they may change something and the followed run made none like them.
    pub unanswered: u64,
    /// The last runs that differ; empty for a key that may not read data.
    pub samples: Vec<ShadowSample>,
}

/// A run that differs from its shadow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShadowSample {
    /// Id of the message.
    pub message_id: String,
    /// Key of the run.
    pub run_key: String,
    /// End of the shadow run.
    #[schema(value_type = String, format = DateTime)]
    pub ended_at: Timestamp,
    /// The differences.
    pub differences: Vec<ShadowDifference>,
}

/// A difference of a run and its shadow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShadowDifference {
    /// The kind, as in `kinds`.
    pub kind: String,
    /// The part that differs.
    pub subject: String,
    /// The description, a line each, without secrets.
    pub lines: Vec<String>,
}

/// The state of a rollout that moves by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CanaryStatus {
    /// Id of the rollout.
    pub id: String,
    /// The newer version.
    pub canary_version: i64,
    /// The older version.
    pub stable_version: i64,
    /// True if the newer version takes no traffic, and runs every message after the older one did.
    pub shadow: bool,
    /// The shadow runs; `null` without any.
    #[schema(required = true)]
    pub shadows: Option<ShadowStatus>,
    /// `watching`, `paused`, `promoted`, `rolled_back` or `aborted`.
    pub state: String,
    /// The reason of the state.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// Index of the present step, from 0.
    pub step: u64,
    /// The shares of the steps in percent.
    pub steps: Vec<i64>,
    /// Length of a step in seconds.
    pub interval_secs: u64,
    /// The limits.
    pub gate: GateTerms,
    /// Name of the channel that gets a report of a rollback.
    #[schema(required = true)]
    pub on_rollback: Option<String>,
    /// The figures of the last look.
    #[schema(value_type = Option<Object>, required = true)]
    pub figures: Option<Value>,
    /// Begin of the step.
    #[schema(value_type = String, format = DateTime)]
    pub step_since: Timestamp,
    /// Begin of the rollout.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of its last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}
