//! `impact`: the channels that a change of a definition would touch, with their runs of the last 24 hours.

use serde_json::Value;
use svc_client::ApiRequest;

use crate::commands::entity::EntityGroup;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};

const CHANNELS: TableLayout = TableLayout {
    id: "channel_id",
    columns: &[
        TableColumn::new("CHANNEL", "name", CellKind::Id),
        TableColumn::new("HOW", "way", CellKind::Text).optional(2).movable(),
        TableColumn::new("INGRESS", "ingress", CellKind::Text).optional(1).movable(),
        TableColumn::new("RUNS", "runs", CellKind::Number),
        TableColumn::new("FAILED", "failed", CellKind::Number),
        TableColumn::new("P95 MS", "p95", CellKind::Number),
        TableColumn::new("QUOTA", "quota_text", CellKind::Text).optional(3).movable(),
    ],
};

/// Shows the reach of a change of one definition.
pub(super) async fn show_impact(
    group: &EntityGroup,
    id: &str,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::get(group.path(&[id, "impact"]))).await?;
    let impact = &answer["data"];
    let rows: Vec<Value> = impact["channels"].as_array().into_iter().flatten().map(add_texts).collect();
    context.output.print(&context.output.list(&answer, &rows, &CHANNELS)?)?;
    if !context.output.is_table() {
        return Ok(0);
    }
    if let Some(left_out) = impact["left_out"].as_u64().filter(|count| *count > 0) {
        context.output.note(&format!("{left_out} further channel(s) are not listed"));
    }
    let workflows = impact["workflows"].as_array().into_iter().flatten();
    let workflows: Vec<String> = workflows.map(|workflow| plain(&workflow["workflow_id"])).collect();
    let names = |key: &str| impact[key].as_array().into_iter().flatten().map(plain).collect::<Vec<_>>();
    for (title, names) in [
        ("workflows", workflows),
        ("calls channels", names("calls")),
        ("uses connectors", names("connectors")),
        ("workflows that may call any of these channels", names("dynamic_callers")),
    ] {
        if !names.is_empty() {
            context.output.note(&format!("{title}: {}", names.join(", ")));
        }
    }
    Ok(0)
}

/// Adds the way to a channel, its ingress, its runs and its quota, each as one text or number.
fn add_texts(channel: &Value) -> Value {
    let mut row = channel.clone();
    row["way"] = match channel["through"].as_str() {
        Some(through) => format!("{} {through}", plain(&channel["how"]).replace('_', " ")).into(),
        None => channel["how"].clone(),
    };
    row["ingress"] = describe_ingress(channel).into();
    let traffic = &channel["traffic"];
    let is_capped = traffic["capped"] == true;
    for key in ["runs", "failed"] {
        row[key] = if is_capped { format!("{}+", plain(&traffic[key])).into() } else { traffic[key].clone() };
    }
    row["p95"] = traffic["p95_ms"].as_f64().map(|p95| format!("{p95:.1}")).into();
    let quota = &channel["quota"];
    row["quota_text"] = match quota["limit"].as_u64() {
        Some(limit) => format!("{limit} per {}", plain(&quota["per"])).into(),
        None => Value::Null,
    };
    row
}

/// Describes the ingress of a channel.
fn describe_ingress(channel: &Value) -> String {
    if let Some(schedule) = channel["schedule"].as_str() {
        return format!("schedule {schedule}");
    }
    if let Some(topic) = channel["topic"].as_str() {
        return format!("topic {topic}");
    }
    let methods =
        channel["methods"].as_array().into_iter().flatten().map(plain).collect::<Vec<_>>().join("|");
    let route = channel["route_pattern"].as_str().unwrap_or("by name");
    format!("{methods} {route}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn row_shows_ingress_runs_and_quota() {
        let channel = json!({"name": "orders", "how": "on_failure", "through": "channel alarm",
            "methods": ["POST"], "route_pattern": "/orders", "quota": {"limit": 100, "per": "hour"},
            "traffic": {"runs": 20000, "failed": 3, "capped": true, "p95_ms": 45.31}});
        let row = add_texts(&channel);
        let shown = ["way", "ingress", "runs", "failed", "p95", "quota_text"].map(|key| row[key].clone());
        let expected = ["on failure channel alarm", "POST /orders", "20000+", "3+", "45.3", "100 per hour"];
        assert_eq!(shown, expected.map(Value::from));
        let idle = add_texts(&json!({"how": "itself", "schedule": "0 3 * * *",
            "traffic": {"runs": 0, "failed": 0, "capped": false, "p95_ms": null}}));
        let shown = ["way", "ingress", "runs", "p95", "quota_text"].map(|key| idle[key].clone());
        let expected = [json!("itself"), json!("schedule 0 3 * * *"), json!(0), Value::Null, Value::Null];
        assert_eq!(shown, expected);
        assert_eq!(describe_ingress(&json!({})), "by name");
    }
}
