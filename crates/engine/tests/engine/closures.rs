//! Functions made of closures.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_engine::catalogue::{FunctionEntry, InputField};
use svc_engine::{ClosureFunction, Engine, TaskError};

use crate::support::{message, run};

/// Answers with its inputs.
static SHOW: FunctionEntry = FunctionEntry {
    accepts_any_input: false,
    fields: &[
        InputField::string("text", "The text").required().resolvable(),
        InputField::string("case", "The case").one_of(&["upper", "lower"]),
        InputField::object("options", "The options"),
        InputField::output(),
    ],
    ..FunctionEntry::plugin("show", "Shows its inputs")
};

/// As [`SHOW`], with whatever inputs.
static SHOW_ANY: FunctionEntry = FunctionEntry::plugin("show_any", "Shows its inputs");

fn show(inputs: &Map<String, Value>) -> Result<Value, TaskError> {
    Ok(Value::Object(inputs.clone()))
}

/// Runs a task of one of the functions and returns what its closure was given.
fn run_closure(function: &str, mut input: Value) -> Value {
    input["output"] = json!("data.given");
    let engine = Engine::builder()
        .function(Arc::new(ClosureFunction::new(&SHOW, show)))
        .function(Arc::new(ClosureFunction::new(&SHOW_ANY, show)))
        .build();
    let document = json!({"tasks": [{"id": "t", "function": {"name": function, "input": input}}]});
    let outcome = run(&engine, &document, message(json!({"text": "a"})));
    match outcome.errors.first() {
        Some(error) => json!(error.code),
        None => outcome.message.data["given"].clone(),
    }
}

#[test]
fn closure_gets_folded_and_literal_inputs() {
    let var = json!({"var": "payload.text"});
    let input = json!({"text": var, "case": "upper", "options": var});
    assert_eq!(run_closure("show", input), json!({"text": "a", "case": "upper", "options": var}));
    assert_eq!(run_closure("show", json!({"text": "b"})), json!({"text": "b"}));
    assert_eq!(run_closure("show", json!({"text": {"var": "payload.none"}})), "VALIDATION_ERROR");
    assert_eq!(run_closure("show_any", json!({"x": [var]})), json!({"x": ["a"]}));
}
