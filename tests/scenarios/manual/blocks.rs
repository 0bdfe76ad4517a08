//! The fenced blocks of a page, and how the service judges each kind.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use svc_project::schema::DocumentKind;
use svc_testkit::http::HttpClient;

use crate::support::channel;

/// A block whose first word is `json`.
pub(super) struct ManualBlock {
    /// The page and the line that opens the block.
    pub(super) place: String,
    /// The words behind `json`.
    pub(super) kind: String,
    pub(super) value: Value,
}

/// The blocks of a page, in order.
pub(super) fn blocks(page: &Path) -> Vec<ManualBlock> {
    let text = std::fs::read_to_string(page).expect("the page is there");
    let mut lines = text.lines().enumerate();
    let mut blocks = Vec::new();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let Some(kind) = info.strip_prefix("json") else { continue };
        let place = format!("{}:{}", page.display(), number + 1);
        let value = serde_json::from_str(&body.join("\n")).unwrap_or_else(|error| panic!("{place}: {error}"));
        blocks.push(ManualBlock { place, kind: kind.trim().to_owned(), value });
    }
    blocks
}

/// The pages of the manual and of the examples.
pub(super) fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path()).collect()
    };
    let projects = list(&root.join("examples")).into_iter().map(|project| project.join("README.md"));
    let mut pages = list(&root.join("docs"));
    pages.extend(list(&root.join("docs/recipes")));
    pages.extend(projects);
    pages.push(root.join("README.md"));
    pages.retain(|page| page.is_file() && page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// The page of this name under `docs/`.
pub(super) fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// A workflow of these tasks.
pub(super) fn workflow(tasks: Value) -> Value {
    json!({"workflow_id": "of-the-manual", "name": "Of the manual", "tasks": tasks})
}

fn task(name: &str, input: &Value) -> Value {
    workflow(json!([{"id": "t", "name": "T", "function": {"name": name, "input": input}}]))
}

/// Validates a document that only projects have against its schema.
fn validate(place: &str, kind: DocumentKind, value: &Value) {
    let engine = svc::offline::engine_builder().build();
    let validator = jsonschema::draft202012::new(&kind.schema(engine.catalogue())).expect("a schema");
    let errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{place}: {errors:?}");
}

/// Has the service check a block as a part of the document that its kind names.
pub(super) fn check(client: &mut HttpClient, block: &ManualBlock) {
    let ManualBlock { place, kind, value } = block;
    if let Some(document) = [DocumentKind::Shared, DocumentKind::Case].iter().find(|one| one.name() == kind) {
        return validate(place, *document, value);
    }
    let (entity, document) = match kind.split_once(' ').unwrap_or((kind, "")) {
        ("workflow", "") => ("workflows", value.clone()),
        ("tasks", "") => ("workflows", workflow(value.clone())),
        ("function", "") => ("workflows", task(value["name"].as_str().expect(place), &value["input"])),
        ("input", function) => ("workflows", task(function, value)),
        ("connector", "") => ("connectors", value.clone()),
        ("config", "channel") => ("channels", channel("of-the-manual", "of-the-manual", value.clone())),
        ("config", kind) => ("connectors", json!({"name": "c", "connector_type": kind, "config": value})),
        ("channel", "") => ("channels", value.clone()),
        ("logic", "") => {
            ("workflows", task("map", &json!({"mappings": [{"path": "data.result", "logic": value}]})))
        }
        ("run" | "trial" | "body", "") => return,
        _ => panic!(
            "{place}: a block of JSON is marked with what it is: \
            workflow, tasks, function, input, logic, connector, config, channel, shared, case, run, trial or body"
        ),
    };
    let answer =
        client.json("POST", &format!("/api/v1/admin/{entity}/validate"), &document).expect("an answer");
    let verdict = answer.json()["data"].clone();
    assert_eq!(verdict["valid"], true, "{place}: {verdict}");
}
