//! Tests of workflow validation.

use serde_json::{Value, json};

use super::{Marked, codes};
use crate::field::FieldCode::{DuplicateTaskId, Invalid, Required, TooLong, TypeMismatch, UnknownField};
use crate::{WorkflowContent, parse_new_workflow, parse_workflow_update, validate_workflow};

fn task(id: &str) -> Value {
    json!({"id": id, "name": "", "function": {"name": "map", "input": {}}})
}

fn content(body: &Value) -> WorkflowContent {
    parse_new_workflow(body, &Marked).unwrap().1
}

fn refusals(body: &Value) -> Vec<(String, crate::FieldCode)> {
    let errors = parse_new_workflow(body, &Marked).unwrap_err();
    codes(&errors).into_iter().map(|(path, code)| (path.to_owned(), code)).collect()
}

fn single_error(path: &str, code: crate::FieldCode) -> Vec<(String, crate::FieldCode)> {
    vec![(path.to_owned(), code)]
}

#[test]
fn absent_and_null_fields_take_their_defaults() {
    let bare = content(&json!({"name": "n", "tasks": [task("a")]}));
    let nulls = json!({"name": "n", "tasks": [task("a")], "description": null, "priority": null, "condition": null,
        "tags": null, "loop": null, "continue_on_error": null, "workflow_id": null, "$schema": "s", "x-from": 1});
    assert_eq!(bare, content(&nulls));
    assert_eq!((bare.priority, &bare.condition, bare.continue_on_error), (0, &json!(true), false));
    assert_eq!((bare.description, bare.loop_, bare.tags.len()), (None, None, 0));
}

#[test]
fn unknown_key_is_refused_shown_key_is_not() {
    let body = |key: &str| {
        let mut body = json!({"name": "n", "tasks": [task("a")]});
        body[key] = json!(1);
        body
    };
    assert_eq!(refusals(&body("conditon")), single_error("workflow.conditon", UnknownField));
    for key in crate::entity::Workflow::ONLY_READ.into_iter().filter(|key| *key != "workflow_id") {
        assert!(parse_new_workflow(&body(key), &Marked).is_ok(), "{key}");
    }
}

#[test]
fn the_callers_id_is_returned_and_checked() {
    let body = |id: &str| json!({"workflow_id": id, "name": "n", "tasks": [task("a")]});
    assert_eq!(parse_new_workflow(&body("w-1"), &Marked).unwrap().0.as_deref(), Some("w-1"));
    assert_eq!(refusals(&body("Export")), single_error("workflow.workflow_id", Invalid));
    assert_eq!(refusals(&body("")), single_error("workflow.workflow_id", Invalid));
    assert_eq!(refusals(&body(&"x".repeat(129))), single_error("workflow.workflow_id", TooLong));
}

#[test]
fn misshapen_body_is_named_field_by_field() {
    for body in [json!([]), json!("x"), json!(null)] {
        assert_eq!(refusals(&body), single_error("body", TypeMismatch));
    }
    let wrong = json!({"workflow_id": 1, "name": 2, "description": 3, "priority": 1.5, "tasks": {}, "tags": ["a", 4],
        "loop": [], "continue_on_error": "yes"});
    let paths: Vec<_> = refusals(&wrong)
        .into_iter()
        .map(|(path, code)| {
            assert_eq!(code, TypeMismatch);
            path
        })
        .collect();
    let due = ["continue_on_error", "description", "name", "priority", "tags[1]", "tasks", "workflow_id"];
    let due: Vec<_> =
        due.map(|field| format!("body.{field}")).into_iter().chain(["loop".to_owned()]).collect();
    assert_eq!(paths, due);
}

#[test]
fn type_mismatch_names_both_types_without_value() {
    let errors = parse_new_workflow(&json!({"name": 5, "tasks": [task("a")]}), &Marked).unwrap_err();
    let expected = json!({"path": "body.name", "code": "TYPE_MISMATCH", "message": "expected string, got number",
        "expected": "string", "got": "number"});
    assert_eq!(errors[0].to_json(), expected);
}

#[test]
fn names_and_descriptions_have_their_bounds_in_bytes() {
    let body = |name: String, description: String| json!({"name": name, "description": description, "tasks": [task("a")]});
    assert!(parse_new_workflow(&body("é".repeat(127), "d".repeat(2048)), &Marked).is_ok());
    assert_eq!(refusals(&body("é".repeat(128), String::new())), single_error("workflow.name", TooLong));
    assert_eq!(refusals(&body("n".into(), "d".repeat(2049))), single_error("workflow.description", TooLong));
    assert_eq!(refusals(&body(" \t".into(), String::new())), single_error("workflow.name", Invalid));
    assert_eq!(refusals(&json!({"tasks": [task("a")]})), single_error("workflow.name", Required));
}

#[test]
fn a_workflow_has_at_least_one_task() {
    assert_eq!(refusals(&json!({"name": "n"})), single_error("tasks", Required));
    assert_eq!(refusals(&json!({"name": "n", "tasks": []})), single_error("tasks", Invalid));
}

#[test]
fn every_malformed_step_is_reported_where_it_stands() {
    let tasks = json!([
        5,
        {},
        {"id": "", "name": 1, "description": 2, "terminal": 3, "continue_on_error": 4, "function": "map"},
        {"id": "f", "name": "", "function": {"name": " ", "input": []}},
        {"id": "g", "name": "", "function": {}},
        {"id": "h", "tasks": {}},
        {"id": "i", "tasks": []},
        {"id": "j", "name": 1, "tasks": [{"id": 7, "name": "", "function": {"name": "map"}}]}
    ]);
    let errors = parse_new_workflow(&json!({"name": "n", "tasks": tasks}), &Marked).unwrap_err();
    assert_eq!(
        codes(&errors),
        [
            ("tasks[0]", TypeMismatch),
            ("tasks[1].function", Required),
            ("tasks[1].id", Required),
            ("tasks[1].name", Required),
            ("tasks[2].continue_on_error", TypeMismatch),
            ("tasks[2].description", TypeMismatch),
            ("tasks[2].function", TypeMismatch),
            ("tasks[2].id", Invalid),
            ("tasks[2].name", TypeMismatch),
            ("tasks[2].terminal", TypeMismatch),
            ("tasks[3].function.input", TypeMismatch),
            ("tasks[3].function.name", Invalid),
            ("tasks[4].function.name", Required),
            ("tasks[5].tasks", TypeMismatch),
            ("tasks[6].tasks", Invalid),
            ("tasks[7].name", TypeMismatch),
            ("tasks[7].tasks[0].id", TypeMismatch),
        ]
    );
}

#[test]
fn tasks_and_groups_share_one_space_of_ids() {
    let tasks = json!([task("a"), {"id": "g", "tasks": [task("b"), {"id": "a", "tasks": [task("g")]}]}]);
    let errors = parse_new_workflow(&json!({"name": "n", "tasks": tasks}), &Marked).unwrap_err();
    assert_eq!(
        codes(&errors),
        [("tasks[1].tasks[1].id", DuplicateTaskId), ("tasks[1].tasks[1].tasks[0].id", DuplicateTaskId)]
    );
}

#[test]
fn ids_and_names_of_functions_have_a_length() {
    let tasks = |id: &str, function: &str| json!({"name": "n", "tasks": [{"id": id, "name": "", "function": {"name": function}}]});
    let (fits, long) = ("x".repeat(255), "x".repeat(256));
    assert!(parse_new_workflow(&tasks(&fits, &fits), &Marked).is_ok());
    let expected = [("tasks[0].function.name", TooLong), ("tasks[0].id", TooLong)];
    assert_eq!(refusals(&tasks(&long, &long)), expected.map(|(path, code)| (path.to_owned(), code)));
}

#[test]
fn groups_nest_eight_levels_and_no_more() {
    let nested = |levels: usize| {
        (0..levels).fold(task("t"), |inner, level| json!({"id": format!("g{level}"), "tasks": [inner]}))
    };
    assert!(parse_new_workflow(&json!({"name": "n", "tasks": [nested(8)]}), &Marked).is_ok());
    let ninth = format!("tasks[0]{}.tasks", ".tasks[0]".repeat(8));
    assert_eq!(refusals(&json!({"name": "n", "tasks": [nested(9)]})), single_error(&ninth, Invalid));
}

#[test]
fn the_engine_is_asked_whatever_the_model_found() {
    let errors = refusals(&json!({"name": "", "condition": "broken", "tasks": []}));
    let paths: Vec<_> = errors.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["condition", "tasks", "workflow.name"]);
}

#[test]
fn null_clears_only_description_and_loop() {
    let current = content(&json!({"name": "n", "description": "d", "priority": 4, "condition": false,
        "tasks": [task("a")], "tags": ["t"], "loop": {"max": 3}, "continue_on_error": true}));
    let update = |body: Value| parse_workflow_update(&body, &current, &Marked).unwrap();
    assert_eq!(update(json!({})), current);
    assert_eq!(
        update(json!({"name": null, "priority": null, "condition": null, "tasks": null, "tags": null,
        "continue_on_error": null, "workflow_id": "import"})),
        current
    );
    let cleared = update(json!({"description": null, "loop": null}));
    assert_eq!((cleared.description, cleared.loop_), (None, None));
    let changed = update(
        json!({"name": "m", "priority": 0, "tags": [], "tasks": [task("b")], "continue_on_error": false}),
    );
    assert_eq!((changed.name.as_str(), changed.priority, changed.tags.len()), ("m", 0, 0));
    assert_eq!((&changed.tasks[0]["id"], changed.continue_on_error), (&json!("b"), false));
    let errors = parse_workflow_update(&json!({"name": " ", "tasks": []}), &current, &Marked).unwrap_err();
    assert_eq!(codes(&errors), [("tasks", Invalid), ("workflow.name", Invalid)]);
}

#[test]
fn validate_reports_errors_and_warnings_in_one_form() {
    let bad = validate_workflow(&json!({"name": "n", "tasks": []}), &Marked).to_json();
    assert_eq!(bad["valid"], false);
    assert_eq!(
        bad["errors"][0],
        json!({"field": "tasks", "message": "a workflow has at least one task", "code": "INVALID"})
    );
    let odd =
        validate_workflow(&json!({"name": "n", "tasks": [task("a")], "condition": "odd"}), &Marked).to_json();
    assert_eq!(
        odd,
        json!({"valid": true, "errors": [], "warnings": [{"field": "condition", "message": "odd"}]})
    );
}
