//! Compile: its output depends on what the sources say, and on nothing else.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_project::shared::ExpansionPass;
use svc_project::{
    Boundary, CONTENT_VERSION, IMPORT_ORDER, PackageHeader, Project, SetForm, build_package, lint,
    mirrored_files, to_json_text,
};

use super::kit::{CHANNEL, ENGINE, Files, SHARED, WORKFLOW, read, source};

fn files() -> Files {
    let reading = json!({"id": "r", "name": "r", "function": {"name": "db_read", "input": {"$from": "constants.shop"}}});
    let files = Files::default()
        .tasks(json!([{"id": "c", "use": "note", "with": {"why": "soon"}}, read("a"), reading]));
    let files = files.set(WORKFLOW, "/$schema", json!("../schema.json"));
    let mut other = files.0[CHANNEL].clone();
    other["channel_id"] = json!("archive");
    other["name"] = json!("archive");
    other["route_pattern"] = json!("/archive");
    other["activate"] = json!(false);
    files.file("channels/z.json", other)
}

fn package(project: &Project) -> Value {
    package_of(project, "1.0.0")
}

fn package_of(project: &Project, version: &str) -> Value {
    let boundary = Boundary::new(["billing".to_owned()], []);
    let linted = lint(project, &ENGINE, &boundary, SetForm::Package);
    assert!(linted.summary.passes(true), "{:#?}", linted.findings);
    let header = PackageHeader {
        name: "shop".into(),
        version: version.into(),
        tool_version: "0.1.0".into(),
        requires: boundary.union(&project.requires),
        activates: true,
    };
    build_package(&linted, Vec::new(), &header)
}

#[test]
fn version_of_content_follows_the_content_alone() {
    let version = |files: Files| package_of(&files.project(), CONTENT_VERSION)["package"]["version"].clone();
    let first = version(files());
    let text = first.as_str().unwrap();
    assert!(text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
    let moved = files().0[CHANNEL].clone();
    let moved = files().file("elsewhere/orders.yaml", moved);
    let moved = Files(moved.0.into_iter().filter(|(name, _)| name != CHANNEL).collect());
    assert_eq!(version(moved), first, "the layout of the files does not show");
    let renamed = files().set(WORKFLOW, "/name", json!("Other"));
    let inactive = files().set(CHANNEL, "/activate", json!(false));
    let shared = files().set(WORKFLOW, "/rollout_percentage", json!(10));
    let required = files().file("svc.json", json!({"requires": {"svc": "^1"}}));
    for other in [renamed, inactive, shared, required] {
        assert_ne!(version(other), first);
    }
}

#[test]
fn requirements_of_project_are_in_its_package() {
    let requires = json!({"requires": {"channels": ["ledger"], "svc": ">=0.2, <1"}});
    let required = package(&files().file("requires.json", requires).project());
    let expected = json!({"channels": ["billing", "ledger"], "connectors": [], "svc": ">=0.2, <1"});
    assert_eq!(required["requires"], expected);
    for (requires, problem) in [
        (json!({"requires": {"svc": "two"}}), "no range"),
        (json!({"requires": {"svcs": "^1"}}), "did you mean 'svc'?"),
        (json!({"requires": {"connectors": "shop"}}), "array of names"),
    ] {
        let project = files().file("requires.json", requires).project();
        let [finding] = project.findings.as_slice() else { panic!("{:#?}", project.findings) };
        assert_eq!((finding.check, finding.place.is_some()), ("package.requires", true), "{finding:?}");
        assert!(finding.message.contains(problem), "{finding:?}");
    }
    let two = files()
        .file("a.json", json!({"requires": {"svc": "^1"}}))
        .file("b.json", json!({"requires": {"svc": "^2"}}));
    assert_eq!(two.project().findings.len(), 1);
}

#[test]
fn package_holds_import_items_in_key_order() {
    let package = package(&files().project());
    let members: Vec<_> = package.as_object().unwrap().keys().collect();
    assert_eq!(members, ["package", "requires", "connectors", "workflows", "channels"]);
    assert_eq!(package["requires"], json!({"channels": ["billing"], "connectors": []}));
    let ids: Vec<_> =
        package["channels"].as_array().unwrap().iter().map(|item| &item["channel_id"]).collect();
    assert_eq!(ids, ["archive", "orders"]);
    let activated: Vec<_> =
        package["channels"].as_array().unwrap().iter().map(|item| &item["activate"]).collect();
    assert_eq!(activated, [false, true]);
    assert!(package["connectors"][0].get("activate").is_none());
    let workflow = &package["workflows"][0];
    assert!(workflow.get("$schema").is_none());
    assert_eq!(workflow["tasks"][0]["id"], "c.n");
    assert_eq!(workflow["tasks"][0]["function"]["input"]["mappings"][0]["logic"], "soon");
    assert_eq!(workflow["tasks"][2]["function"]["input"]["connector"], "shop");
}

#[test]
fn the_hash_is_that_of_the_projected_content() {
    let package = package(&files().project());
    let channel = |name: &str, route: &str| {
        json!({"name": name, "description": null, "channel_type": "sync", "protocol": "rest", "methods": ["GET"],
            "route_pattern": route, "topic": null, "consumer_group": null, "transport_config": {}, "workflow_id": "orders",
            "config": {}, "priority": 0, "tags": []})
    };
    let content = json!({
        "connectors": [{"name": "shop", "connector_type": "db", "config": {"connection_string": "sqlite:shop.db"},
            "enabled": true, "tags": []}],
        "workflows": [{"name": "Orders", "description": null, "priority": 0, "condition": true, "tags": [],
            "continue_on_error": false, "tasks": package["workflows"][0]["tasks"]}],
        "channels": [channel("archive", "/archive"), channel("orders", "/orders")]});
    assert_eq!(package["package"]["content_hash"], svc_model::content_hash(&content));
}

#[test]
fn package_ignores_layout_order_and_annotations() {
    let files = files();
    let plain = to_json_text(&package(&files.project()));
    let mut moved = Files(Default::default());
    for (n, (name, document)) in files.0.iter().enumerate() {
        moved.0.insert(format!("{}/{name}", 9 - n), document.clone());
    }
    assert_eq!(to_json_text(&package(&moved.project())), plain);
    let mut reversed: Vec<_> =
        files.0.iter().map(|(name, document)| Arc::new(source(name, &document.to_string()))).collect();
    reversed.reverse();
    assert_eq!(to_json_text(&package(&Project::read(reversed))), plain);
}

#[test]
fn compiling_the_output_again_changes_nothing() {
    let project = files().project();
    let rewritten: Vec<_> = project.rewritten_counts().into_iter().collect();
    assert_eq!(rewritten, [(ExpansionPass::Fragments, 1), (ExpansionPass::Values, 1)]);
    let linted = lint(&project, &ENGINE, &Boundary::default(), SetForm::Directory);
    let mirrored = mirrored_files(&linted).unwrap();
    let names: Vec<_> = mirrored.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["channels/orders.json", "channels/z.json", "connectors/shop.json", "workflows/orders.json"]
    );
    let again = Project::read(
        mirrored.iter().map(|(name, text)| Arc::new(source(name, &text.to_string()))).collect(),
    );
    assert!(again.rewritten_counts().is_empty());
    let linted = lint(&again, &ENGINE, &Boundary::default(), SetForm::Directory);
    assert_eq!(mirrored_files(&linted).unwrap(), mirrored);
}

#[test]
fn two_sources_of_one_output_are_refused() {
    let files = Files::default();
    let mut project = files.project();
    let mut twin = project.entities[0].clone();
    twin.file = "channels/orders.yaml".into();
    project.entities.push(twin);
    let linted = lint(&project, &ENGINE, &Boundary::default(), SetForm::Directory);
    assert_eq!(mirrored_files(&linted).unwrap_err(), "channels/orders.json");
}

#[test]
fn an_import_takes_every_compiled_document() {
    let project = files().project();
    let linted = lint(&project, &ENGINE, &Boundary::default(), SetForm::Directory);
    let counts = IMPORT_ORDER.map(|kind| svc_project::compile(&linted, kind).len());
    assert_eq!(counts, [1, 1, 2]);
    let text = to_json_text(&svc_project::compile(&linted, IMPORT_ORDER[1])[0].document);
    assert!(!text.contains("$from") && !text.contains("\"use\"") && text.ends_with("}\n"), "{text}");
    assert!(files().0.contains_key(SHARED));
}
