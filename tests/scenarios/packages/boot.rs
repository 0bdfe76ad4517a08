//! Packages that a node applies at its start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess};
use tempfile::TempDir;

use super::verbs::{Package, exit, stderr, verb};
use crate::cluster::database;
use crate::support::{channel, eventually, launch, open_database};

/// Longest time until a process that cannot start has ended.
const END: Duration = Duration::from_secs(30);

fn write_package(directory: &TempDir, version: &str) -> PathBuf {
    Package::new(directory.path(), version).echoing(&["orders"], version).write()
}

/// A server on a database of its directory that applies these packages.
fn booting(directory: &TempDir, packages: &[&Path]) -> ServerCommand {
    let url = format!("sqlite:{}", directory.path().join("boot.db").display());
    let packages: Vec<String> = packages.iter().map(|file| file.display().to_string()).collect();
    launch().env("SVC_STORAGE__URL", &url).env("SVC_PACKAGES__APPLY", &packages.join(","))
}

/// The version that the channel of a package answers with.
fn served_version(client: &mut HttpClient) -> Value {
    let answer = client.json("POST", "/api/v1/data/orders", &json!({})).unwrap();
    answer.expect_status(200).unwrap();
    answer.json()["data"]["version"].clone()
}

fn readiness(client: &mut HttpClient) -> (u16, Value) {
    client
        .get("/readyz")
        .map_or((0, Value::Null), |answer| (answer.status, answer.json()["components"]["packages"].clone()))
}

/// The audit rows of an action, newest first.
fn audit_rows(client: &mut HttpClient, action: &str) -> Vec<Value> {
    let path = format!("/api/v1/admin/audit-logs?action={action}");
    client.get(&path).unwrap().json()["data"].as_array().cloned().unwrap_or_default()
}

fn current(client: &mut HttpClient) -> Value {
    client.get("/api/v1/admin/packages/shop").unwrap().json()["data"]["current"].clone()
}

/// Waits for the end of a start that must fail. Returns the exit code and the log.
fn failed_start(launch: ServerCommand) -> (Option<i32>, String) {
    let mut server = launch.spawn().unwrap();
    let status = server.wait(END).unwrap();
    (status.code(), server.log_text())
}

#[test]
fn boot_package_serves_before_readiness_and_once() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let server = booting(&directory, &[&file]).start().unwrap();
    let mut client = server.client();
    assert_eq!(served_version(&mut client), "1");
    assert_eq!(readiness(&mut client), (200, json!("ok")));
    let receipt = current(&mut client);
    assert_eq!((&receipt["state"], &receipt["principal"]), (&json!("applied"), &json!("system:boot")));
    let staged = audit_rows(&mut client, "package_staged");
    assert_eq!(staged.len(), 1, "{staged:?}");
    let details = staged[0]["details"].as_str().unwrap();
    assert!(details.contains(r#""change_context":"package=shop@1""#), "{details}");
    let epoch = client.get("/health").unwrap().json()["epoch"]["current"].clone();
    drop(client);
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    assert_eq!(served_version(&mut client), "1");
    assert_eq!(audit_rows(&mut client, "package_staged").len(), 1, "nothing was applied again");
    assert_eq!(client.get("/health").unwrap().json()["epoch"]["current"], epoch);
}

#[test]
fn newer_version_outlives_boot_package() {
    let directory = TempDir::new().unwrap();
    let (first, second) = (write_package(&directory, "1"), write_package(&directory, "2"));
    let server = booting(&directory, &[&first]).start().unwrap();
    let applied = verb("apply", &server, &["-f", second.to_str().unwrap()]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    let server = server.crash_and_restart().unwrap();
    assert_eq!(served_version(&mut server.client()), "2");
    assert_eq!(current(&mut server.client())["version"], "2");
    server.wait_for_log(&["superseded"]).unwrap();
}

#[test]
fn part_changed_by_hand_outlives_boot_package() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let server = booting(&directory, &[&file]).start().unwrap();
    let mut client = server.client();
    let workflow = json!({"name": "orders", "tasks": [{"id": "v", "name": "", "function":
        {"name": "map", "input": {"mappings": [{"path": "data.version", "logic": "by hand"}]}}}]});
    for (method, path, body) in [
        ("POST", "versions", json!({})),
        ("PUT", "", workflow),
        ("PATCH", "status", json!({"status": "active"})),
    ] {
        let path = format!("/api/v1/admin/workflows/orders/{path}");
        let answer = client.json(method, path.trim_end_matches('/'), &body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    }
    drop(client);
    let server = server.crash_and_restart().unwrap();
    assert_eq!(served_version(&mut server.client()), "by hand");
}

#[test]
fn package_that_cannot_serve_ends_the_process() {
    let directory = TempDir::new().unwrap();
    let mut guarded = channel("guarded", "orders", json!({}));
    guarded["config"] = json!({"auth": {"mode": "api_key", "keys": ["env://CALLER_KEY"]}});
    let package = Package::new(directory.path(), "1").echoing(&["orders"], "1");
    let file = package.with_document("c-guarded.json", guarded).write();
    let (code, log) = failed_start(booting(&directory, &[&file]));
    assert_eq!(code, Some(1), "{log}");
    for part in ["packages.apply: shop@1: ", "channel 'guarded' is quarantined"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    // The receipt stays, and the next start finishes the work once the variable is there.
    let server = booting(&directory, &[&file]).env("CALLER_KEY", "a key of a caller").start().unwrap();
    assert_eq!(current(&mut server.client())["version"], "1");
    drop(server);
    let (code, log) = failed_start(booting(&directory, &[&file]));
    assert_eq!(code, Some(1), "an applied package that this node cannot load: {log}");
    let server = booting(&directory, &[&file]).env("SVC_PACKAGES__ALLOW_DEGRADED", "true").start().unwrap();
    assert_eq!(served_version(&mut server.client()), "1");
    assert_eq!(server.client().json("POST", "/api/v1/data/guarded", &json!({})).unwrap().status, 503);
}

#[test]
fn unusable_file_is_refused_as_configuration() {
    let directory = TempDir::new().unwrap();
    let (missing, damaged) = (directory.path().join("none.json"), directory.path().join("damaged.json"));
    let text = std::fs::read_to_string(write_package(&directory, "1")).unwrap();
    std::fs::write(&damaged, text.replace("\"1\"", "\"2\"")).unwrap();
    for (file, reason) in [(&missing, "none.json"), (&damaged, "package.content_hash")] {
        let (code, log) = failed_start(booting(&directory, &[file]));
        assert_eq!(code, Some(78), "{log}");
        assert!(log.contains("packages.apply") && log.contains(reason), "{log}");
    }
}

#[test]
fn version_applied_with_other_content_ends_the_process() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    drop(booting(&directory, &[&file]).start().unwrap());
    let other = Package::new(directory.path(), "1").echoing(&["orders"], "other").write();
    let (code, log) = failed_start(booting(&directory, &[&other]));
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("other content"), "{log}");
}

#[test]
fn relative_path_starts_at_the_configuration_file() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let name = file.file_name().unwrap().to_str().unwrap();
    let settings = directory.path().join("svc.toml");
    std::fs::write(&settings, format!("[packages]\napply = [\"{name}\"]\n")).unwrap();
    let server = launch().args(&["-c", settings.to_str().unwrap()]).start().unwrap();
    assert_eq!(served_version(&mut server.client()), "1");
}

#[test]
fn node_waits_while_another_applies() {
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let waiting = booting(&directory, &[&file]).env("SVC_PACKAGES__APPLY_TIMEOUT_SECS", "1");
    drop(booting(&directory, &[]).start().unwrap());
    let lease = |sql: &str| {
        open_database(&directory.path().join("boot.db")).batch_execute(sql).unwrap();
    };
    lease(
        "INSERT INTO job_leases (job_name, holder, expires_at) \
         VALUES ('boot_packages', 'other', '2999-01-01 00:00:00')",
    );
    let (code, log) = failed_start(waiting);
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("packages.apply_timeout_secs"), "{log}");
    assert_eq!(log.matches("another node applies them").count(), 1, "it says what it waits for: {log}");
    let mut server = booting(&directory, &[&file]).spawn().unwrap();
    eventually(|| readiness(&mut server.client()) == (503, json!("applying")));
    lease("DELETE FROM job_leases WHERE job_name = 'boot_packages'");
    server.wait_until_ready().unwrap();
    assert_eq!(served_version(&mut server.client()), "1");
}

#[test]
fn one_of_many_nodes_applies() {
    let Some((_postgres, database)) = database() else { return };
    let directory = TempDir::new().unwrap();
    let file = write_package(&directory, "1");
    let node = || {
        launch()
            .env("SVC_STORAGE__URL", database.url())
            .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
            .env("SVC_PACKAGES__APPLY", file.to_str().unwrap())
    };
    let mut nodes: Vec<ServerProcess> = (0..3).map(|_| node().spawn().unwrap()).collect();
    for node in &mut nodes {
        node.wait_until_ready().unwrap();
        assert_eq!(served_version(&mut node.client()), "1");
    }
    assert_eq!(audit_rows(&mut nodes[0].client(), "package_staged").len(), 1);
}
