//! The access log: the requests that leave a line.

use std::fs;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;

use crate::support::{eventually, launch};

/// Sends a request to a channel that does not exist, whose name shows in its line.
fn send(client: &mut HttpClient, channel: &str) {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap();
    assert_eq!(answer.status, 404, "{}", answer.text());
}

/// Returns the lines about requests to a channel.
fn lines(server: &ServerProcess, channel: &str) -> Vec<Value> {
    let path = format!("/api/v1/data/{channel}");
    let text = server.log_text();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["msg"] == "answered" && line["path"] == path.as_str()).collect()
}

#[test]
fn sampled_requests_leave_lines_after_reload() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    fs::write(&file, "").unwrap();
    let server = launch.args(&["-c", file.to_str().unwrap()]).start().unwrap();
    let mut client = server.client();
    send(&mut client, "before");
    fs::write(&file, "logging.access_sample = 1.0\n").unwrap();
    let reloaded = client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(reloaded.json()["data"]["settings"]["taken"], json!(["logging.access_sample"]));
    (0..3).for_each(|_| send(&mut client, "after"));
    eventually(|| lines(&server, "after").len() == 3);
    let line = &lines(&server, "after")[0];
    assert_eq!(
        (&line["level"], &line["method"], &line["status"]),
        (&json!("info"), &json!("POST"), &json!(404))
    );
    assert!(line["ms"].is_number() && line["request_id"].is_string(), "{line}");
    assert!(lines(&server, "before").is_empty(), "no request leaves a line by default");
}

#[test]
fn every_request_leaves_line_at_debug() {
    let server = launch().env("SVC_LOGGING__LEVEL", "debug").start().unwrap();
    send(&mut server.client(), "seen");
    eventually(|| lines(&server, "seen").len() == 1);
    assert_eq!(lines(&server, "seen")[0]["level"], "debug");
}
