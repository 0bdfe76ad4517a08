//! Tests of the schemas with the functions of the engine alone; the server compares them with its own checks.

use jsonschema::Validator;
use serde_json::{Value, json};
use svc_engine::Engine;
use svc_model::config::connector::CONNECTORS;
use svc_model::config::reference::BLOCKS;

use super::DocumentKind;
use super::words::{Choices, value_schema};

fn validator(kind: DocumentKind) -> Validator {
    let schema = kind.schema(Engine::builder().build().catalogue());
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{}: {error}", kind.name()))
}

fn accepts(kind: DocumentKind, document: &Value) -> Vec<String> {
    let place = |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    validator(kind).iter_errors(document).map(place).collect()
}

fn workflow(task: Value) -> Value {
    json!({"name": "w", "tasks": [task]})
}

fn map(input: Value) -> Value {
    json!({"id": "m", "name": "M", "function": {"name": "map", "input": input}})
}

#[test]
fn schemas_are_schemas_of_their_draft() {
    for kind in DocumentKind::ALL {
        validator(kind);
    }
}

#[test]
fn words_of_every_reference_have_a_schema() {
    let connectors = CONNECTORS.iter().flat_map(|reference| reference.blocks);
    for key in BLOCKS.iter().chain(connectors).flat_map(|block| block.keys) {
        let is_part = ["block", "list of blocks", "object of blocks"].contains(&key.kind);
        assert!(is_part || value_schema(key.kind, Choices::Strict).is_some(), "{}: {}", key.name, key.kind);
    }
}

#[test]
fn source_that_is_compiled_later_is_accepted() {
    let mappings = json!([{"path": {"$from": "paths.total"}, "logic": 1}]);
    for task in [
        json!({"use": "guard"}),
        json!({"id": "g", "use": "guard", "with": {"why": "late"}}),
        json!({"$from": "tasks.load"}),
        map(json!({"mappings": mappings})),
        map(json!({"$from": "inputs.totals", "mappings": []})),
    ] {
        assert_eq!(accepts(DocumentKind::Workflow, &workflow(task.clone())), [""; 0], "{task}");
    }
    let fragment = json!({"fragments": {"guard": {
        "params": {"why": {"default": "no"}, "path": {}},
        "tasks": [map(json!({"mappings": [{"path": {"$param": "path"}, "logic": {"$param": "why"}}]}))],
    }}, "limits": {"n": 1}, "x-owner": "orders"});
    assert_eq!(accepts(DocumentKind::Shared, &fragment), [""; 0]);
    let in_group = workflow(json!({"id": "g", "tasks": [{"use": "guard"}]}));
    assert!(!accepts(DocumentKind::Workflow, &in_group).is_empty(), "a group calls no fragment");
    let parameter = workflow(map(json!({"mappings": {"$param": "all"}})));
    assert!(!accepts(DocumentKind::Workflow, &parameter).is_empty(), "only fragments have parameters");
}

#[test]
fn shape_of_shared_definitions_is_checked() {
    for document in [
        json!({}),
        json!({"limits": {}}),
        json!({"constants": 1}),
        json!({"constants": {}, "limits": 1}),
        json!({"fragments": {"f": {}}}),
        json!({"fragments": {"f": {"tasks": [{"id": "a", "tsks": []}]}}}),
    ] {
        assert!(!accepts(DocumentKind::Shared, &document).is_empty(), "{document}");
    }
}

#[test]
fn shape_of_cases_is_checked() {
    let case = json!({"name": "c", "workflow": "w.json", "input": null, "metadata": {"auth": {"claims": {}}, "x": 1},
        "stubs": {}, "expect": {"data.a[0]": 1, "calls": {}}, "expect_errors": ["TIMEOUT"],
        "expect_calls": {"http_call": []}, "expect_tasks": ["a"], "$schema": "s"});
    assert_eq!(accepts(DocumentKind::Case, &case), [""; 0]);
    for (key, value) in [
        ("workflow", json!(null)),
        ("expct", json!({})),
        ("stubs", json!({"map": {}})),
        ("secrets", json!({"k": 1})),
        ("expect", json!({"state": 1})),
        ("expect_errors", json!([1])),
        ("expect_tasks", json!("a")),
        ("metadata", json!({"auth": {"sub": 1}})),
        ("metadata", json!({"headers": {"a": 1}})),
    ] {
        let mut mutant = case.clone();
        mutant[key] = value;
        assert!(!accepts(DocumentKind::Case, &mutant).is_empty(), "{mutant}");
    }
}

/// The keywords whose schemas apply to the same value.
const SAME_VALUE: [&str; 6] = ["if", "then", "else", "anyOf", "allOf", "oneOf"];

/// Calls `visit` with each schema that applies to the same value as `schema`, itself left out.
fn each_beside<'s>(
    schema: &'s Value,
    definitions: &'s Value,
    depth: usize,
    visit: &mut dyn FnMut(&'s Value),
) {
    if depth == 0 {
        return;
    }
    let target = schema["$ref"].as_str().map(|reference| &definitions[reference.rsplit('/').next().unwrap()]);
    let members = SAME_VALUE.iter().filter_map(|keyword| schema.get(keyword));
    let members = members.flat_map(|member| match member {
        Value::Array(items) => items.iter().collect::<Vec<_>>(),
        one => vec![one],
    });
    for beside in members.chain(target) {
        visit(beside);
        each_beside(beside, definitions, depth - 1, visit);
    }
}

/// Calls `visit` with each schema of a property, at any depth, and the name of the property.
fn each_property<'s>(schema: &'s Value, visit: &mut dyn FnMut(&'s str, &'s Value)) {
    match schema {
        Value::Object(members) => {
            for (keyword, member) in members {
                if let ("properties", Value::Object(properties)) = (keyword.as_str(), member) {
                    properties.iter().for_each(|(name, property)| visit(name, property));
                }
                each_property(member, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_property(item, visit)),
        _ => {}
    }
}

#[test]
fn editors_find_description_and_words_of_each_key() {
    let (mut described, mut chosen) = (0, 0);
    for kind in DocumentKind::ALL {
        let schema = kind.schema(Engine::builder().build().catalogue());
        each_property(&schema, &mut |name, property| {
            let own = property.get("description").and_then(Value::as_str);
            let shown = property.get("examples").and_then(Value::as_array).cloned().unwrap_or_default();
            described += usize::from(own.is_some());
            let mut has_words = false;
            each_beside(property, &schema["$defs"], 6, &mut |beside| {
                // An editor shows the innermost description of a value.
                if let (Some(own), Some(inner)) = (own, beside["description"].as_str()) {
                    assert_eq!(inner, own, "{}: {name}", kind.name());
                }
                for word in beside["enum"].as_array().into_iter().flatten().filter(|word| !word.is_null()) {
                    has_words = true;
                    let is_condition = own.is_none();
                    assert!(is_condition || shown.contains(word), "{}: {name}: {word}", kind.name());
                }
            });
            chosen += usize::from(has_words && own.is_some());
        });
    }
    assert!(described > 100 && chosen > 20, "{described} {chosen}");
}
