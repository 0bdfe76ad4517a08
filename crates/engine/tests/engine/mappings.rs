//! Mappings of `map` that append, extend, remove, or make something of null.

use serde_json::{Value, json};
use svc_engine::{Engine, EngineLimits};
use svc_model::WorkflowChecks as _;

use crate::support::{compile, message, run, workflow};

fn document(mappings: &Value) -> Value {
    json!({"tasks": [{"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": mappings}}}]})
}

#[test]
fn surplus_keys_of_a_mapping_are_refused() {
    let engine = Engine::builder().build();
    for (mapping, field, text) in [
        (json!({"path": "data.x"}), "logic", "required"),
        (json!({"path": "data.x", "unset": false}), "logic", "required"),
        (json!({"path": "data.x", "unset": true, "logic": 1}), "logic", "nothing else"),
        (json!({"path": "data.x", "unset": true, "mode": "append"}), "mode", "nothing else"),
        (json!({"path": "data", "unset": true}), "path", "cannot be removed"),
        (json!({"path": "metadata", "logic": 1, "on_null": "unset"}), "path", "cannot be removed"),
        (json!({"path": "data", "logic": 1, "on_null": "set"}), "path", "cannot be null"),
        (json!({"path": "metadata", "logic": 1, "mode": "append"}), "path", "never an array"),
        (json!({"path": "data.x", "unset": 1}), "unset", "boolean"),
        (json!({"path": "data.x", "logic": 1, "mode": "push"}), "mode", "is not one of append, extend"),
        (
            json!({"path": "data.x", "logic": 1, "on_null": "drop"}),
            "on_null",
            "is not one of skip, unset, set",
        ),
        (json!({"path": "data.x", "logic": [], "mode": "extend", "on_null": "set"}), "on_null", "append"),
        (json!({"path": "data.x", "logic": "a", "mode": "extend"}), "logic", "append adds a single value"),
        (json!({"path": "data.x", "logic": 1, "mod": "append"}), "mod", "did you mean 'mode'?"),
    ] {
        let mut errors = Vec::new();
        engine.check(&workflow(&document(&json!([mapping]))).content, &mut errors, &mut Vec::new());
        let place = format!("tasks[0].function.input.mappings[0].{field}");
        let found = errors.iter().any(|error| error.path == place && error.message.contains(text));
        assert!(found, "{mapping}: {errors:?}");
    }
}

#[test]
fn added_and_removed_values_are_recorded_as_changes() {
    let mappings = json!([
        {"path": "data.list", "mode": "append", "logic": "a"},
        {"path": "data.list", "mode": "extend", "logic": ["b"]},
        {"path": "data.list", "unset": true},
        {"path": "data.none", "unset": true}]);
    let outcome = run(&Engine::builder().build(), &document(&mappings), message(Value::Null));
    assert_eq!(
        serde_json::to_value(&outcome.audit_trail[0].changes).unwrap(),
        json!([{"path": "data.list", "old_value": null, "new_value": ["a"]},
            {"path": "data.list.1", "old_value": null, "new_value": "b"},
            {"path": "data.list", "old_value": ["a", "b"], "new_value": null}])
    );
}

#[test]
fn copies_of_expressions_follow_each_change() {
    let mut mappings = Vec::new();
    for step in [
        json!({"path": "data.list", "logic": []}),
        json!({"path": "data.list", "mode": "append", "logic": {"n": 1}}),
        json!({"path": "data.list", "mode": "extend", "logic": {"var": "payload"}}),
        json!({"path": "data.list.0.n", "unset": true}),
        json!({"path": "data.list.1", "unset": true}),
        json!({"path": "data.list", "mode": "append", "logic": {"length": {"var": "data.list"}}}),
    ] {
        mappings.push(step);
        let n = mappings.len();
        mappings.push(json!({"path": format!("temp_data.computed.k{n}"), "logic": [{"var": "data.list"}]}));
        mappings.push(json!({"path": format!("temp_data.copied.k{n}"), "logic": {"var": "data.list"}}));
    }
    let payload: Value = (0..40).collect();
    let outcome = run(&Engine::builder().build(), &document(&mappings.into()), message(payload));
    assert!(outcome.failure.is_none() && outcome.errors.is_empty());
    let copied = outcome.message.temp_data["copied"].as_object().unwrap();
    assert_eq!(copied.len(), 6);
    for (step, list) in copied {
        assert_eq!(outcome.message.temp_data["computed"][step], json!([list]), "after {step}");
    }
    let list = outcome.message.data["list"].as_array().unwrap();
    assert_eq!((list.len(), &list[0], &list[1], &list[40]), (41, &json!({}), &json!(1), &json!(40)));
}

#[test]
fn extension_beyond_the_message_adds_nothing() {
    let limits = EngineLimits { max_message_bytes: 4 << 10, ..EngineLimits::default() };
    let engine = Engine::builder().limits(limits).build();
    let mappings = json!([{"path": "data.list", "mode": "append", "logic": 0},
        {"path": "data.list", "mode": "extend", "logic": {"var": "payload"}}]);
    assert!(compile(&engine, &document(&mappings)).is_ok());
    let payload: Value = (0..1000).collect();
    let outcome = run(&engine, &document(&mappings), message(payload));
    assert_eq!(outcome.message.data, json!({"list": [0]}));
    assert!(outcome.failure.unwrap().error.message.contains("the message would take more than"));
}
