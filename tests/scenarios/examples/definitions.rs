//! The definitions of the projects: named after their files, and nothing to warn of.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{admin, examples};
use crate::support::launch;

/// The files of a kind in a project, as JSON, sorted by name: a channel may name an earlier one.
fn documents(project: &str, kind: &str) -> Vec<(PathBuf, Value)> {
    let Ok(files) = std::fs::read_dir(examples().join(project).join(kind)) else { return Vec::new() };
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the file is text");
        let document = serde_json::from_str(&text).expect("the file is JSON");
        (path, document)
    };
    let mut paths: Vec<_> = files.map(|file| file.expect("the project can be listed").path()).collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

#[test]
fn example_definitions_match_file_names_without_warning() {
    for project in ["quickstart", "payments", "orders", "nightly-report", "pipeline"] {
        let server = launch().start().unwrap();
        let mut client = server.client();
        for (kind, id) in [("connectors", "name"), ("workflows", "workflow_id"), ("channels", "channel_id")] {
            for (path, document) in documents(project, kind) {
                let name = document[id].as_str().unwrap().to_owned();
                assert_eq!(path.file_stem().unwrap().to_str(), Some(name.as_str()), "{}", path.display());
                let place = path.display();
                if kind != "connectors" {
                    let report = admin(&mut client, "POST", &format!("{kind}/validate"), document.clone());
                    // The server of this test has no variables.
                    let mut warnings = report["warnings"].as_array().unwrap().clone();
                    warnings.retain(|warning| warning["code"] != "NOT_LOADABLE");
                    let verdict = (&report["valid"], &report["errors"], warnings.as_slice());
                    assert_eq!(verdict, (&json!(true), &json!([]), &[][..]), "{place}");
                }
                admin(&mut client, "POST", kind, document);
                if kind != "connectors" {
                    admin(
                        &mut client,
                        "PATCH",
                        &format!("{kind}/{name}/status"),
                        json!({"status": "active"}),
                    );
                }
            }
        }
    }
}
