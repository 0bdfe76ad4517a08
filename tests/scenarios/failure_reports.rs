//! The traces of failures: a trace that says why, and a report to the channel that is named for it.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo, error, eventually, launch, serve, serve_with};

const ADMIN: &str = "/api/v1/admin";
const TRACES: &str = "/api/v1/admin/traces";

fn throwing() -> Value {
    json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"*": [{"var": "payload.q"}, 2]}}]}}}])
}

fn list(client: &mut HttpClient, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{TRACES}?{query}")).unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["data"].as_array().unwrap().clone()
}

fn trace(client: &mut HttpClient, row: &Value) -> Value {
    client.get(&format!("{TRACES}/{}", row["id"].as_str().unwrap())).unwrap().json()["data"].clone()
}

#[test]
fn failed_request_trace_has_steps_and_version() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    serve(&mut client, "mul", throwing());
    let answer = client.json("POST", "/api/v1/data/mul", &json!({"q": "three"})).unwrap();
    let refused = error(&answer, 500, "ENGINE_ERROR");
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("Task 'boom' failed with "), "{message}");
    assert!(message.contains("payload.q is a string"), "the cause, outside production: {message}");
    let rows = list(&mut client, "channel=mul&status=failed&workflow_id=mul&workflow_version=1");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["workflow_id"], &rows[0]["mode"]), (&json!("mul"), &json!("sync")));
    let report = trace(&mut client, &rows[0]);
    assert_eq!(
        (&report["workflow_version"], &report["errors"][0]["task_id"]),
        (&json!(1), &json!("boom")),
        "{report}"
    );
    assert_eq!(report["task_trace_json"]["steps"][0]["result"], "failed", "{report}");
    assert_eq!(list(&mut client, "workflow_id=mul&workflow_version=2"), [Value::Null; 0]);
}

#[test]
fn terse_answers_hide_cause_of_failure() {
    let server = launch().env("SVC_SERVER__VERBOSE_ERRORS", "false").start().unwrap();
    let mut client = server.client();
    serve(&mut client, "mul", throwing());
    let answer = client.json("POST", "/api/v1/data/mul", &json!({"q": "three"})).unwrap();
    let message = error(&answer, 500, "ENGINE_ERROR")["message"].as_str().unwrap().to_owned();
    assert!(
        message.ends_with("; the trace of the run has the cause") && !message.contains("payload"),
        "{message}"
    );
}

#[test]
fn permanent_failure_is_reported_to_named_channel() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    echo(&mut client, "alerts", json!({}));
    serve_with(&mut client, "mul", json!({"on_failure": "alerts"}), throwing());
    let answer = client.json("POST", "/api/v1/data/mul/async", &json!({"q": "three"})).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let failed = answer.json()["trace_id"].as_str().unwrap().to_owned();
    eventually(|| list(&mut client, "channel=alerts&status=completed").len() == 1);
    let row = list(&mut client, "channel=alerts").remove(0);
    let report = trace(&mut client, &row)["message"]["payload"].clone();
    assert_eq!((&report["trace_id"], &report["channel"]), (&json!(failed), &json!("mul")), "{report}");
    assert_eq!(report["data"], json!({"q": "three"}));
    assert!(report["error"].as_str().unwrap().starts_with("boom: "), "{report}");
}

#[test]
fn failed_occurrence_is_reported_to_another_channel() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    echo(&mut client, "alerts", json!({}));
    let workflow = json!({"workflow_id": "nightly", "name": "nightly", "tasks": throwing()});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let nightly = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "nightly", "config": {"on_failure": "alerts"},
        "transport_config": {"schedule": "0 0 3 1 1 *", "payload": {"q": "many"}}});
    create_and_activate(&mut client, "channels", "channel_id", &nightly).unwrap();
    assert_eq!(client.send("POST", "/api/v1/admin/channels/nightly/trigger", &[], b"").unwrap().status, 202);
    eventually(|| list(&mut client, "channel=alerts&status=completed").len() == 1);
    let row = list(&mut client, "channel=alerts").remove(0);
    let report = trace(&mut client, &row)["message"]["payload"].clone();
    assert_eq!((&report["channel"], &report["data"]), (&json!("nightly"), &json!({"q": "many"})), "{report}");
    let failed = list(&mut client, "channel=nightly&status=failed").remove(0);
    assert_eq!(report["trace_id"], failed["id"]);

    let own = channel("loop", "nightly", json!({"on_failure": "loop"}));
    let refused = client.json("POST", "/api/v1/admin/channels", &own).unwrap();
    let message = error(&refused, 400, "VALIDATION_ERROR")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("channel.config.on_failure: "), "{message}");
}

#[test]
fn withdrawn_failure_channel_is_reported_at_every_step() {
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "alerts", json!({}));
    serve_with(&mut client, "mul", json!({"on_failure": "alerts"}), throwing());
    let alerts = format!("{ADMIN}/channels/alerts");
    error(&client.send("DELETE", &alerts, &[], b"").unwrap(), 409, "CONFLICT");
    let archive = json!({"status": "archived"});
    for dry_run in ["?dry_run=true", ""] {
        let answer = client.json("PATCH", &format!("{alerts}/status{dry_run}"), &archive).unwrap();
        let body = answer.json();
        let warnings = if dry_run.is_empty() { &body["warnings"] } else { &body["data"]["warnings"] };
        let message = warnings[0]["message"].as_str().unwrap_or_else(|| panic!("{body}"));
        assert!(message.starts_with("channel 'mul' needs channel 'alerts'"), "{message}");
    }
    let named = |body: &Value| body.to_string().contains("no active channel is named 'alerts'");
    assert!(named(&client.get(&format!("{ADMIN}/channels/mul")).unwrap().json()["warnings"]));
    let reload = client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({})).unwrap().json();
    assert!(named(&reload["data"]["warnings"]), "{reload}");
    let deleted = client.send("DELETE", &format!("{alerts}?force=true"), &[], b"").unwrap();
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    let submission = client.json("POST", "/api/v1/data/mul/async", &json!({"q": "three"})).unwrap();
    assert_eq!(submission.status, 202, "{}", submission.text());
    eventually(|| list(&mut client, "channel=alerts&status=failed").len() == 1);
    let letters = client.get(&format!("{ADMIN}/trace-dlq?channel=alerts")).unwrap().json();
    let why = letters["data"][0]["error_message"].as_str().unwrap();
    assert_eq!(why, "No active channel is named 'alerts'");
    let events =
        ["a channel names a channel for its failures that is not active", "a failure report finds no"];
    server.wait_for_log(&events).unwrap();
}
