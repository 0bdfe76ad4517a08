//! U+0000 in definitions: no database of every backend stores it as text, so no way of writing lets it in.

use serde_json::{Value, json};

use crate::support::{channel, details, echo_workflow, error, launch, start};

const ADMIN: &str = "/api/v1/admin";

/// A kind of definitions, the key of its id, a good document, and documents with U+0000 and their places.
type KindOfDefinition = (&'static str, &'static str, Value, Vec<(Value, &'static str)>);

/// Returns the document with a member set by its JSON pointer.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[key] = value;
    document
}

fn definitions() -> [KindOfDefinition; 3] {
    let workflow = echo_workflow("flow");
    let ingress = channel("door", "flow", json!({}));
    let connector = json!({"id": "link", "name": "link", "connector_type": "http", "config": {"url": "https://a.example"}});
    [
        (
            "workflows",
            "flow",
            workflow.clone(),
            vec![
                (with(&workflow, "/name", json!("a\u{0}b")), "workflow.name"),
                (with(&workflow, "/tasks/0/name", json!("\u{0}")), "tasks[0].name"),
                (
                    with(&workflow, "/tasks/0/function/input/target", json!("a\u{0}")),
                    "tasks[0].function.input.target",
                ),
                (with(&workflow, "/condition", json!({"==": ["\u{0}", 1]})), "condition.==[0]"),
                (with(&workflow, "/tags", json!(["t", "\u{0}"])), "workflow.tags[1]"),
            ],
        ),
        (
            "channels",
            "door",
            ingress.clone(),
            vec![
                (with(&ingress, "/description", json!("\u{0}")), "channel.description"),
                (
                    with(&ingress, "/config/origin_allow_list", json!(["https://a\u{0}.example"])),
                    "channel.config.origin_allow_list[0]",
                ),
                (
                    with(&ingress, "/transport_config", json!({"x": {"y\u{0}": 1}})),
                    "channel.transport_config.x",
                ),
            ],
        ),
        (
            "connectors",
            "link",
            connector.clone(),
            vec![
                (with(&connector, "/config/url", json!("https://a.example/\u{0}")), "connector.config.url"),
                (
                    with(&connector, "/config/query_params", json!({"k": "\u{0}"})),
                    "connector.config.query_params.k",
                ),
                (with(&connector, "/tags", json!(["\u{0}"])), "connector.tags[0]"),
            ],
        ),
    ]
}

#[test]
fn create_update_and_import_refuse_u0000_at_its_place() {
    let server = start();
    let mut client = server.client();
    for (kind, id, good, bad) in definitions() {
        let base = format!("{ADMIN}/{kind}");
        let has_place = |places: &[(String, String)], path: &str| {
            places.iter().any(|(place, code)| place == path && code == "INVALID")
        };
        for (document, path) in &bad {
            let refused = error(&client.json("POST", &base, document).unwrap(), 400, "VALIDATION_ERROR");
            assert!(has_place(&details(&refused), path), "create, {path}: {refused}");
            assert!(refused.to_string().contains("U+0000"), "{refused}");
        }
        let batch = Value::Array(bad.iter().map(|(document, _)| document.clone()).collect());
        let mut import = |mode: &str| {
            let answer = client.json("POST", &format!("{base}/import?on_conflict={mode}"), &batch).unwrap();
            let report = answer.json()["data"].clone();
            assert_eq!((&report["failed"], &report["imported"]), (&json!(bad.len()), &json!(0)), "{report}");
            assert_eq!(report["errors"].to_string().matches("U+0000").count(), bad.len(), "{report}");
        };
        ["fail", "skip", "new_version"].into_iter().for_each(&mut import);
        assert_eq!(client.get(&base).unwrap().json()["total"], 0, "{kind}");
        let created = client.json("POST", &base, &good).unwrap();
        assert_eq!(created.status, 201, "{}", created.text());
        let one = format!("{base}/{id}");
        let before = client.get(&one).unwrap().json();
        for (document, path) in &bad {
            let mut change = document.clone();
            change.as_object_mut().unwrap().shift_remove("id");
            let refused = error(&client.json("PUT", &one, &change).unwrap(), 400, "VALIDATION_ERROR");
            assert!(has_place(&details(&refused), path), "update, {path}: {refused}");
        }
        let report = client.json("POST", &format!("{base}/import?on_conflict=new_version"), &batch).unwrap();
        assert_eq!(report.json()["data"]["failed"], bad.len(), "{}", report.text());
        assert_eq!(client.get(&one).unwrap().json(), before, "{kind}");
    }
}

#[test]
fn lint_refuses_u0000_in_every_kind_of_definition() {
    let project = launch();
    let directory = project.directory().join("project");
    std::fs::create_dir(&directory).unwrap();
    for (kind, _, good, bad) in definitions() {
        let mut good = good;
        good.as_object_mut().unwrap().shift_remove("id");
        for (number, (document, path)) in bad.iter().enumerate() {
            let mut document = document.clone();
            document.as_object_mut().unwrap().shift_remove("id");
            let text = document.to_string();
            assert!(text.contains("\\u0000"), "{text}");
            let file = directory.join(format!("{kind}-{number}.json"));
            std::fs::write(&file, text).unwrap();
            let output = launch().args(&["lint", file.to_str().unwrap()]).run_to_end().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains(path) && stderr.contains("U+0000"), "{path}: {stderr}");
        }
        let file = directory.join(format!("{kind}.json"));
        std::fs::write(&file, good.to_string()).unwrap();
        let output = launch().args(&["lint", file.to_str().unwrap()]).run_to_end().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let yaml = directory.join("flow.yaml");
    let text = "workflow_id: flow\nname: \"a\\0b\"\ntasks:\n  - id: t\n    name: t\n    function:\n      name: log\n      \
                input: {message: m}\n";
    std::fs::write(&yaml, text).unwrap();
    let output = launch().args(&["lint", yaml.to_str().unwrap()]).run_to_end().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("workflow.name") && text.contains("U+0000"), "{text}");
}
