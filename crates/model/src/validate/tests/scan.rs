//! Tests of uncompiled source and secret references.

use serde_json::{Value, json};

use super::{Marked, codes};
use crate::field::FieldCode::{UncompiledSource, UnresolvedSecretRef};
use crate::{FieldCode, FieldError, parse_new_channel, parse_new_workflow};

fn of_tasks(tasks: Value) -> Vec<FieldError> {
    parse_new_workflow(&json!({"name": "n", "tasks": tasks}), &Marked).err().unwrap_or_default()
}

fn call(function: &str, input: Value) -> Value {
    json!([{"id": "a", "name": "", "function": {"name": function, "input": input}}])
}

#[test]
fn a_reference_is_refused_wherever_nothing_resolves_it() {
    let body = json!({"name": "env://A", "description": "vault://a#b", "tags": ["env://A"],
        "condition": {"==": ["env://A", 1]}, "loop": {"max": 2, "counter": "env://A"},
        "tasks": call("http_call", json!({"headers": {"authorization": "env://A"}, "list": [["vault://x#y"]]}))});
    let errors = parse_new_workflow(&body, &Marked).unwrap_err();
    let paths: Vec<_> = codes(&errors)
        .into_iter()
        .filter(|(_, code)| *code == UnresolvedSecretRef)
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "condition.==[0]",
            "loop.counter",
            "tasks[0].function.input.headers.authorization",
            "tasks[0].function.input.list[0][0]",
            "workflow.description",
            "workflow.name",
            "workflow.tags[0]",
        ]
    );
}

#[test]
fn only_the_head_of_a_string_makes_a_reference() {
    let input = json!({"a": "see env://A", "b": " env://A", "c": "${A}", "d": "https://x", "e": "ENV://A", "env://K": 1});
    assert!(of_tasks(call("map", input)).is_empty());
}

#[test]
fn references_are_accepted_only_if_resolved() {
    assert!(of_tasks(call("sign", json!({"key": "env://K"}))).is_empty());
    for (function, input, path) in [
        ("map", json!({"key": "env://K"}), ".key"),
        ("sign", json!({"data": "vault://a#b"}), ".data"),
        ("sign", json!({"key": {"deep": "env://K"}}), ".key.deep"),
    ] {
        let errors = of_tasks(call(function, input));
        let expected = format!("tasks[0].function.input{path}");
        assert_eq!(codes(&errors), [(expected.as_str(), UnresolvedSecretRef)], "{function}");
    }
}

#[test]
fn references_inside_groups_are_found_and_accepted_alike() {
    let group = |tasks: Value| json!([{"id": "g", "tasks": tasks}]);
    assert!(of_tasks(group(call("sign", json!({"key": "env://K"})))).is_empty());
    let errors = of_tasks(group(call("map", json!({"x": "env://K"}))));
    assert_eq!(codes(&errors), [("tasks[0].tasks[0].function.input.x", UnresolvedSecretRef)]);
}

#[test]
fn markers_of_uncompiled_source_are_named_with_their_target() {
    let tasks = json!([
        {"id": "_s", "use": "session", "with": {"realm": "eu"}},
        {"$from": "fragments.x"},
        {"id": "g", "tasks": [{"use": "inner"}]},
        {"id": "a", "name": "", "function": {"name": "map", "input": {"x": {"$from": "constants.limits"}, "y": [{"$param": "realm"}]}}}
    ]);
    let errors: Vec<_> = of_tasks(tasks).into_iter().filter(|error| error.code == UncompiledSource).collect();
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "tasks[0]",
            "tasks[1]",
            "tasks[2].tasks[0]",
            "tasks[3].function.input.x",
            "tasks[3].function.input.y[0]"
        ]
    );
    for (error, target) in errors.iter().zip(["session", "fragments.x", "inner", "constants.limits", "realm"])
    {
        assert!(error.message.contains(&format!("'{target}'")), "{}", error.message);
    }
}

#[test]
fn fragment_call_is_reported_once() {
    let errors = of_tasks(json!([{"use": "session"}]));
    assert_eq!(codes(&errors), [("tasks[0]", UncompiledSource)]);
}

#[test]
fn data_named_use_inside_an_input_is_data() {
    assert!(of_tasks(call("http_call", json!({"body": {"use": "case"}}))).is_empty());
}

#[test]
fn condition_and_loop_of_a_workflow_are_scanned() {
    let body = json!({"name": "n", "condition": {"$from": "c.x"}, "loop": {"max": 1, "counter": "a", "x": {"$from": "c.y"}},
        "tasks": call("map", json!({}))});
    let errors = parse_new_workflow(&body, &Marked).unwrap_err();
    assert_eq!(codes(&errors), [("condition", UncompiledSource), ("loop.x", UncompiledSource)]);
}

#[test]
fn the_blocks_of_a_channel_are_scanned() {
    let channel = |transport: Value, config: Value| {
        json!({"name": "c", "channel_type": "sync", "protocol": "http",
        "methods": ["GET"], "route_pattern": "/c", "transport_config": transport, "config": config})
    };
    let refused = |body: &Value| -> Vec<(String, FieldCode)> {
        let errors = parse_new_channel(body, &Marked).unwrap_err();
        codes(&errors).into_iter().map(|(path, code)| (path.to_owned(), code)).collect()
    };
    let both = channel(json!({"x": {"use": "f"}}), json!({"rate_limit": {"$from": "constants.limit"}}));
    assert_eq!(
        refused(&both),
        [
            ("channel.config.rate_limit".to_owned(), UncompiledSource),
            ("channel.transport_config.x".to_owned(), UncompiledSource),
        ]
    );
    let auth = json!({"auth": {"mode": "api_key", "keys": ["env://K"]}});
    assert!(parse_new_channel(&channel(json!({"a": "env://A"}), auth), &Marked).is_ok());
}

#[test]
fn u0000_is_refused_wherever_text_is_stored() {
    let errors = parse_new_workflow(
        &json!({"name": "a\u{0}", "description": "\u{0}", "tags": ["t", "\u{0}t"], "condition": {"==": ["\u{0}", 1]},
            "tasks": [{"id": "a", "name": "", "function": {"name": "map", "input": {"k\u{0}": 1, "m": ["\u{0}"]}}}],
            "x-note": "\u{0}"}),
        &Marked,
    )
    .unwrap_err();
    assert_eq!(
        codes(&errors),
        [
            ("condition.==[0]", FieldCode::Invalid),
            ("tasks[0].function.input", FieldCode::Invalid),
            ("tasks[0].function.input.m[0]", FieldCode::Invalid),
            ("workflow.description", FieldCode::Invalid),
            ("workflow.name", FieldCode::Invalid),
            ("workflow.tags[1]", FieldCode::Invalid),
        ]
    );
    let channel = json!({"name": "c", "channel_type": "sync", "protocol": "rest", "methods": ["GET"], "route_pattern": "/c",
        "workflow_id": "w\u{0}", "topic": "\u{0}", "config": {"origin_allow_list": ["\u{0}"]},
        "transport_config": {"x": "\u{0}"}});
    let errors = parse_new_channel(&channel, &Marked).unwrap_err();
    assert_eq!(
        codes(&errors),
        [
            ("channel.config.origin_allow_list[0]", FieldCode::Invalid),
            ("channel.topic", FieldCode::Invalid),
            ("channel.transport_config.x", FieldCode::Invalid),
            ("channel.workflow_id", FieldCode::Invalid),
        ]
    );
}
