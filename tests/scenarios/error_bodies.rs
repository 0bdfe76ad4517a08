//! Errors of a channel in its own words, whatever part of the service found them.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;

use crate::support::{channel, details, echo, error, launch, start};

const ADMIN: &str = "/api/v1/admin";
const PATH: &str = "/api/v1/data/fails";

#[test]
fn broken_bodies_and_failures_use_channel_error_bodies() {
    let server = launch().env("SVC_INGEST__MAX_PAYLOAD_SIZE", "100").start().unwrap();
    let mut client = server.client();
    let own = json!({"response": {"error_bodies": {
        "415": {"body": "json only", "content_type": "text/plain"},
        "default": {"body": r#"{"own": {status}, "code": "{code}", "id": "{request_id}"}"#},
    }}});
    let workflow = json!({"workflow_id": "fails", "name": "fails", "tasks": [
        {"id": "t", "name": "t", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": "no"}}]}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("fails", "fails", own)).unwrap();
    let json_headers = [("content-type", "application/json"), ("x-request-id", "r-1")];
    for (body, status, code) in [(&b"{"[..], 400, "VALIDATION_ERROR"), (b"{}", 500, "ENGINE_ERROR")] {
        let answer = client.send("POST", PATH, &json_headers, body).unwrap();
        let expected = json!({"own": status, "code": code, "id": "r-1"});
        assert_eq!((answer.status, answer.json()), (status, expected), "{}", answer.text());
    }
    let answer = client.send("POST", &format!("{PATH}?a=%zz"), &json_headers, b"{}").unwrap();
    assert_eq!(answer.json(), json!({"own": 400, "code": "VALIDATION_ERROR", "id": "r-1"}));
    let absent = client.send("POST", "/api/v1/data/nothing?a=%zz", &json_headers, b"{}").unwrap();
    error(&absent, 400, "VALIDATION_ERROR");
    let answer = client.send("POST", PATH, &[("content-type", "text/csv")], b"a,b").unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (415, "json only"));
    let large = format!("\"{}\"", "x".repeat(200));
    let answer = client.send("POST", PATH, &json_headers, large.as_bytes()).unwrap();
    error(&answer, 413, "PAYLOAD_TOO_LARGE");
}

#[test]
fn quarantine_reason_is_hidden_from_strangers() {
    let server = start();
    let mut client = server.client();
    let config = json!({
        "auth": {"mode": "api_key", "header": "x-key", "keys": ["env://SVC_SECRET_NOT_SET"]},
        "response": {"error_bodies": {"default": {"body": "own", "content_type": "text/plain"}}},
    });
    echo(&mut client, "locked", config);
    for path in ["/api/v1/data/locked", "/api/v1/data/locked/async"] {
        let answer = client.json("POST", path, &json!({})).unwrap();
        error(&answer, 503, "SERVICE_UNAVAILABLE");
        assert_eq!(answer.json()["error"]["message"], "Channel is unavailable", "{path}");
    }
    let reload = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap().json();
    let quarantined: &Value = &reload["data"]["quarantined"][0];
    assert_eq!((&quarantined["channel_id"], &quarantined["channel"]), (&json!("locked"), &json!("locked")));
    let reason = quarantined["reason"].as_str().unwrap();
    assert!(reason.starts_with("auth:") && reason.contains("SVC_SECRET_NOT_SET"), "{reason}");
}

#[test]
fn refusal_names_all_wrong_templates_and_keys() {
    let server = start();
    let config = json!({"response": {"error_bodies": {
        "400": {"body": "{nope}"},
        "404": {"body": "{}"},
        "4xx": {"body": "{}"},
        "503": {"boddy": "{}"},
    }}});
    let document = channel("c", "w", config);
    let refused = server.client().json("POST", &format!("{ADMIN}/channels"), &document).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    let at =
        |rest: &str, code: &str| (format!("channel.config.response.error_bodies.{rest}"), code.to_owned());
    let expected = [at("400.body", "INVALID"), at("4xx", "INVALID"), at("503.boddy", "UNKNOWN_FIELD")];
    assert_eq!(details(&refused), expected, "{refused}");
}
