//! The lines that `log` writes.

use serde_json::{Value, json};
use slog::{Logger, o};
use svc_engine::{Engine, RunOutcome};

use crate::engine_log::{EngineLog, Line};
use crate::support::{message, run};

/// Runs a workflow and returns the first line that it logs.
fn first_line(document: &Value) -> (Line, RunOutcome) {
    let lines = EngineLog::default();
    let engine = Engine::builder().logger(Logger::root(lines.clone(), o!())).build();
    let mut message = message(Value::Null);
    message.data = json!({"id": 7, "list": [1, "a"]});
    let outcome = run(&engine, document, message);
    (lines.take().remove(0), outcome)
}

fn run_log(input: Value) -> (slog::Level, String) {
    let (line, outcome) =
        first_line(&json!({"tasks": [{"id": "l", "function": {"name": "log", "input": input}}]}));
    assert_eq!(outcome.audit_trail[0].status, 200);
    (line.level, line.text)
}

#[test]
fn failed_condition_log_names_its_task() {
    let mut task = json!({"id": "l", "function": {"name": "log", "input": {"message": "m"}}});
    let fails = json!({"throw": "y"});
    let (line, _) = first_line(&json!({"tasks": [task], "condition": fails}));
    assert_eq!(
        (&*line.text, line.values.contains(" task=none")),
        ("condition failed", true),
        "{}",
        line.values
    );
    task["condition"] = fails;
    let (line, _) = first_line(&json!({"tasks": [task]}));
    assert_eq!((&*line.text, line.values.contains(" task=l")), ("condition failed", true), "{}", line.values);
}

#[test]
fn log_line_has_message_and_sorted_fields() {
    let input = json!({"message": "order stored", "level": "warn", "fields": {"b": {"var": "data.list"}, "a": {"var": "data.id"}}});
    assert_eq!(run_log(input), (slog::Level::Warning, "order stored [a=7, b=[1,\"a\"]]".into()));
}

#[test]
fn message_is_an_expression_and_info_by_default() {
    assert_eq!(
        run_log(json!({"message": {"cat": ["id ", {"var": "data.id"}]}})),
        (slog::Level::Info, "id 7".into())
    );
    assert_eq!(run_log(json!({"message": {"var": "data.list"}})).1, "[1,\"a\"]");
}

#[test]
fn an_expression_that_fails_never_fails_the_task() {
    let input = json!({"message": {"+": ["a", 1]}, "fields": {"x": {"throw": "y"}}});
    assert_eq!(run_log(input).1, "<eval error> [x=<eval error>]");
}
