//! A trace for people: what it is, its attempts, its steps, its result.

use serde_json::{Map, Value, json};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, Output, TableColumn, TableLayout, plain};

/// Lines of a result that are shown.
const RESULT_LINES: usize = 40;

/// Members that have a part of the view of their own.
const PARTS: [&str; 6] = ["message", "data", "errors", "attempts", "task_trace_json", "waits_for"];

const STEPS: TableLayout = TableLayout {
    id: "task",
    columns: &[
        TableColumn::new("TASK", "task", CellKind::Text),
        TableColumn::new("FUNCTION", "function", CellKind::Id).optional(1),
        TableColumn::new("TARGET", "target", CellKind::Text),
        TableColumn::new("MS", "ms", CellKind::Number),
        TableColumn::new("OUTCOME", "outcome", CellKind::State),
        TableColumn::new("ERROR", "error", CellKind::Text).optional(2).movable(),
    ],
};

const ATTEMPTS: TableLayout = TableLayout {
    id: "trace_id",
    columns: &[
        TableColumn::new("ATTEMPT", "attempt", CellKind::Number),
        TableColumn::new("TRACE", "trace_id", CellKind::Id),
        TableColumn::new("STATUS", "status", CellKind::State),
        TableColumn::new("MS", "duration_ms", CellKind::Number),
        TableColumn::new("STARTED", "started_at", CellKind::Time).optional(1),
        TableColumn::new("ERROR", "error", CellKind::Text).optional(2).movable(),
    ],
};

/// Returns a trace as the format shows it; `answer` is that of the server.
pub(super) fn view(answer: &Value, context: &CommandContext) -> Result<String, CliError> {
    let (output, trace) = (&context.output, &answer["data"]);
    if !output.is_table() {
        return output.record(answer, trace, "id");
    }
    let mut text = output.members(&summary(trace));
    if let Some((sentence, wait)) = read_wait(trace) {
        text += &format!("\n{sentence}\n{}", output.members(&wait));
    }
    let attempts = trace["attempts"].as_array().filter(|attempts| attempts.len() > 1);
    if let Some(attempts) = attempts {
        text += &format!("\n{}", output.table(attempts, &ATTEMPTS));
    }
    let steps = steps(trace);
    if !steps.is_empty() {
        let note = note_of_attempt(trace).map(|note| format!("{note}\n")).unwrap_or_default();
        text += &format!("\n{note}{}", output.table(&steps, &STEPS));
    }
    if let Some(data) = result(trace) {
        text += &format!("\n{}", first_lines(&output.members(&json!({"data": data})), output));
    }
    Ok(text)
}

/// Returns the members of a trace that are no part of their own.
fn summary(trace: &Value) -> Value {
    let members = trace.as_object().into_iter().flatten();
    let own = members.filter(|(name, _)| !PARTS.contains(&name.as_str()));
    let shown = |name: &str, value: &Value| match value.as_f64().filter(|_| name == "duration_ms") {
        Some(duration) => json!((duration * 10.0).round() / 10.0),
        None => value.clone(),
    };
    Value::Object(own.map(|(name, value)| (name.clone(), shown(name, value))).collect())
}

/// Returns a remark about the steps of accepted work that was tried again: its own trace has those of the first
/// attempt.
fn note_of_attempt(trace: &Value) -> Option<&'static str> {
    let has_several = trace["attempts"].as_array().is_some_and(|attempts| attempts.len() > 1);
    let has_steps = trace["task_trace_json"]["steps"].is_array();
    (has_several && has_steps).then_some(
        "The tasks are those of attempt 1; `traces get` of the trace of another attempt has its own.",
    )
}

/// Returns the reason for which the work does not run yet: its sentence, and its members.
fn read_wait(trace: &Value) -> Option<(String, Value)> {
    let wait = trace.get("waits_for")?.as_object()?;
    let others = wait.iter().filter(|(name, _)| !["reason", "sentence"].contains(&name.as_str()));
    let others = others.map(|(name, value)| (name.clone(), value.clone()));
    let members = [("waits_for".to_owned(), wait.get("reason")?.clone())].into_iter().chain(others);
    Some((plain(wait.get("sentence")?), Value::Object(members.collect())))
}

/// Returns a row for each task that ran or was skipped, with its errors. Errors of no step have rows of their own.
fn steps(trace: &Value) -> Vec<Value> {
    let recorded = [&trace["task_trace_json"]["steps"], &trace["message"]["audit_trail"]];
    let recorded = recorded.into_iter().find_map(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut errors: Vec<&Value> = errors(trace);
    let mut rows: Vec<Value> = recorded.iter().map(|step| row(step, &mut errors)).collect();
    // A workflow that was stopped names the task whose error stands with it.
    let others = errors.into_iter().filter(|error| error["code"] != "WORKFLOW_ERROR" || rows.is_empty());
    let others: Vec<_> = others
        .map(|error| json!({"task": error["task_id"], "outcome": outcome(error), "error": describe(error)}))
        .collect();
    rows.extend(others);
    rows
}

/// Returns the errors of the tasks of a run, wherever its mode keeps them.
fn errors(trace: &Value) -> Vec<&Value> {
    let places = [&trace["errors"], &trace["message"]["errors"]];
    places.into_iter().find_map(Value::as_array).into_iter().flatten().collect()
}

/// Makes the row of a step and takes its errors out of the others.
fn row(step: &Value, errors: &mut Vec<&Value>) -> Value {
    let mut texts = Vec::new();
    let failed = step["result"] == "failed" || step["status"].as_u64().is_some_and(|status| status >= 400);
    let mut result = if failed { "failed" } else { "ok" };
    if step["result"] == "skipped" {
        result = "skipped";
    } else {
        // A task of a loop has a step for each sweep, and its errors stand in that order.
        let is_loop = step["loop_counter"].is_number();
        errors.retain(|error| {
            let is_own = error["task_id"] == step["task_id"]
                && error["index"] == step["index"]
                && (texts.is_empty() || !is_loop);
            if is_own {
                result = outcome(error);
                texts.push(describe(error));
            }
            !is_own
        });
    }
    let mut row = Map::new();
    let task = match step["index"].as_i64().or_else(|| step["loop_counter"].as_i64()) {
        Some(sweep) => format!("{}[{sweep}]", step["task_id"].as_str().unwrap_or_default()).into(),
        None => step["task_id"].clone(),
    };
    row.insert("task".into(), task);
    row.insert("function".into(), step["function"].clone());
    row.insert("target".into(), step["target"].clone());
    row.insert("ms".into(), step["duration_us"].as_f64().map(|duration| duration / 1000.0).into());
    row.insert("outcome".into(), result.into());
    row.insert("error".into(), if texts.is_empty() { Value::Null } else { texts.join("; ").into() });
    Value::Object(row)
}

fn outcome(error: &Value) -> &'static str {
    if error["tolerated"] == true { "tolerated" } else { "failed" }
}

fn describe(error: &Value) -> String {
    let code = error["code"].as_str().unwrap_or_default();
    error["message"].as_str().map_or_else(|| code.to_owned(), |message| format!("{code} {message}"))
}

/// Returns the data of a run, wherever its mode keeps it.
fn result(trace: &Value) -> Option<&Value> {
    let message = &trace["message"];
    if trace["mode"] == "cron" {
        return trace.get("message");
    }
    [trace.get("data"), message.pointer("/context/data"), message.get("data"), trace.get("message")]
        .into_iter()
        .flatten()
        .next()
}

/// Cuts a text behind its first lines.
fn first_lines(text: &str, output: &Output) -> String {
    let more = text.lines().count().saturating_sub(RESULT_LINES);
    if more == 0 {
        return text.to_owned();
    }
    output.note(&format!("{more} more lines of data; '-o json' shows all"));
    text.lines().take(RESULT_LINES).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(trace: &Value) -> Vec<[Value; 4]> {
        let cells = |row: &Value| ["task", "ms", "outcome", "error"].map(|name| row[name].clone());
        steps(trace).iter().map(cells).collect()
    }

    #[test]
    fn step_shows_time_outcome_and_errors() {
        let trace = json!({
            "errors": [
                {"code": "HTTP_ERROR", "task_id": "call", "message": "answered 503", "tolerated": true},
                {"code": "VALIDATION_ERROR", "task_id": "check", "message": "no quantity"},
                {"code": "WORKFLOW_ERROR", "message": "stopped"}],
            "task_trace_json": {"steps": [
                {"task_id": "call", "result": "failed", "duration_us": 1500},
                {"task_id": "idle", "result": "skipped"},
                {"task_id": "check", "result": "executed", "duration_us": 20}]}});
        let expected = [
            [json!("call"), json!(1.5), json!("tolerated"), json!("HTTP_ERROR answered 503")],
            [json!("idle"), Value::Null, json!("skipped"), Value::Null],
            [json!("check"), json!(0.02), json!("failed"), json!("VALIDATION_ERROR no quantity")],
        ];
        assert_eq!(cells(&trace), expected);
    }

    #[test]
    fn run_without_steps_shows_tasks_or_errors() {
        let audited = json!({"message": {"errors": [], "audit_trail": [
            {"task_id": "a", "status": 200}, {"task_id": "b", "status": 500, "loop_counter": 2}]}});
        let outcomes: Vec<_> =
            cells(&audited).into_iter().map(|[task, _, outcome, _]| (task, outcome)).collect();
        assert_eq!(outcomes, [(json!("a"), json!("ok")), (json!("b[2]"), json!("failed"))]);
        let submission =
            json!({"errors": [{"code": "IO_ERROR", "task_id": "call"}, {"code": "WORKFLOW_ERROR"}]});
        assert_eq!(cells(&submission)[0][3], json!("IO_ERROR"));
    }

    #[test]
    fn steps_of_retried_work_are_those_of_first_attempt() {
        let mut trace = json!({"duration_ms": 323.25054800000004, "attempts": [{"attempt": 1}, {"attempt": 2}],
            "task_trace_json": {"steps": []}});
        assert!(note_of_attempt(&trace).is_some_and(|note| note.contains("attempt 1")));
        assert_eq!(summary(&trace), json!({"duration_ms": 323.3}));
        trace["attempts"] = json!([{"attempt": 1}]);
        assert_eq!(note_of_attempt(&trace), None);
    }

    #[test]
    fn wait_shows_its_sentence_and_members() {
        let trace = json!({"waits_for": {"reason": "queue", "sentence": "It waits.", "position": 3}});
        let expected = ("It waits.".to_owned(), json!({"waits_for": "queue", "position": 3}));
        assert_eq!(read_wait(&trace), Some(expected));
        assert_eq!(read_wait(&json!({"status": "completed"})), None);
    }

    #[test]
    fn result_is_found_in_every_mode() {
        for (trace, expected) in [
            (json!({"data": 1, "message": {"context": {"data": 1}}}), Some(json!(1))),
            (json!({"message": {"context": {"data": 2}}}), Some(json!(2))),
            (json!({"message": {"status": "ok", "data": 3}}), Some(json!(3))),
            (json!({"mode": "cron", "message": {"data": 4}}), Some(json!({"data": 4}))),
            (json!({}), None),
        ] {
            assert_eq!(result(&trace), expected.as_ref(), "{trace}");
        }
    }
}
