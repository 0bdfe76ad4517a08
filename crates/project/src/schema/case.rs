//! The schema of test cases.

use serde_json::{Map, Value, json};
use svc_engine::catalogue::{Catalogue, FunctionEntry};

use super::nodes::{ObjectSchema, nullable, with_description};

/// The roots of the paths of `expect`.
const ROOTS: &str = r"^(data|metadata|temp_data|calls|audit_trail)($|[.\[])";

/// Returns the schema of a test case.
pub(super) fn schema(catalogue: &Catalogue) -> Value {
    let mut object = ObjectSchema::default();
    for (name, schema, description) in members(catalogue) {
        let schema = if ["workflow", "input"].contains(&name) { schema } else { nullable(schema) };
        object.property(name, with_description(description, schema));
    }
    object.require("workflow");
    object.require("input");
    object.finish()
}

/// Returns the members with their schemas and descriptions.
fn members(catalogue: &Catalogue) -> [(&'static str, Value, &'static str); 11] {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    [
        ("name", text(), "the label in reports; the name of the file by default"),
        ("workflow", text(), "path of the workflow, relative to this file"),
        ("input", json!({}), "the payload"),
        (
            "metadata",
            metadata(),
            "metadata of the run: `headers`, `params`, `query`, `cookies`, `auth`, `vars`, `cloudevent` and others",
        ),
        (
            "stubs",
            stubs(catalogue),
            "answers of connectors and channels, by function and target; `*` is any target",
        ),
        ("stubs_file", text(), "path of a file of stubs, relative to this file; `stubs` go first"),
        (
            "secrets",
            json!({"type": "object", "additionalProperties": text()}),
            "stand-ins of declared secrets",
        ),
        (
            "expect",
            json!({"type": "object", "patternProperties": {ROOTS: {}}, "additionalProperties": false}),
            "values by path; every path begins at data, metadata, temp_data, calls or audit_trail",
        ),
        ("expect_errors", texts(), "codes of the task errors, in order; checked even where it is absent"),
        (
            "expect_calls",
            json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}}),
            "inputs of the calls of a function, in order; members that are named must match",
        ),
        ("expect_tasks", texts(), "ids of the tasks that ran, in order"),
    ]
}

fn metadata() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({"type": "object", "properties": {
        "headers": texts, "params": texts, "query": texts, "cookies": texts,
        "channel": {"type": "string"}, "http_method": {"type": "string"},
        "body_encoding": {"type": "string"},
        "cloudevent": {"type": "object"},
        "vars": {"type": "object"},
        "identity": {"type": "object"},
        "oauth": {"type": "object"},
        "auth": {"type": "object", "properties": {
            "claims": {"type": "object"}, "principal": {"type": "string"}, "consumer": {"type": "string"},
        }, "additionalProperties": false},
    }})
}

/// Returns the schema of stubs: only functions that reach outside, and those of plugins, have any.
fn stubs(catalogue: &Catalogue) -> Value {
    let is_stubbable = |entry: &&FunctionEntry| entry.is_stubbable();
    let targets = json!({
        "type": "object",
        "description": "answers by connector or channel",
        "additionalProperties": answer(),
    });
    let functions = catalogue.entries().filter(is_stubbable).flat_map(FunctionEntry::names);
    let functions: Map<String, Value> = functions.map(|name| (name.to_owned(), targets.clone())).collect();
    json!({"type": "object", "properties": functions, "additionalProperties": false})
}

/// Returns the schema of an answer: any value, or an error as its only member.
fn answer() -> Value {
    let mut error = ObjectSchema::default();
    error.property("code", json!({"type": "string", "description": "code of the task error"}));
    error.property("message", json!({"type": "string", "description": "text of the error"}));
    error.property("status", json!({"type": "integer", "description": "status of the answer that failed"}));
    error.property("body", json!({"description": "body of the answer that failed"}));
    error.require("code");
    let fails = json!({"type": "object", "required": ["$error"], "maxProperties": 1});
    json!({"if": fails, "then": {"properties": {"$error": error.finish()}}})
}
