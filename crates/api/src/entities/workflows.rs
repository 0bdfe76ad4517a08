//! Workflows.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_model::{Timestamp, Workflow};
use utoipa::ToSchema;

use crate::names::{lifecycle_status, step_result};

/// A version of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Workflow)]
pub struct WorkflowResource {
    /// Display name.
    pub name: String,
    /// Description, free text.
    #[schema(required = true)]
    pub description: Option<String>,
    /// Priority among workflows; the highest runs first.
    pub priority: i64,
    /// Expression that a message must satisfy.
    #[schema(value_type = Value)]
    pub condition: Value,
    /// Tasks and groups, in execution order.
    #[schema(value_type = Vec<Object>)]
    pub tasks: Vec<Value>,
    /// Tags, by which lists are filtered.
    pub tags: Vec<String>,
    /// `true` if the workflow continues after a failed task.
    pub continue_on_error: bool,
    /// The loop block; absent if the workflow does not loop.
    #[serde(rename = "loop", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub loop_: Option<Value>,
    /// Id, which all versions share.
    pub workflow_id: String,
    /// Number of the version, from 1.
    pub version: i64,
    /// The lifecycle status of the version.
    #[schema(schema_with = lifecycle_status)]
    pub status: String,
    /// Percentage of the traffic that the version receives while it is active.
    pub rollout_percentage: i64,
    /// `sha256:` and the hash of the content, which status, rollout and times do not affect.
    pub content_hash: String,
    /// Time of creation of the version.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of the last change of the row.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Number of the version that serves, in lists and in the read of the latest version; of several the one with the
    /// largest share of the traffic. Absent if none serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub active_version: Option<i64>,
}

impl From<Workflow> for WorkflowResource {
    fn from(workflow: Workflow) -> Self {
        let content_hash = workflow.content.content_hash();
        let content = workflow.content;
        Self {
            name: content.name,
            description: content.description,
            priority: content.priority,
            condition: content.condition,
            tasks: content.tasks,
            tags: content.tags,
            continue_on_error: content.continue_on_error,
            loop_: content.loop_,
            workflow_id: workflow.workflow_id,
            version: workflow.version,
            status: workflow.status.name().to_owned(),
            rollout_percentage: workflow.rollout_percentage,
            content_hash,
            created_at: workflow.created_at,
            updated_at: workflow.updated_at,
            active_version: None,
        }
    }
}

/// The connectors and channels that the latest version of a workflow uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowDependencies {
    /// Id of the workflow.
    pub workflow_id: String,
    /// Number of the version.
    pub version: i64,
    /// The connectors and the functions that call them, each pair once.
    pub connectors: Vec<ConnectorDependency>,
    /// Names of the channels that tasks call.
    pub channels: Vec<String>,
    /// `true` if a task computes the name of the channel it calls.
    pub has_dynamic_channel_calls: bool,
}

/// A connector that a workflow uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectorDependency {
    /// Name of the connector.
    pub connector: String,
    /// The function that calls it.
    pub function: String,
}

/// The counts of a version of a workflow on one node, since that node serves the version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowStats {
    /// Id of the workflow.
    pub workflow_id: String,
    /// The version.
    pub version: i64,
    /// Id of the node that answers; its memory has the counts, and each node has its own.
    pub node: String,
    /// `true` if a channel of the node runs the version.
    pub served: bool,
    /// The time since which the node counts.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub since: Option<Timestamp>,
    /// Number of runs that ended.
    pub runs: u64,
    /// Number of runs that an error ended.
    pub failed: u64,
    /// The tasks, in the order of the workflow; none if the node does not serve the version.
    pub tasks: Vec<TaskStats>,
}

/// The counts of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskStats {
    /// Id of the task.
    pub task: String,
    /// The function that it calls.
    pub function: String,
    /// Number of times that it ran: once for each sweep of a loop, not at all in a run that skips it.
    pub runs: u64,
    /// Number of those in which it failed, also if the workflow tolerates that.
    pub errors: u64,
    /// The time that it took in total, in milliseconds.
    pub total_ms: f64,
}

/// The body of a trial run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowTrial {
    /// The payload; `{}` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The metadata of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// Answers that replace connectors and channels; without it both are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stubs: Option<Value>,
    /// A definition to run in place of the latest version: the body of a create if the workflow is not stored, else that of
    /// a change, whose absent members keep what the latest version has. Nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub workflow: Option<Value>,
}

/// The result of a trial run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowTrialResult {
    /// `true` if the condition of the workflow was satisfied.
    pub matched: bool,
    /// The steps.
    #[schema(value_type = TrialTrace)]
    pub trace: Value,
    /// The `data` of the message after the run.
    #[schema(value_type = Value)]
    pub output: Value,
    /// The errors of tasks.
    #[schema(value_type = Vec<Object>)]
    pub errors: Vec<Value>,
    /// `true` if connectors and channels were called, not replaced by stubs.
    pub live: bool,
    /// The calls that stubs answered, by function; only with stubs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub calls: Option<Value>,
    /// The failure that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
}

/// The steps of a trial run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialTrace {
    /// The steps, in order.
    pub steps: Vec<TrialStep>,
    /// `true` if snapshots were left out because they took too much space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub truncated: bool,
}

/// A step of a trial run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrialStep {
    /// Id of the workflow.
    pub workflow_id: String,
    /// Id of the task; `null` if the condition of the whole workflow was not satisfied.
    #[schema(required = true)]
    pub task_id: Option<String>,
    /// The result of the step.
    #[schema(schema_with = step_result)]
    pub result: String,
    /// `{data, metadata, temp_data}` after the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub message: Option<Value>,
    /// The context before each mapping, of `map`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub mapping_contexts: Vec<Value>,
    /// Start of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime, nullable = false)]
    pub started_at: Option<String>,
    /// Duration in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub duration_us: Option<u64>,
    /// The function of a step that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub function: Option<String>,
    /// The connector or channel that the step called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<String>,
    /// The writes of the step: `{path, old_value, new_value}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>, required = false)]
    pub changes: Vec<Value>,
    /// The counter of the sweep, in a loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub loop_counter: Option<i64>,
    /// The index of the element, in a fan-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub index: Option<u64>,
}
