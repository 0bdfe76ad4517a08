//! The lines that `log` writes.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use slog::{Drain, KV, Logger, OwnedKVList, Record, o};
use svc_engine::{Engine, RunOutcome};

use crate::support::{message, run};

/// A line with its message and its values, each as ` key=value`.
struct Line {
    level: slog::Level,
    text: String,
    values: String,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

struct Values(String);

impl slog::Serializer for Values {
    fn emit_arguments(&mut self, key: slog::Key, value: &fmt::Arguments<'_>) -> slog::Result {
        write!(self.0, " {key}={value}").map_err(slog::Error::from)
    }

    fn emit_none(&mut self, key: slog::Key) -> slog::Result {
        write!(self.0, " {key}=none").map_err(slog::Error::from)
    }
}

impl Drain for Lines {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), slog::Never> {
        let mut values = Values(String::new());
        record.kv().serialize(record, &mut values).unwrap();
        let line = Line { level: record.level(), text: record.msg().to_string(), values: values.0 };
        self.0.lock().unwrap().push(line);
        Ok(())
    }
}

/// Runs a workflow and returns the first line that it logs.
fn first_line(document: &Value) -> (Line, RunOutcome) {
    let lines = Lines::default();
    let engine = Engine::builder().logger(Logger::root(lines.clone(), o!())).build();
    let mut message = message(Value::Null);
    message.data = json!({"id": 7, "list": [1, "a"]});
    let outcome = run(&engine, document, message);
    (lines.0.lock().unwrap().remove(0), outcome)
}

fn run_log(input: Value) -> (slog::Level, String) {
    let (line, outcome) =
        first_line(&json!({"tasks": [{"id": "l", "function": {"name": "log", "input": input}}]}));
    assert_eq!(outcome.audit_trail[0].status, 200);
    (line.level, line.text)
}

#[test]
fn line_of_a_condition_that_fails_names_its_task_and_none_for_a_workflow() {
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
fn a_line_has_its_message_and_its_fields_sorted_by_key() {
    let input = json!({"message": "order stored", "level": "warn", "fields": {"b": {"var": "data.list"}, "a": {"var": "data.id"}}});
    assert_eq!(run_log(input), (slog::Level::Warning, "order stored [a=7, b=[1,\"a\"]]".into()));
}

#[test]
fn a_message_is_an_expression_and_info_by_default() {
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
