//! The schemas against the checks of the admin API: whatever a create request accepts validates, over the documents of the
//! examples and of the manual, and whatever is wrong by shape does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Value, json};
use svc_engine::Engine;
use svc_model::config::connector::CONNECTORS;
use svc_model::config::reference::{BLOCKS, KeyReference};
use svc_model::{ValidationReport, validate_channel, validate_connector, validate_workflow};
use svc_project::rules::{ChannelRules, ConnectorRules};
use svc_project::schema::DocumentKind;

use crate::offline;

mod mutants;

struct Judge {
    engine: Arc<Engine>,
    rules: ChannelRules,
    validators: BTreeMap<&'static str, Validator>,
}

impl Judge {
    fn new() -> Self {
        let engine = Arc::new(offline::engine_builder().build());
        let validator = |kind: DocumentKind| {
            let schema = kind.schema(engine.catalogue());
            jsonschema::meta::validate(&schema).unwrap();
            (kind.name(), jsonschema::draft202012::new(&schema).unwrap())
        };
        let validators = DocumentKind::ALL.into_iter().map(validator).collect();
        let rules = ChannelRules::new(Arc::clone(&engine), false);
        Self { engine, rules, validators }
    }

    fn report(&self, kind: DocumentKind, document: &Value) -> ValidationReport {
        match kind {
            DocumentKind::Channel => validate_channel(document, &self.rules),
            DocumentKind::Connector => validate_connector(document, &ConnectorRules),
            _ => validate_workflow(document, &*self.engine),
        }
    }

    fn schema_errors(&self, kind: DocumentKind, document: &Value) -> Vec<String> {
        let errors = self.validators[kind.name()].iter_errors(document);
        errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

fn kind_of(document: &Value) -> DocumentKind {
    match () {
        () if document.get("tasks").is_some() => DocumentKind::Workflow,
        () if document.get("connector_type").is_some() => DocumentKind::Connector,
        () => DocumentKind::Channel,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Finds the files below a directory that are in folders of one of these names.
fn files(directory: &Path, folders: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, folders, found);
        } else if folders.iter().any(|name| directory.ends_with(name)) {
            found.push(path);
        }
    }
}

/// Reads the documents of the examples in folders of these names.
fn example_documents(folders: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    files(&root().join("examples"), folders, &mut found);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    found.sort();
    let read = |path: PathBuf| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    found.into_iter().map(read).collect()
}

/// The definitions of the examples.
fn examples() -> Vec<Value> {
    example_documents(&["channels", "connectors", "workflows"])
}

/// The test cases of the examples.
fn cases() -> Vec<Value> {
    example_documents(&["tests"])
}

/// A workflow for each input of the function pages of the manual.
fn documented_inputs() -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("docs/functions.md")).unwrap();
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```json ") else { continue };
        let body: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        let value: Value = serde_json::from_str(&body.join("\n")).unwrap();
        match info {
            "workflow" => blocks.push(value),
            "tasks" => blocks.push(json!({"name": "w", "tasks": value})),
            _ => {
                let Some(function) = info.strip_prefix("input ") else { continue };
                let function = json!({"name": function, "input": value});
                blocks.push(json!({"name": "w", "tasks": [{"id": "t", "name": "T", "function": function}]}));
            }
        }
    }
    blocks
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A document for each key of each block of a channel or connector.
fn documented_blocks() -> Vec<Value> {
    let minimal = |form: &str, keys: &[KeyReference]| {
        let mut object = if form.is_empty() { json!({}) } else { parse(form) };
        for key in keys.iter().filter(|key| key.required) {
            object[key.name] = parse(key.example);
        }
        object
    };
    let mut documents = Vec::new();
    for block in BLOCKS.iter().filter(|block| !block.path.contains('.')) {
        for key in block.keys {
            let mut object = minimal(block.form, block.keys);
            object[key.name] = parse(key.example);
            let config = match (block.path, block.path.strip_suffix("[]")) {
                ("", _) => object,
                (_, Some(path)) => json!({path: [object]}),
                (path, None) => json!({path: object}),
            };
            documents
                .push(json!({"name": "c", "channel_type": "sync", "protocol": "REST", "methods": ["post"],
                "route_pattern": "/c", "config": config}));
        }
    }
    for reference in &CONNECTORS {
        for block in reference.blocks {
            for key in block.keys.iter().filter(|key| !key.example.is_empty()) {
                let mut object = minimal(block.form, block.keys);
                object[key.name] = parse(key.example);
                let mut config = minimal("", reference.blocks[0].keys);
                if block.path.is_empty() {
                    config = object
                } else {
                    config[block.path] = object
                }
                documents
                    .push(json!({"name": "c", "connector_type": reference.kind.name(), "config": config}));
            }
        }
    }
    let cron = json!({"schedule": "0 30 3 * * Mon-Fri", "timezone": "Europe/Berlin", "payload": {"a": 1},
        "misfire_policy": "catch_up", "max_catch_up": 5, "concurrency": {"policy": "forbid", "key": "k", "slots": 2}});
    documents.push(json!({"channel_id": "n", "name": "n", "channel_type": "async", "protocol": "cron", "priority": 1,
        "workflow_id": "w", "transport_config": cron, "config": {"timeout_ms": 9}, "tags": ["t"], "description": "d"}));
    documents.push(json!({"name": "k", "channel_type": "async", "protocol": "kafka", "topic": "t",
        "consumer_group": null, "x-note": 1, "$schema": "s", "version": 3, "content_hash": "h"}));
    documents
}

/// A workflow that uses every part of one.
fn whole_workflow() -> Value {
    let set = |path: &str| json!({"name": "map", "input": {"mappings": [{"path": path, "logic": {"var": "data.a"}}]}});
    json!({"workflow_id": "w", "name": "W", "description": "d", "priority": 2, "condition": {"!": [{"var": "data.off"}]},
    "tags": ["t"], "continue_on_error": true, "loop": {"counter": "n", "init": 1, "increment": 1, "max": 3,
        "over": {"var": "payload"}, "as": "row", "scratch": "work",
        "setup": [{"id": "s", "name": "S", "function": set("data.s")}]},
    "tasks": [
        {"id": "a", "name": "A", "description": "d", "condition": true, "terminal": false,
            "continue_on_error": true, "function": set("data.b")},
        {"id": "g", "name": "G", "condition": null, "tasks": [{"id": "c", "name": "C", "function": set("data.c")}]},
        {"id": "e", "name": "E", "for_each": {"over": [1], "as": "n", "index_as": "i", "max_concurrency": 2,
            "collect": "data.e", "into": "data.list", "continue_on_error": true}, "halt_on": "failure",
            "retry": {"attempts": 2, "delay": "1s", "factor": 1.5, "on": ["IO_ERROR"], "unsafe": false},
            "timeout_ms": 5, "function": set("data.e")},
        {"id": "p", "parallel": true, "timeout_ms": 5, "for_each": null,
            "tasks": [{"id": "p1", "name": "P", "function": set("data.p1")}],
            "on_error": [{"id": "p2", "name": "P", "function": set("data.p2")}],
            "finally": [{"id": "p3", "tasks": [{"id": "p4", "name": "P", "function": set("data.p4")}]}]},
        {"id": "l", "name": "L", "function": {"name": "log", "input": {"message": "m", "fields": {"a": {"var": "data.a"}}, "level": null}}},
    ]})
}

fn corpus() -> Vec<Value> {
    let mut corpus = examples();
    assert!(corpus.len() > 20, "{} examples", corpus.len());
    corpus.extend(documented_inputs());
    corpus.extend(documented_blocks());
    corpus.push(whole_workflow());
    corpus
}

#[test]
fn documents_that_create_accepts_validate() {
    let judge = Judge::new();
    for document in corpus() {
        let kind = kind_of(&document);
        let report = judge.report(kind, &document);
        if report.errors.is_empty() {
            assert_eq!(judge.schema_errors(kind, &document), [""; 0], "{document}");
        }
    }
}

#[test]
fn create_and_schema_refuse_wrong_shapes() {
    let judge = Judge::new();
    let channel = json!({"name": "c", "channel_type": "sync", "protocol": "rest", "methods": ["POST"], "route_pattern": "/c"});
    let map = json!({"name": "map", "input": {"mappings": [{"path": "data.a", "logic": 1}]}});
    let workflow = json!({"name": "w", "tasks": [{"id": "a", "name": "A", "function": map}]});
    let connector = json!({"name": "c", "connector_type": "db", "config": {"connection_string": "postgres://db.example/c"}});
    let bases = [
        (DocumentKind::Channel, &channel),
        (DocumentKind::Workflow, &workflow),
        (DocumentKind::Connector, &connector),
    ];
    for (kind, base) in bases {
        assert!(judge.report(kind, base).errors.is_empty(), "{base}");
        assert_eq!(judge.schema_errors(kind, base), [""; 0], "{base}");
    }
    let task = |function: Value| json!([{"id": "a", "name": "A", "function": function}]);
    for (kind, key, value) in [
        (0, "name", json!(null)),
        (0, "channel_type", json!("synch")),
        (0, "protocol", json!(7)),
        (0, "methods", json!("POST")),
        (0, "methods", json!(["FETCH"])),
        (0, "methods", json!(null)),
        (0, "priority", json!("1")),
        (0, "tags", json!([1])),
        (0, "conifg", json!({})),
        (0, "config", json!({"cors": {}})),
        (0, "config", json!({"timeout_ms": "5"})),
        (0, "config", json!({"rate_limit": {}})),
        (0, "config", json!({"rate_limit": {"requests_per_second": "1"}})),
        (0, "config", json!({"auth": {"mode": "api_key"}})),
        (0, "config", json!({"auth": {"mode": "basic", "keys": ["k"]}})),
        (0, "config", json!({"auth": {"mode": "jwt", "algorithms": ["RS256"]}})),
        (1, "conditon", json!(true)),
        (1, "tasks", json!([])),
        (1, "tasks", json!([{}])),
        (1, "tasks", json!([{"id": "a", "tasks": [], "loop": {"max": 2}}])),
        (1, "tasks", json!([{"id": "a", "name": "A", "for_each": {"over": []}, "function": map}])),
        (1, "tasks", json!([{"id": "a", "name": "A", "retry": {"delay": "1s"}, "function": map}])),
        (1, "tasks", json!([{"id": "a", "name": "A", "parallel": true, "function": map}])),
        (1, "tasks", json!([{"id": "a", "name": "A", "halt_on": "error", "function": map}])),
        (1, "tasks", task(json!({"name": "mapp", "input": {}}))),
        (1, "tasks", task(json!({"name": "map", "input": {"mappings": "all"}}))),
        (1, "tasks", task(json!({"name": "map", "input": {"mapings": []}}))),
        (1, "tasks", task(json!({"name": "map"}))),
        (1, "tasks", task(json!({"name": "cache_write", "input": {"connector": "c", "value": 1}}))),
        (1, "tasks", task(json!({"name": "cache_read", "input": {"connector": "c", "key": 7}}))),
        (1, "loop", json!({})),
        (1, "loop", json!({"max": "3"})),
        (2, "connector_type", json!("ftp")),
        (2, "config", json!(null)),
        (2, "config", json!({})),
        (2, "config", json!({"connection_string": 1})),
        (2, "config", json!({"connection_string": "postgres://db.example/c", "operations": {"reed": true}})),
        (2, "enabled", json!("yes")),
    ] {
        let (kind, base) = bases[kind];
        let mut mutant = base.clone();
        mutant[key] = value;
        assert!(!judge.report(kind, &mutant).errors.is_empty(), "create accepts {mutant}");
        assert!(!judge.schema_errors(kind, &mutant).is_empty(), "the schema accepts {mutant}");
    }
}
