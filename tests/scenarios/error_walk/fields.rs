//! The codes of problems that name a field.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use super::NextStep::Told;
use super::{ProvokedError, check_walk, text_of};
use crate::support::{channel, echo, echo_workflow, start};

const ADMIN: &str = "/api/v1/admin";

/// A document, the code that its validation reports, the place, and the words of the message that say what to do.
type FieldCase = (&'static str, Value, &'static str, &'static str, &'static str);

/// Returns a workflow with one task.
fn with_task(function: &str, input: Value) -> Value {
    json!({"name": "w", "tasks": [{"id": "t", "name": "t", "function": {"name": function, "input": input}}]})
}

/// Returns a workflow that writes to a MongoDB collection.
fn mongo_write(input: Value) -> Value {
    let mut whole = json!({"connector": "m", "database": "d", "collection": "c"});
    whole.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
    with_task("mongo_write", whole)
}

/// Returns a channel with a member set by its JSON pointer.
fn channel_with(pointer: &str, value: Value) -> Value {
    let mut document = channel("c", "w", json!({}));
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[key] = value;
    document
}

fn documents() -> Vec<FieldCase> {
    const INPUT: &str = "tasks[0].function.input";
    let map = |logic: Value| with_task("map", json!({"mappings": [{"path": "data.x", "logic": logic}]}));
    let task = json!({"id": "t", "name": "t", "function": {"name": "log", "input": {"message": "m"}}});
    vec![
        ("workflows", json!({"name": "w"}), "REQUIRED", "tasks", "required"),
        (
            "channels",
            channel_with("/route_pattern", Value::Null),
            "REQUIRED_FOR_PROTOCOL",
            "channel.route_pattern",
            "needs this field",
        ),
        (
            "channels",
            channel_with("/channel_type", json!("both")),
            "INVALID",
            "channel.channel_type",
            "use one of sync, async",
        ),
        (
            "channels",
            channel_with("/config/auth", json!({"mode": "jwt", "algorithms": ["HS25"]})),
            "INVALID",
            "channel.config.auth",
            "did you mean 'HS256'?",
        ),
        ("workflows", json!({"name": 1, "tasks": [task]}), "TYPE_MISMATCH", "name", "expected string"),
        ("workflows", json!({"name": "w".repeat(300), "tasks": [task]}), "TOO_LONG", "name", "at most 255"),
        ("channels", channel_with("/confg", json!({})), "UNKNOWN_FIELD", "confg", "did you mean 'config'?"),
        (
            "workflows",
            json!({"name": "w", "condition": {"=": [1, 1]}, "tasks": [task]}),
            "UNKNOWN_OPERATOR",
            "condition",
            "did you mean",
        ),
        (
            "workflows",
            json!({"name": "w", "condition": {"and": [true, {"==": [1, 1], "in": [1, [1]]}]}, "tasks": [task]}),
            "NOT_AN_EXPRESSION",
            "condition.and[1]",
            "combine its members with 'and' or 'or'",
        ),
        ("workflows", map(json!({"conct": ["a", "b"]})), "logic.unknown_operator", "conct", "is data"),
        (
            "workflows",
            with_task("crypto", json!({"op": "hash", "algorithm": "sha256", "data": {"cat": ["a", "b"]}})),
            "logic.unresolvable",
            INPUT,
            "only {\"var\": path} is folded",
        ),
        (
            "workflows",
            with_task("map", json!({"mappings": [{"path": "other.x", "logic": 1}]})),
            "path.root",
            "path",
            "data, metadata and temp_data",
        ),
        (
            "workflows",
            with_task("channel_call", json!({"channel": "c", "output": "data.a", "response_path": "data.b"})),
            "DUPLICATE_FIELD",
            "response_path",
            "keep one",
        ),
        ("workflows", json!({"name": "w", "tasks": [task, task]}), "DUPLICATE_TASK_ID", "tasks[1].id", "'t'"),
        (
            "workflows",
            json!({"name": "w", "tasks": [{"id": "g", "parallel": true, "tasks": [
                {"id": "one", "name": "", "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": 1}]}}},
                {"id": "two", "name": "", "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": 2}]}}},
            ]}]}),
            "CONFLICTING_WRITES",
            "tasks[1]",
            "write different places",
        ),
        (
            "workflows",
            with_task("mapp", json!({})),
            "UNKNOWN_FUNCTION",
            "function.name",
            "did you mean \"map\"?",
        ),
        (
            "workflows",
            json!({"name": "w", "tasks": [{"use": "session"}]}),
            "UNCOMPILED_SOURCE",
            "tasks[0]",
            "compile the source first",
        ),
        (
            "workflows",
            map(json!("env://KEY")),
            "UNRESOLVED_SECRET_REF",
            "logic",
            "declare it under [secrets]",
        ),
        ("workflows", map(json!({"secret": "absent"})), "NOT_LOADABLE", INPUT, "is not declared here"),
        (
            "channels",
            channel_with("/config/auth", json!({"mode": "api_key", "keys": ["key env://KEY"]})),
            "env.embedded",
            "channel.config.auth",
            "resolved where it begins the text",
        ),
        ("workflows", mongo_write(json!({"op": "insert_one"})), "missing_required", "document", "insert_one"),
        (
            "workflows",
            mongo_write(json!({"op": "insert_one", "document": {"a": 1}, "filter": {}})),
            "field_not_applicable",
            "filter",
            "insert_one",
        ),
        ("workflows", mongo_write(json!({"op": "merge"})), "unknown_op", "op", "insert_one"),
        (
            "workflows",
            mongo_write(json!({"op": "update_one", "filter": {}, "update": {}})),
            "empty_update",
            "update",
            "at least one operator",
        ),
        (
            "workflows",
            mongo_write(json!({"op": "update_one", "filter": {}, "update": {"a": 1}})),
            "update_requires_operators",
            "update",
            "$set",
        ),
        (
            "workflows",
            mongo_write(json!({"op": "update_one", "filter": {}, "update": {"$set": {"a.$[x]": 1}}})),
            "unusable_array_filters",
            "array_filters",
            "identifier",
        ),
        (
            "workflows",
            mongo_write(json!({"op": "replace_one", "filter": {}, "document": {"$set": {"a": 1}}})),
            "replace_document_is_plain",
            "document",
            "$set",
        ),
        (
            "workflows",
            with_task(
                "mongo_aggregate",
                json!({"connector": "m", "database": "d", "collection": "c", "pipeline": [{"$currentOp": {}}]}),
            ),
            "invalid_pipeline",
            "pipeline[0]",
            "$currentOp",
        ),
    ]
}

/// Returns the error of a report with a code.
fn issue(report: &Value, code: &str) -> String {
    let listed = ["errors", "warnings"].into_iter().filter_map(|list| report[list].as_array()).flatten();
    let issue = listed.into_iter().find(|issue| issue["code"] == code);
    let issue = issue.unwrap_or_else(|| panic!("no {code}: {report}"));
    format!("{}: {}", text_of(issue, "field"), text_of(issue, "message"))
}

/// Returns the report of a dry run.
fn dry_run(client: &mut HttpClient, method: &str, path: &str, tag: Option<&str>, body: &Value) -> Value {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(tag.map(|tag| ("if-match", tag)));
    let path = format!("{ADMIN}/{path}?dry_run=true");
    let answer = client.send(method, &path, &headers, body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn every_field_code_names_place_and_remedy() {
    let server = start();
    let mut client = server.client();
    let mut provoked = Vec::new();
    for (kind, document, code, place, step) in documents() {
        let answer = client.json("POST", &format!("{ADMIN}/{kind}/validate"), &document).unwrap();
        assert_eq!(answer.status, 200, "{code}: {}", answer.text());
        let message = issue(&answer.json()["data"], code);
        provoked.push(ProvokedError { code, message, place, next: Told(step) });
    }
    echo(&mut client, "w", json!({}));
    let active = json!({"status": "active"});
    for (method, path, tag, body, code, place, step) in [
        ("PATCH", "workflows/absent/status", None, &active, "NOT_FOUND", "'absent'", "does not exist"),
        ("POST", "workflows", None, &echo_workflow("w"), "CONFLICT", "'w'", "exists"),
        (
            "PATCH",
            "workflows/w/status",
            Some("\"stale\""),
            &active,
            "PRECONDITION_FAILED",
            "'w'",
            "read it again",
        ),
    ] {
        let message = issue(&dry_run(&mut client, method, path, tag, body), code);
        provoked.push(ProvokedError { code, message, place, next: Told(step) });
    }
    check_walk(&provoked, &[], svc::error_codes::field_error_codes());
}
