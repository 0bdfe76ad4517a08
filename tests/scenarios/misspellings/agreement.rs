//! The commands that work without a server accept what the admin API accepts, and refuse the rest for the
//! same reasons.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc::engine::Engine;
use svc_project::{Boundary, DocumentShape, Project, SetForm, SourceFile, SourceFormat, lint, lint_file};
use svc_testkit::http::HttpClient;
use svc_testkit::spellings;

use super::definitions::{nightly, pipeline, rest, webhook};
use crate::support::start;

/// Values that take the place of another.
fn strangers() -> [Value; 9] {
    [
        json!(null),
        json!(1),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
        json!("env://A"),
        json!("******"),
    ]
}

/// Returns documents that differ from one in a single place: a member removed, renamed or given another
/// value.
fn mutants(document: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    collect_places("", document, &mut places);
    let mut mutants = Vec::new();
    for (index, place) in places.iter().enumerate() {
        for turn in 0..2 {
            let mut changed = document.clone();
            *changed.pointer_mut(place).unwrap() = strangers()[(index * 2 + turn) % 9].clone();
            mutants.push(changed);
        }
        let (parent, key) = place.rsplit_once('/').unwrap();
        for renamed in [None, Some(format!("{key}q"))] {
            let mut changed = document.clone();
            let Some(members) = changed.pointer_mut(parent).and_then(Value::as_object_mut) else { break };
            let value = members.remove(&key.replace("~1", "/")).unwrap();
            renamed.map(|name| members.insert(name, value));
            mutants.push(changed);
        }
    }
    mutants
}

fn collect_places(at: &str, value: &Value, places: &mut Vec<String>) {
    if !at.is_empty() {
        places.push(at.to_owned());
    }
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| collect_places(&format!("{at}/{n}"), item, places))
        }
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            collect_places(&format!("{at}/{}", key.replace('/', "~1")), member, places)
        }),
        _ => {}
    }
}

/// Returns path and code of each refusal of a create.
fn create_errors(client: &mut HttpClient, kind: &str, document: &Value) -> Vec<(String, String)> {
    let report = client.json("POST", &format!("/api/v1/admin/{kind}?dry_run=true"), document).unwrap().json();
    let text = |error: &Value, member: &str| error[member].as_str().unwrap_or_default().to_owned();
    let errors = report["data"]["errors"].as_array().unwrap_or_else(|| panic!("{report}"));
    errors.iter().map(|error| (text(error, "field"), text(error, "code"))).collect()
}

fn source(document: &Value) -> Arc<SourceFile> {
    Arc::new(SourceFile::parse("d.json", SourceFormat::Json, document.to_string()).unwrap())
}

/// Returns path and code of each refusal of lint.
fn lint_errors(engine: &Arc<Engine>, document: &Value) -> Vec<(String, String)> {
    let refused = lint_file(&source(document), None, engine).refused.into_iter();
    refused.map(|refused| (refused.path, refused.code.to_owned())).collect()
}

/// Returns `true` if the shape of the document still shows its kind.
fn is_recognized(kind: &str, document: &Value) -> bool {
    matches!(DocumentShape::recognize(document), DocumentShape::Entity(found) if found.plural() == kind)
}

fn agree(kind: &str, corpus: &[Value]) {
    let server = start();
    let mut client = server.client();
    let engine = Arc::new(svc::offline::engine_builder().build());
    let mut refused = 0;
    for document in corpus.iter().filter(|document| is_recognized(kind, document)) {
        let by_server = create_errors(&mut client, kind, document);
        assert_eq!(lint_errors(&engine, document), by_server, "{document}");
        refused += usize::from(!by_server.is_empty());
    }
    assert!(refused > 10 && refused < corpus.len(), "{refused} of {}", corpus.len());
}

fn corpus(take: fn((Value, Value)) -> Value) -> Vec<Value> {
    let definitions = [webhook(), rest(), nightly(), pipeline()].map(take);
    definitions.iter().flat_map(|document| [vec![document.clone()], mutants(document)].concat()).collect()
}

#[test]
fn lint_refuses_workflows_that_create_refuses() {
    agree("workflows", &corpus(|(workflow, _)| workflow));
}

#[test]
fn lint_refuses_channels_that_create_refuses() {
    agree("channels", &corpus(|(_, channel)| channel));
}

#[test]
fn lint_refuses_connectors_that_create_refuses() {
    let connector =
        |kind: &str, config: Value| json!({"name": "c", "connector_type": kind, "config": config});
    let definitions = [
        connector(
            "http",
            json!({"url": "https://api.example", "auth": {"type": "bearer", "token": "env://A"},
            "retry": {"max_retries": 2}}),
        ),
        connector("db", json!({"connection_string": "postgres://u:p@db.example/x", "max_connections": 3})),
        connector("kafka", json!({"brokers": ["kafka.example:9092"], "topic": "t"})),
        connector("cache", json!({"backend": "redis", "url": "redis://cache.example"})),
        connector("smtp", json!({"host": "mail.example", "port": 587, "from": "a@b.example"})),
    ];
    let mut corpus: Vec<Value> = definitions
        .iter()
        .flat_map(|document| [vec![document.clone()], mutants(document)].concat())
        .collect();
    for host in spellings::corpus().into_iter().take(150) {
        corpus.push(connector("http", json!({"url": format!("https://{host}/")})));
    }
    agree("connectors", &corpus);
}

/// Asks for the import of documents and returns whether each is accepted.
fn import_outcomes(client: &mut HttpClient, kind: &str, documents: &[Value]) -> Vec<bool> {
    let mut accepted = vec![true; documents.len()];
    for (chunk, items) in documents.chunks(500).enumerate() {
        let path = format!("/api/v1/admin/{kind}/import?dry_run=true&on_conflict=new_version");
        let report = client.json("POST", &path, &json!(items)).unwrap().json();
        for error in report["data"]["errors"].as_array().unwrap_or_else(|| panic!("{report}")) {
            accepted[chunk * 500 + error["index"].as_u64().unwrap() as usize] = false;
        }
    }
    accepted
}

#[test]
fn lint_of_set_refuses_items_that_import_refuses() {
    let server = start();
    let mut client = server.client();
    let engine = Arc::new(svc::offline::engine_builder().build());
    for (kind, take) in [
        ("workflows", (|(workflow, _)| workflow) as fn((Value, Value)) -> Value),
        ("channels", |(_, channel)| channel),
    ] {
        let key = format!("{}_id", &kind[..kind.len() - 1]);
        let mut documents = corpus(take);
        documents.retain(|document| is_recognized(kind, document));
        for (n, document) in documents.iter_mut().enumerate() {
            // Unique in the batch, and with the members that only an import takes.
            let members: &mut Map<String, Value> = document.as_object_mut().unwrap();
            if members.get(&key).is_some_and(|id| id.as_str().is_some_and(|id| id.len() > 1)) {
                members.insert(key.clone(), format!("d{n}").into());
            }
            members.insert("activate".to_owned(), (n % 2 == 0).into());
        }
        let accepted = import_outcomes(&mut client, kind, &documents);
        for (document, accepted) in documents.iter().zip(accepted) {
            let project = Project::read(vec![source(document)]);
            let linted = lint(&project, &engine, &Boundary::default(), SetForm::Directory);
            assert_eq!(linted.entities[0].content.is_some(), accepted, "{document} {:#?}", linted.findings);
        }
    }
}
