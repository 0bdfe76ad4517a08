//! Packages with plugins: carried from one server to the next, signed, applied at a start, pruned.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use svc_testkit::server::ServerProcess;
use tempfile::TempDir;

use super::trust::Keys;
use super::verbs::{Package, exit, stderr, stdout, verb};
use crate::plugins;
use crate::support::{launch, start};

const PLUGIN: &str = "/api/v1/admin/plugins/shop";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn write_package(directory: &TempDir, version: &str) -> PathBuf {
    Package::new(directory.path(), version).with_plugin().write()
}

/// Runs a verb that has to succeed.
fn run(name: &str, server: &ServerProcess, arguments: &[&str]) -> String {
    let output = verb(name, server, arguments);
    assert_eq!(exit(&output), 0, "{name}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Calls the workflow that calls the plugin, whose function answers with its input.
fn require_price(server: &ServerProcess) {
    let answer = server.client().json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap();
    answer.expect_status(200).unwrap();
    assert_eq!(answer.json()["data"]["price"], json!({"net": 8}), "{}", answer.text());
}

fn stored_plugin(server: &ServerProcess) -> Value {
    server.client().get(PLUGIN).unwrap().json()["data"][0].clone()
}

#[test]
fn package_carries_plugin_to_second_server() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let lint = launch().args(&["package", "lint", "-f", text(&file)]).output().unwrap();
    assert_eq!(exit(&lint), 0, "{}", stderr(&lint));
    let (source, target) = (start(), start());
    let planned = run("plan", &source, &["-f", text(&file)]);
    for line in ["plugin 'shop': created, then activate", "workflow 'price': created", "brings the plugin"] {
        assert!(planned.contains(line), "{line}: {planned}");
    }
    run("apply", &source, &["-f", text(&file)]);
    require_price(&source);
    assert_eq!(stored_plugin(&source)["status"], "active");
    let again = run("apply", &source, &["-f", text(&file)]);
    assert!(again.contains("nothing was done"), "{again}");
    let exported = directory.path().join("exported.json");
    let arguments = ["--channels", "price", "--name", "shop", "--version", "2", "-o", text(&exported)];
    run("export", &source, &arguments);
    let package: Value = serde_json::from_slice(&fs::read(&exported).unwrap()).unwrap();
    assert_eq!(package["plugins"][0]["activate"], true);
    run("apply", &target, &["-f", text(&exported)]);
    require_price(&target);
    let diff = run("diff", &target, &["-f", text(&exported)]);
    assert!(diff.contains("unchanged plugin 'shop'"), "{diff}");
}

#[test]
fn workflow_of_absent_plugin_is_refused_with_place() {
    let (directory, server) = (TempDir::new().unwrap(), start());
    let (sources, plugin) = (directory.path().join("sources"), directory.path().join("plugin"));
    fs::create_dir(&sources).unwrap();
    plugins::write_plugin(&plugin);
    let workflow = json!({"workflow_id": "price", "name": "price", "tasks": plugins::task("shop.price")});
    fs::write(sources.join("w.json"), workflow.to_string()).unwrap();
    let file = directory.path().join("package.json");
    let head = ["compile", text(&sources), "--plugin-dir", text(&plugin), "-o", text(&file)];
    let arguments = [&head[..], &["--name", "shop", "--version", "1"]].concat();
    assert_eq!(exit(&launch().args(&arguments).output().unwrap()), 0);
    for name in ["plan", "apply"] {
        let refused = verb(name, &server, &["-f", text(&file)]);
        let told = stderr(&refused);
        assert_eq!(exit(&refused), 1, "{name}: {told}");
        assert!(
            told.contains("workflow 'price'")
                && told.contains("tasks[1].function.name: there is no function"),
            "{name}: {told}"
        );
    }
    let lint = launch().args(&["package", "lint", "-f", text(&file)]).output().unwrap();
    assert_eq!(exit(&lint), 1);
    assert!(stderr(&lint).contains("shop.price"), "{}", stderr(&lint));
}

#[test]
fn project_with_unbuilt_plugin_is_not_compiled() {
    let directory = TempDir::new().unwrap();
    let sources = directory.path();
    plugins::write_plugin(&sources.join("plugins/shop"));
    fs::write(sources.join("w.json"), json!({"workflow_id": "w", "name": "w", "tasks": []}).to_string())
        .unwrap();
    fs::remove_file(sources.join("plugins/shop/plugin.wasm")).unwrap();
    let arguments = ["compile", text(sources), "--name", "shop", "--version", "1"];
    let refused = launch().args(&arguments).output().unwrap();
    assert_eq!(exit(&refused), 1);
    assert!(stderr(&refused).contains("build the plugin"), "{}", stderr(&refused));
}

#[test]
fn pruned_plugin_is_archived_and_deleted() {
    let (directory, server) = (TempDir::new().unwrap(), start());
    let full = write_package(&directory, "1");
    let less = Package::new(directory.path(), "2").echoing(&["orders"], "two").write();
    run("apply", &server, &["-f", text(&full)]);
    let told = run("apply", &server, &["-f", text(&less), "--prune", "--yes"]);
    assert!(told.contains("deleted plugin 'shop'"), "{told}");
    assert_eq!(server.client().get(PLUGIN).unwrap().status, 404);
}

#[test]
fn plugin_changed_by_hand_is_restored() {
    let (directory, server) = (TempDir::new().unwrap(), start());
    let file = write_package(&directory, "1");
    run("apply", &server, &["-f", text(&file)]);
    let exported = server.client().get("/api/v1/admin/plugins/export?id=shop").unwrap().json();
    let stored = &exported["data"][0];
    let mut body = json!({"manifest": stored["manifest"], "component": stored["component"]});
    body["manifest"]["version"] = json!("1.0.1");
    let changed = server.client().json("PUT", PLUGIN, &body).unwrap();
    changed.expect_status(200).unwrap();
    let activated = server.client().json("PATCH", &format!("{PLUGIN}/status"), &json!({"status": "active"}));
    activated.unwrap().expect_status(200).unwrap();
    let drifted = verb("diff", &server, &["-f", text(&file)]);
    assert_eq!(exit(&drifted), 1);
    assert!(stdout(&drifted).contains("changed   plugin 'shop'"), "{}", stdout(&drifted));
    let told = run("apply", &server, &["-f", text(&file)]);
    assert!(told.contains("plugin 'shop'") && told.contains("restores it"), "{told}");
    assert_eq!(stored_plugin(&server)["manifest"]["version"], "1.0.0");
    require_price(&server);
}

#[test]
fn signed_package_with_plugin_is_applied() {
    let directory = TempDir::new().unwrap();
    let keys = Keys::make(&directory, "own");
    let file = write_package(&directory, "1");
    let server = keys.server("").start().unwrap();
    assert_eq!(exit(&verb("apply", &server, &["-f", text(&file)])), 1, "it is not signed");
    keys.sign(&file);
    run("apply", &server, &["-f", text(&file)]);
    require_price(&server);
    let body = json!([{"manifest": {}, "component": ""}]);
    let unsigned = server.client().json("POST", "/api/v1/admin/plugins/import", &body).unwrap();
    crate::support::error(&unsigned, 403, "UNTRUSTED_PACKAGE");
}

#[test]
fn boot_package_with_plugin_serves() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let url = format!("sqlite:{}", text(&directory.path().join("boot.db")));
    let launch = launch().env("SVC_STORAGE__URL", &url).env("SVC_PACKAGES__APPLY", text(&file));
    let server = launch.start().unwrap();
    require_price(&server);
    let server = server.crash_and_restart().unwrap();
    assert_eq!(stored_plugin(&server)["version"], 1, "nothing was applied again");
}
