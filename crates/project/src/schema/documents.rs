//! The schemas of channels, connectors, workflows and shared documents.

use serde_json::{Map, Value, json};
use svc_engine::catalogue::Catalogue;
use svc_model::config::connector::{CONNECTORS, ConnectorReference};
use svc_model::config::reference::{BLOCKS, KeyReference};
use svc_model::documents::{
    CHANNEL, CONCURRENCY, CONNECTOR, CRON, FOR_EACH, GROUP, LOOP, REFUSED_CRON_BLOCKS, RETRY, TASK, WORKFLOW,
};
use svc_model::{Channel, Connector, Workflow};

use super::blocks::Blocks;
use super::functions::{function_schema, input_definitions};
use super::nodes::{ObjectSchema, any_case, list, members, or_shared_value, reference, with_description};
use super::words::{Choices, value_schema};

/// Members that direct the activation of an imported item.
const DIRECTIVES: [(&str, &str, &str); 3] = [
    ("activate", "boolean", "activates the version once it is imported"),
    ("rollout_percentage", "integer", "share of the traffic that the version takes once it is active"),
    (
        "rollout",
        "object",
        "steps by which that share rises by itself, their interval_secs, gate and on_rollback",
    ),
];

/// Keys that only channels of other protocols than `cron` have.
const ROUTED: [&str; 4] = ["methods", "route_pattern", "topic", "consumer_group"];

/// Returns the schema of a channel, and its definitions.
pub(super) fn channel() -> (Value, Map<String, Value>) {
    let mut object = document(&CHANNEL, &Channel::ONLY_READ, |key| match key.name {
        "config" => reference("config"),
        _ => json!({"type": "object"}),
    });
    object.rule(where_protocol(&["rest", "http"], json!({
        "required": ["methods", "route_pattern"],
        "properties": {"methods": {"not": {"enum": [null, []]}}, "route_pattern": {"not": {"enum": [null, ""]}}},
    })));
    object.rule(where_protocol(
        &["kafka"],
        json!({"required": ["topic"], "properties": {"topic": {"not": {"enum": [null, ""]}}}}),
    ));
    object.rule(where_protocol(&["cron"], cron_rule()));
    let config = Blocks { references: &BLOCKS, choices: Choices::Strict, is_open: false }.schema();
    let cron = keys(CRON, |key| match key.name {
        "concurrency" => keys(CONCURRENCY, |_| Value::Null).finish(),
        _ => json!({"type": "object"}),
    });
    let definitions = [("config", config), ("cron", cron.finish())];
    (object.finish(), definitions.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect())
}

fn cron_rule() -> Value {
    let mut properties: Map<String, Value> =
        ROUTED.iter().map(|name| ((*name).to_owned(), json!({"enum": [null, "", []]}))).collect();
    let mut refused: Map<String, Value> =
        REFUSED_CRON_BLOCKS.iter().map(|name| ((*name).to_owned(), json!({"type": "null"}))).collect();
    // Of this block it takes the schema of the payload alone.
    let members = json!({"schema": {}, "$schema": {}});
    refused.insert(
        "request".to_owned(),
        json!({"required": ["schema"], "properties": members, "patternProperties": {"^x-": {}},
            "additionalProperties": {"type": "null"}}),
    );
    properties.insert("config".to_owned(), json!({"properties": refused}));
    properties.insert("channel_type".to_owned(), or_shared_value(json!({"pattern": any_case(&["async"])})));
    properties.insert("transport_config".to_owned(), or_shared_value(reference("cron")));
    json!({"required": ["transport_config"], "properties": properties})
}

fn where_protocol(protocols: &[&str], then: Value) -> Value {
    let protocol = json!({"type": "string", "pattern": any_case(protocols)});
    json!({"if": {"properties": {"protocol": protocol}, "required": ["protocol"]}, "then": then})
}

/// Returns the schema of a connector, and its definitions.
pub(super) fn connector() -> (Value, Map<String, Value>) {
    let mut object = document(&CONNECTOR, &Connector::ONLY_READ, |_| json!({"type": "object"}));
    let mut definitions = Map::new();
    for ConnectorReference { kind, blocks } in CONNECTORS {
        let name = format!("config_{kind}");
        let kind = json!({"type": "string", "pattern": any_case(&[kind.name()])});
        let applies = json!({"properties": {"connector_type": kind}, "required": ["connector_type"]});
        let then =
            json!({"required": ["config"], "properties": {"config": or_shared_value(reference(&name))}});
        object.rule(json!({"if": applies, "then": then}));
        let blocks = Blocks { references: blocks, choices: Choices::OrUnresolved, is_open: true };
        definitions.insert(name, blocks.schema());
    }
    (object.finish(), definitions)
}

/// Returns the schema of a workflow, and its definitions.
pub(super) fn workflow(catalogue: &Catalogue) -> (Value, Map<String, Value>) {
    let object = document(&WORKFLOW, &Workflow::ONLY_READ, |key| match key.name {
        "tasks" => reference("steps"),
        _ => reference("loop"),
    });
    (object.finish(), step_definitions(catalogue))
}

/// Returns the schema of a shared document, and its definitions.
pub(super) fn shared_document(catalogue: &Catalogue) -> (Value, Map<String, Value>) {
    let namespace = |description: &str| with_description(description, json!({"type": "object"}));
    let mut object = ObjectSchema::default();
    object.property("constants", namespace("values, by name"));
    object.property("errors", namespace("values of errors, by name"));
    object.property(
        "fragments",
        with_description("tasks that workflows call with `use`, by name", members(reference("fragment"))),
    );
    object.rule(json!({"anyOf": [{"required": ["constants"]}, {"required": ["errors"]}, {"required": ["fragments"]}]}));
    let mut schema = object.open().finish();
    schema["additionalProperties"] = namespace("a further namespace of values, by name");
    let mut definitions = step_definitions(catalogue);
    definitions.insert("fragment".to_owned(), fragment());
    (schema, definitions)
}

fn fragment() -> Value {
    let mut param = ObjectSchema::default().open();
    param.property("default", json!({"description": "used where a call gives no argument"}));
    let param = json!({"anyOf": [param.finish(), {"type": "null"}]});
    let mut object = ObjectSchema::default().open();
    object.property(
        "params",
        with_description(
            "parameters; one without a default is required",
            json!({"type": ["object", "null"], "additionalProperties": param}),
        ),
    );
    object.property("tasks", with_description("tasks and groups, in order", reference("members")));
    object.require("tasks");
    object.finish()
}

/// Returns the definitions of tasks, groups, calls of fragments, loops and inputs.
fn step_definitions(catalogue: &Catalogue) -> Map<String, Value> {
    let steps = |of: &str| {
        let mut steps = list(reference(of));
        steps["minItems"] = 1.into();
        steps
    };
    let choice = |key: &str, then: &str, otherwise: &str| json!({"type": "object", "if": {"required": [key]}, "then": reference(then), "else": reference(otherwise)});
    let mut call = ObjectSchema::default().open();
    call.property("id", json!({"type": "string", "description": "prefixes the ids of the fragment's tasks"}));
    call.property("use", json!({"type": "string", "description": "name of the fragment"}));
    call.property("with", json!({"type": ["object", "null"], "description": "arguments, by parameter"}));
    let mut definitions = input_definitions(catalogue);
    for (name, schema) in [
        ("steps", steps("step")),
        ("step", choice("use", "call", "member")),
        ("call", call.finish()),
        // Only the tasks of a workflow call fragments; those of a group or a fragment do not.
        ("members", steps("member")),
        ("member", choice("tasks", "group", "task")),
        ("group", keys(&GROUP, step_part).finish()),
        ("task", keys(&TASK, step_part).finish()),
        ("for_each", keys(&FOR_EACH, |_| Value::Null).finish()),
        ("retry", keys(&RETRY, |_| Value::Null).finish()),
        ("function", function_schema(catalogue)),
        ("loop", keys(&LOOP, |_| reference("members")).finish()),
        ("var", operator_call("var", "path of the message that is read")),
        ("secret", operator_call("secret", "name of a secret that `[secrets]` declares")),
    ] {
        definitions.insert(name.to_owned(), schema);
    }
    definitions
}

/// Returns the schema of a key of a task or group that has a definition of its own.
fn step_part(key: &KeyReference) -> Value {
    match key.kind {
        "steps" => reference("members"),
        _ => reference(key.name),
    }
}

fn operator_call(name: &str, description: &str) -> Value {
    // A description of the object would hide that of its key.
    let properties = json!({name: {"description": description}});
    json!({"type": "object", "properties": properties, "required": [name], "maxProperties": 1})
}

/// Returns the schema of a document with the keys that its reads show in addition.
fn document(own: &[KeyReference], only_read: &[&str], part: impl Fn(&KeyReference) -> Value) -> ObjectSchema {
    let mut object = keys(own, part);
    let is_own = |name: &str| own.iter().any(|key| key.name == name);
    for name in only_read.iter().filter(|name| !is_own(name)) {
        object.property(
            name,
            json!({"description": "read-only: shown by the server, ignored when it is sent"}),
        );
    }
    for (name, kind, description) in DIRECTIVES {
        object.property(
            name,
            with_description(description, value_schema(kind, Choices::Strict).unwrap_or_default()),
        );
    }
    object
}

/// Returns the schema of an object with these keys; `part` is that of a key whose kind is a part of the document.
fn keys(keys: &[KeyReference], part: impl Fn(&KeyReference) -> Value) -> ObjectSchema {
    let mut object = ObjectSchema::default();
    for key in keys {
        let value = match key.kind {
            "object" => json!({"type": "object"}),
            kind => value_schema(kind, Choices::Strict).unwrap_or_else(|| part(key)),
        };
        object.key(key, value);
    }
    object
}
