//! The lines that `log` writes.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use slog::{Drain, Logger, OwnedKVList, Record, o};
use svc_engine::Engine;

use crate::support::{message, run};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(slog::Level, String)>>>);

impl Drain for Lines {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), slog::Never> {
        self.0.lock().unwrap().push((record.level(), record.msg().to_string()));
        Ok(())
    }
}

fn run_log(input: Value) -> (slog::Level, String) {
    let lines = Lines::default();
    let engine = Engine::builder().logger(Logger::root(lines.clone(), o!())).build();
    let document = json!({"tasks": [{"id": "l", "function": {"name": "log", "input": input}}]});
    let mut message = message(Value::Null);
    message.data = json!({"id": 7, "list": [1, "a"]});
    let outcome = run(&engine, &document, message);
    assert_eq!(outcome.audit_trail[0].status, 200);
    lines.0.lock().unwrap().remove(0)
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
