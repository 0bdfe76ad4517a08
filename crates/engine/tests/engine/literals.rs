//! Warnings about what is kept as it is written although its author likely meant it to be computed.

use serde_json::{Value, json};
use svc_model::WorkflowChecks as _;

use crate::declared;
use crate::support::workflow;

fn warnings(document: &Value) -> Vec<(String, String)> {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    declared::engine().check(&workflow(document).content, &mut errors, &mut warnings);
    warnings.into_iter().map(|warning| (warning.field, warning.message)).collect()
}

fn input(function: &str, input: Value) -> Vec<(String, String)> {
    let task = json!({"id": "t", "name": "", "function": {"name": function, "input": input}});
    let found = warnings(&json!({"tasks": [task]}));
    let at = "tasks[0].function.input.";
    found.into_iter().map(|(field, message)| (field.replace(at, ""), message)).collect()
}

#[test]
fn text_of_a_path_is_warned_of() {
    let found = input("map", json!({"mappings": [{"path": "data.x", "logic": "payload.qty"}]}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "mappings[0].logic");
    assert!(found[0].1.contains(r#"read it by {"var": "payload.qty"}"#), "{found:?}");
    assert_eq!(input("map", json!({"mappings": [{"path": "data.x", "logic": "qty"}]})), []);
}

#[test]
fn read_in_a_literal_body_names_its_expression() {
    let body = json!({"id": {"var": "payload.id"}, "kind": "order"});
    let call = |input: Value| self::input("http_call", input);
    let found = call(json!({"connector": "c", "method": "POST", "body": body, "output": "data.x"}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "body.id");
    assert!(found[0].1.contains("give the whole value as 'body_logic'"), "{found:?}");
    let computed = json!({"connector": "c", "method": "POST", "body_logic": body, "output": "data.x"});
    assert_eq!(call(computed), []);
}

#[test]
fn template_in_a_statement_is_warned_of() {
    let query = "SELECT 1 FROM t WHERE id = '{{payload.id}}'";
    let found = input("db_read", json!({"connector": "c", "query": query, "output": "data.x"}));
    assert_eq!(found.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), ["query"]);
}

#[test]
fn condition_that_gives_no_boolean_is_warned_of() {
    let task = |condition: Value| {
        let function = json!({"name": "log", "input": {"message": "m"}});
        warnings(&json!({"tasks": [{"id": "t", "name": "", "condition": condition, "function": function}]}))
    };
    for condition in [json!({"length": {"var": "payload.items"}}), json!({"missing": ["payload.id"]})] {
        let found = task(condition);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.starts_with("this is never true: "), "{found:?}");
    }
    assert_eq!(task(json!({"!!": {"length": {"var": "payload.items"}}})), []);
    assert_eq!(task(json!({"var": "payload.is_new"})), []);
}

#[test]
fn capital_letters_of_a_header_are_warned_of() {
    let read = |path: &str| input("map", json!({"mappings": [{"path": "data.x", "logic": {"var": path}}]}));
    let found = read("metadata.headers.X-Tenant");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("'metadata.headers.x-tenant'"), "{found:?}");
    assert_eq!(read("metadata.headers.x-tenant"), []);
}

#[test]
fn members_of_caught_error_are_no_paths() {
    let warned = |logic: Value| {
        let found = input("map", json!({"mappings": [{"path": "data.x", "logic": logic}]}));
        found.into_iter().map(|(field, _)| field.replace("mappings[0].logic", "")).collect::<Vec<_>>()
    };
    let read = |path: &str| json!({"var": path});
    for fallback in
        [json!({"val": "type"}), read("type"), json!({"cat": ["e: ", {"val": ["error", "code"]}]})]
    {
        assert_eq!(warned(json!({"try": [read("payload.n"), fallback]})), [""; 0], "{fallback}");
    }
    let nested = json!({"try": [read("payload.n"), {"try": [read("data.n"), read("type")]}]});
    assert_eq!(warned(nested), [".try[1].try[0]"]);
    assert_eq!(warned(json!({"try": [read("type"), read("data.n")]})), [".try[0]", ".try[1]"]);
    assert_eq!(warned(json!({"try": [read("type")]})), [".try[0]"]);
}

#[test]
fn misspelt_var_in_folded_input_is_warned_of() {
    let roots = ["data", "metadata", "payload", "temp_data"];
    let reads = roots.iter().map(|root| json!({"vr": format!("{root}.x")}));
    let params: Vec<_> = reads.chain([json!({"a": "plain"}), json!({"vr": "other.x"})]).collect();
    let found =
        input("db_read", json!({"connector": "c", "query": "q", "params": params, "output": "data.y"}));
    let fields = found.iter().map(|(field, _)| field.as_str()).filter(|field| field.starts_with("params"));
    let fields: Vec<_> = fields.collect();
    assert_eq!(fields, ["params[0].vr", "params[1].vr", "params[2].vr", "params[3].vr"]);
}
