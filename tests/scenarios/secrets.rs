//! Secrets: wherever a value was given, it comes out nowhere.

use serde_json::json;

use crate::support::{channel, echo_workflow, launch};

const ADMIN: &str = "/api/v1/admin";
/// An admin key, a declared secret, and a channel's literal key, each recognisable anywhere.
const KEY: &str = "canary-admin-key-0123456789-0123456789";
const DECLARED: &str = "canary-declared-0123456789";
const LITERAL: &str = "canary-literal-0123456789";

#[test]
fn no_secret_comes_out_in_a_log_a_metric_an_error_or_a_read() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    std::fs::write(&file, "[secrets]\ntoken = \"env://CANARY\"\n").unwrap();
    let server = launch
        .args(&["-c", file.to_str().unwrap()])
        .env("CANARY", DECLARED)
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_LOGGING__LEVEL", "trace")
        .start()
        .unwrap();
    let mut client = server.client().with_header("x-api-key", KEY);
    let mut answers = String::new();
    let mut keep = |answer: svc_testkit::http::Answer| {
        answers.push_str(&answer.text());
        answer.headers.iter().for_each(|(_, value)| answers.push_str(value));
        answer.status
    };
    let mut workflow = echo_workflow("w");
    workflow["condition"] = json!({"!=": [{"secret": "token"}, ""]});
    assert_eq!(keep(client.json("POST", &format!("{ADMIN}/workflows"), &workflow).unwrap()), 201);
    keep(client.json("PATCH", &format!("{ADMIN}/workflows/w/status"), &json!({"status": "active"})).unwrap());
    keep(client.json("POST", &format!("{ADMIN}/channels"), &channel("open", "w", json!({}))).unwrap());
    let auth = json!({"auth": {"mode": "api_key", "keys": [LITERAL, LITERAL]}});
    keep(client.json("POST", &format!("{ADMIN}/channels"), &channel("closed", "w", auth)).unwrap());
    for id in ["open", "closed"] {
        let path = format!("{ADMIN}/channels/{id}/status");
        assert_eq!(keep(client.json("PATCH", &path, &json!({"status": "active"})).unwrap()), 200);
    }
    let wrong = json!({"auth": {"mode": "api_key", "keys": [LITERAL, 5], "secret": [LITERAL]}});
    keep(client.json("POST", &format!("{ADMIN}/channels"), &channel("wrong", "w", wrong)).unwrap());
    let credentials =
        [("content-type", "application/json"), ("authorization", LITERAL), ("x-api-key", LITERAL)];
    let ran = client.send("POST", "/api/v1/data/open", &credentials, b"{}").unwrap();
    assert_eq!(ran.json()["data"], json!({"input": {}}), "the secret was readable inside: {}", ran.text());
    keep(ran);
    keep(client.send("POST", "/api/v1/data/closed", &credentials, b"{}").unwrap());
    keep(server.client().send("GET", ADMIN, &[("x-api-key", LITERAL)], b"").unwrap());
    for path in [
        "/health",
        "/metrics",
        "/api/v1/admin/actors",
        "/api/v1/admin/audit-logs",
        "/api/v1/admin/channels",
        "/api/v1/admin/channels/export",
        "/api/v1/admin/channels/closed/versions",
        "/api/v1/admin/engine/status",
        "/api/v1/admin/traces",
        "/api/v1/admin/trace-dlq",
    ] {
        assert_eq!(keep(client.get(path).unwrap()), 200, "{path}");
    }
    for canary in [KEY, DECLARED, LITERAL] {
        assert!(!answers.contains(canary), "{canary} came out in an answer");
        assert!(!server.log_text().contains(canary), "{canary} came out in the log");
    }
}
