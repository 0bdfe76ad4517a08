//! `workflows stats`: how often each task of a version ran and failed on one node.

use clap::Args;
use serde_json::Value;
use svc_client::ApiRequest;

use super::workflows::WORKFLOWS;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::watch::{WatchArgs, WatchFrame};

const TASKS: TableLayout = TableLayout {
    id: "task",
    columns: &[
        TableColumn::new("TASK", "task", CellKind::Id),
        TableColumn::new("FUNCTION", "function", CellKind::Id).optional(1),
        TableColumn::new("RUNS", "runs", CellKind::Number),
        TableColumn::new("ERRORS", "errors", CellKind::Number),
        TableColumn::new("MEAN MS", "mean_ms", CellKind::Number),
    ],
};

/// The options of the counts.
#[derive(Args, Debug)]
pub(crate) struct WorkflowStatsArgs {
    /// Id of the workflow
    id: String,
    /// The version; by default the one that serves
    #[arg(long, value_name = "VERSION")]
    version: Option<u64>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Shows the counts of this node.
pub(super) async fn show_stats(args: &WorkflowStatsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let draw = async || {
        let request = ApiRequest::get(WORKFLOWS.path(&[&args.id, "stats"]));
        let request = match args.version {
            Some(version) => request.query("version", version),
            None => request,
        };
        let answer = context.fetch(&request).await?;
        let tasks = answer["data"]["tasks"].as_array();
        let rows: Vec<Value> = tasks.into_iter().flatten().map(add_mean).collect();
        WatchFrame::list(context, &answer, &rows, &TASKS, "counts: this node does not serve the version")
    };
    args.watch.show(context, draw).await
}

/// Adds the mean duration of a task, in milliseconds with three digits of its fraction; null before its first run.
fn add_mean(task: &Value) -> Value {
    let mut row = task.clone();
    row["mean_ms"] = match (task["runs"].as_f64(), task["total_ms"].as_f64()) {
        (Some(runs), Some(total)) if runs > 0.0 => format!("{:.3}", total / runs).into(),
        _ => Value::Null,
    };
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mean_needs_a_run() {
        for (task, expected) in [
            (json!({"runs": 4, "total_ms": 10.0}), json!("2.500")),
            (json!({"runs": 0, "total_ms": 0.0}), Value::Null),
        ] {
            assert_eq!(add_mean(&task)["mean_ms"], expected, "{task}");
        }
    }
}
