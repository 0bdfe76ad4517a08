//! The records of a run: audit entries, the optional execution trace, timings.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::message::Message;
use crate::redaction::Redaction;

/// Metadata that snapshots leave out: large, and full of what callers consider private; and the tokens of a sign-in.
const OMITTED: [&str; 3] = ["headers", "cookies", "oauth"];

/// Metadata that a recorded input keeps.
const REQUEST_FACTS: [&str; 9] =
    ["channel", "http_method", "params", "query", "vars", "trigger", "run", "body_encoding", "cloudevent"];

/// No step takes less than this as JSON.
const STEP_BYTES: usize = 64;
/// Steps that are recorded whatever the budget.
const MIN_STEPS: usize = 1000;

/// One write a task made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditChange {
    /// The written path.
    pub path: String,
    /// The value before the write; null if there was none.
    pub old_value: Value,
    /// The value after the write.
    pub new_value: Value,
}

/// The record of one task that ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditTrailEntry {
    /// The workflow; `{id}:v{version}` while versions share the traffic.
    pub workflow_id: Arc<str>,
    /// The task.
    pub task_id: Arc<str>,
    /// The start of the run: the same in every entry.
    pub timestamp: DateTime<Utc>,
    /// 200, 207, 299, 4xx or 5xx.
    pub status: u16,
    /// The writes of the task; empty while changes are not captured.
    pub changes: Vec<AuditChange>,
    /// The counter of the sweep, in a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_counter: Option<i64>,
    /// The index of the element, in a fan-out; of nested ones that of the innermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// The duration of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTiming {
    /// Its place among the [tasks](crate::CompiledWorkflow::tasks) of the workflow.
    pub position: usize,
    /// Its duration.
    pub duration: Duration,
}

/// The durations of a workflow and its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timings {
    /// The workflow that was admitted, if any.
    pub workflow_id: Option<Arc<str>>,
    /// From its condition to its end.
    pub workflow: Duration,
    /// Every task that ran, in order.
    pub tasks: Vec<TaskTiming>,
}

/// The options of an execution trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceOptions {
    /// Bytes of JSON all snapshots together may take; further ones are left out.
    pub snapshot_bytes: usize,
    /// Records the input of the run, so that it can be repeated.
    pub input: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { snapshot_bytes: 1 << 20, input: false }
    }
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepResult {
    /// It ran.
    Executed,
    /// Its condition, or that of a group around it, was not true.
    Skipped,
    /// It ran and failed, whether its workflow went on or not.
    Failed,
}

/// One step of an execution trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceStep {
    /// The workflow.
    pub workflow_id: Arc<str>,
    /// The task; null when the condition of the whole workflow was not true.
    pub task_id: Option<Arc<str>>,
    /// The result of the step.
    pub result: StepResult,
    /// `{data, metadata, temp_data}` after the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// For `map`: the context before each mapping.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mapping_contexts: Vec<Value>,
    /// The start of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<DateTime<Utc>>,
    /// The duration in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// The function of an executed or failed step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<Arc<str>>,
    /// The connector or channel that the step called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Arc<str>>,
    /// The writes of the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<AuditChange>,
    /// The counter of the sweep, in a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_counter: Option<i64>,
    /// The index of the element, in a fan-out; of nested ones that of the innermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// The steps of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExecutionTrace {
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
    /// `{payload, request}`, if it was asked for: the payload, and the facts about the request that are
    /// not private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// True if snapshots were left out because the budget was spent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A step in progress, which is in the trace when it ends, or is cut short.
#[derive(Debug)]
pub(crate) struct OpenStep {
    pub(crate) task_id: Arc<str>,
    pub(crate) function: Arc<str>,
    /// The connector that its input names.
    pub(crate) connector: Option<Arc<str>>,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) began: Instant,
}

/// Collects an execution trace within its budget.
#[derive(Debug)]
pub(crate) struct Tracer {
    trace: ExecutionTrace,
    /// The step that has begun and is not in the trace yet.
    open_step: Option<OpenStep>,
    budget: usize,
    /// A trace of more steps would be larger than the budget by them alone.
    max_steps: usize,
    /// True for the steps of a view, whose copies of the message no snapshot shows.
    is_of_view: bool,
}

impl Tracer {
    pub(crate) fn new(options: TraceOptions, message: &Message, redaction: &Redaction) -> Self {
        let mut tracer = Self {
            trace: ExecutionTrace::default(),
            open_step: None,
            budget: options.snapshot_bytes,
            max_steps: (options.snapshot_bytes / STEP_BYTES).max(MIN_STEPS),
            is_of_view: false,
        };
        if options.input && redaction.is_empty() {
            tracer.keep_input(message);
        }
        tracer
    }

    /// Records the input of the run, unless it would leave too little room for snapshots.
    fn keep_input(&mut self, message: &Message) {
        let facts = message.metadata.iter().filter(|(key, _)| REQUEST_FACTS.contains(&key.as_str()));
        let request: Map<String, Value> = facts.map(|(key, value)| (key.clone(), value.clone())).collect();
        let input = serde_json::json!({"payload": message.payload, "request": request});
        let bytes = json_bytes(&input);
        if bytes <= self.budget / 2 {
            self.budget -= bytes;
            self.trace.input = Some(input);
        }
    }

    /// Returns a snapshot, while the budget lasts.
    pub(crate) fn snapshot(&mut self, message: &Message) -> Option<Value> {
        if self.trace.truncated || self.is_of_view {
            return None;
        }
        let metadata: Map<String, Value> = message
            .metadata
            .iter()
            .filter(|(key, _)| !OMITTED.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let snapshot = serde_json::json!({
            "data": message.data, "metadata": metadata, "temp_data": message.temp_data,
        });
        match self.budget.checked_sub(json_bytes(&snapshot)) {
            Some(left) => {
                self.budget = left;
                Some(snapshot)
            }
            None => {
                self.trace.truncated = true;
                None
            }
        }
    }

    /// Says that something was left out.
    pub(crate) fn truncate(&mut self) {
        self.trace.truncated = true;
    }

    /// Notes that a step begins.
    pub(crate) fn open_step(&mut self, step: OpenStep) {
        self.open_step = Some(step);
    }

    /// Takes the step that has begun and is not in the trace.
    pub(crate) fn take_open_step(&mut self) -> Option<OpenStep> {
        self.open_step.take()
    }

    /// Adds a step, while there is room for it.
    pub(crate) fn push(&mut self, step: TraceStep) {
        self.open_step = None;
        if self.trace.steps.len() < self.max_steps {
            self.trace.steps.push(step);
        } else {
            self.truncate();
        }
    }

    pub(crate) fn finish(self) -> ExecutionTrace {
        self.trace
    }

    /// Returns a tracer for a view of the run.
    pub(crate) fn of_view(&self) -> Self {
        let (trace, budget) = (ExecutionTrace::default(), 0);
        Self { trace, open_step: None, budget, max_steps: self.free_steps(), is_of_view: true }
    }

    /// Returns the number of steps that there is room for.
    pub(crate) fn free_steps(&self) -> usize {
        self.max_steps.saturating_sub(self.trace.steps.len())
    }

    /// Takes the steps so far of a view, which may then have `free` more.
    pub(crate) fn take_steps(&mut self, free: usize) -> Vec<TraceStep> {
        self.max_steps = free;
        std::mem::take(&mut self.trace.steps)
    }

    /// Returns `true` if something was left out.
    pub(crate) fn is_truncated(&self) -> bool {
        self.trace.truncated
    }

    /// Adds to the last step what was written after it.
    pub(crate) fn extend_last(&mut self, snapshot: Option<Value>, changes: &[AuditChange]) {
        if let Some(last) = self.trace.steps.last_mut() {
            last.message = snapshot.or_else(|| last.message.take());
            last.changes.extend_from_slice(changes);
        }
    }
}

/// About as many bytes as the compact JSON text of a value takes; escapes are not counted.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + 4 + json_bytes(value)).sum::<usize>()
        }
    }
}
