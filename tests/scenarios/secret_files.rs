//! `file://` references: a secret for each file, read anew by every load.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerCommand;

use crate::support::{echo, error, launch};

const ADMIN: &str = "/api/v1/admin";
const CREDENTIAL: &str = "file://$CREDENTIALS_DIRECTORY/caller";
const ENCRYPTION_KEY: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

/// Writes a file that its owner alone can read.
fn put(directory: &Path, name: &str, content: &str) {
    let path = directory.join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
}

/// A server whose credentials are in its directory, with this configuration.
fn launch_with_credentials(config: &str) -> ServerCommand {
    let launch = launch();
    let directory = launch.directory().to_owned();
    fs::write(directory.join("svc.toml"), config).unwrap();
    let (directory, file) = (directory.display().to_string(), directory.join("svc.toml"));
    launch.env("CREDENTIALS_DIRECTORY", &directory).args(&["-c", &file.display().to_string()])
}

fn call(client: &mut HttpClient, channel: &str, key: &str) -> u16 {
    let headers = [("content-type", "application/json"), ("x-key", key)];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap().status
}

/// Sends a request with an admin key and returns the status.
fn administer(client: &mut HttpClient, method: &str, path: &str, key: &str) -> u16 {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let body: &[u8] = if method == "GET" { b"" } else { b"{}" };
    client.send(method, path, &headers, body).unwrap().status
}

#[test]
fn replaced_file_counts_after_reload() {
    let launch = launch_with_credentials("");
    put(launch.directory(), "caller", "key-one\n");
    let place = launch.directory().join("caller").display().to_string();
    let server = launch.start().unwrap();
    let mut client = server.client();
    for (channel, reference) in [("path", format!("file://{place}")), ("credential", CREDENTIAL.to_owned())] {
        let config = json!({"auth": {"mode": "api_key", "header": "x-key", "keys": [reference]}});
        echo(&mut client, channel, config);
        let shown = client.get(&format!("{ADMIN}/channels/{channel}")).unwrap().json();
        assert_eq!(shown["data"]["config"]["auth"]["keys"], json!([reference]), "a reference stays readable");
    }
    for channel in ["path", "credential"] {
        assert_eq!(
            (call(&mut client, channel, "key-one"), call(&mut client, channel, "key-two")),
            (200, 401)
        );
    }
    put(server.directory(), "caller", "key-two");
    let reloaded = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap();
    assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    for channel in ["path", "credential"] {
        assert_eq!(
            (call(&mut client, channel, "key-one"), call(&mut client, channel, "key-two")),
            (401, 200)
        );
    }
}

#[test]
fn file_open_to_others_quarantines_its_channel() {
    let launch = launch_with_credentials("");
    put(launch.directory(), "caller", "swordfish");
    fs::set_permissions(launch.directory().join("caller"), Permissions::from_mode(0o644)).unwrap();
    let server = launch.start().unwrap();
    let mut client = server.client();
    echo(&mut client, "locked", json!({"auth": {"mode": "api_key", "keys": [CREDENTIAL]}}));
    let refused = client.json("POST", "/api/v1/data/locked", &json!({})).unwrap();
    error(&refused, 503, "SERVICE_UNAVAILABLE");
    let shown = client.get("/health").unwrap().text();
    assert!(shown.contains(CREDENTIAL) && shown.contains("chmod 0400"), "{shown}");
    assert!(!shown.contains("swordfish") && !server.log_text().contains("swordfish"));
}

#[test]
fn files_outside_allow_list_are_refused() {
    let launch =
        launch_with_credentials("[secrets]\nown = \"file://$CREDENTIALS_DIRECTORY/own\"\nallowed_env = []\n");
    put(launch.directory(), "own", "operator");
    let server = launch.start().unwrap();
    let mut client = server.client();
    echo(
        &mut client,
        "locked",
        json!({"auth": {"mode": "api_key", "keys": ["file://$CREDENTIALS_DIRECTORY/own"]}}),
    );
    let shown = client.get("/health").unwrap().text();
    assert!(shown.contains("[secrets] allowed_files"), "{shown}");
}

#[test]
fn admin_and_encryption_keys_come_from_files() {
    let config = "[admin_auth]\nenabled = true\napi_keys = [{name = \"ci\", key = \"file://$CREDENTIALS_DIRECTORY/admin\"}]\n\
                  [storage]\nconnector_encryption_key = \"file://$CREDENTIALS_DIRECTORY/storage\"\n";
    let launch = launch_with_credentials(config);
    put(launch.directory(), "admin", "first-admin-key-of-thirty-two-chars\n");
    put(launch.directory(), "storage", ENCRYPTION_KEY);
    let server = launch.start().unwrap();
    let (mut client, reload) = (server.client(), format!("{ADMIN}/engine/reload"));
    let first = "first-admin-key-of-thirty-two-chars";
    let reference = "file://$CREDENTIALS_DIRECTORY/admin";
    let connectors = format!("{ADMIN}/connectors");
    assert_eq!(administer(&mut client, "GET", &connectors, first), 200);
    assert_eq!(administer(&mut client, "GET", &connectors, reference), 401, "the reference is no key");
    let nodes = client.send("GET", &format!("{ADMIN}/nodes"), &[("x-api-key", first)], b"").unwrap().json();
    assert_eq!(nodes["data"][0]["encryption_key_ids"].as_array().map(Vec::len), Some(1), "{nodes}");
    put(server.directory(), "admin", "second-admin-key-of-thirty-two-chars");
    assert_eq!(administer(&mut client, "POST", &reload, first), 200);
    assert_eq!(administer(&mut client, "GET", &connectors, first), 401);
    assert_eq!(administer(&mut client, "GET", &connectors, "second-admin-key-of-thirty-two-chars"), 200);
}

#[test]
fn missing_key_file_stops_the_start() {
    let config = "[admin_auth]\nenabled = true\napi_keys = [\"file://$CREDENTIALS_DIRECTORY/admin\"]\n";
    let output = launch_with_credentials(config).run_to_end().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("admin_auth.api_keys: entry 1: file://$CREDENTIALS_DIRECTORY/admin: "), "{said}");
}
