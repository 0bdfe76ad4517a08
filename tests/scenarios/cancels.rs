//! Cancels and reruns as an operator gives them.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{
    channel, error, eventually, launch, serve, serve_with, start_guarded, wait_until_stable,
};

const TRACES: &str = "/api/v1/admin/traces";

/// A schedule that does not come due by itself while a test runs.
const RARELY: &str = "0 0 0 29 2 *";

fn connect(client: &mut HttpClient, witness: &Upstream) {
    let config = json!({"url": witness.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "http", "config": config});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &connector).unwrap().status, 201);
}

/// A task that calls the witness at a path.
fn call(id: &str, path: &str) -> Value {
    json!({"id": id, "name": "", "function": {"name": "http_call", "input": {
        "connector": "witness", "path": path, "timeout_ms": 600_000}}})
}

fn map(id: &str, logic: &Value) -> Value {
    json!({"id": id, "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": logic}]}}})
}

fn submit(client: &mut HttpClient, channel: &str, payload: &Value) -> String {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}/async"), payload).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["trace_id"].as_str().unwrap().to_owned()
}

fn post(client: &mut HttpClient, id: &str, action: &str, body: &Value) -> HttpResponse {
    client.json("POST", &format!("{TRACES}/{id}/{action}"), body).unwrap()
}

fn cancel(client: &mut HttpClient, id: &str) -> HttpResponse {
    client.send("POST", &format!("{TRACES}/{id}/cancel"), &[], b"").unwrap()
}

fn read(client: &mut HttpClient, id: &str) -> Value {
    client.get(&format!("{TRACES}/{id}")).unwrap().json()["data"].clone()
}

fn come_to(client: &mut HttpClient, id: &str, status: &str) -> Value {
    eventually(|| read(client, id)["status"] == status);
    read(client, id)
}

/// Cancels a run and returns its trace, which has ended.
fn cancelled(client: &mut HttpClient, id: &str) -> Value {
    let answer = cancel(client, id);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let trace = answer.json()["data"].clone();
    assert_eq!((&trace["status"], &trace["attempt"]), (&json!("cancelled"), &json!(1)), "{trace}");
    assert!(trace["cancelled_by"].is_string(), "{trace}");
    trace
}

#[test]
fn run_that_waits_for_answer_is_cancelled() {
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let (_server, mut client) = start_guarded(launch().env("SVC_METRICS__ENABLED", "true"));
    connect(&mut client, &witness);
    serve(&mut client, "direct", json!([call("first", "/1"), call("second", "/2")]));
    serve(
        &mut client,
        "outer",
        json!([{"id": "pass", "name": "", "function": {"name": "channel_call",
        "input": {"channel": "direct"}}}]),
    );
    for (asked, (channel, tasks)) in
        [("direct", vec!["first"]), ("outer", vec!["first", "pass"])].into_iter().enumerate()
    {
        let id = submit(&mut client, channel, &json!({}));
        witness.wait_for(asked + 1);
        come_to(&mut client, &id, "running");
        let trace = cancelled(&mut client, &id);
        let left = trace["in_flight"].as_array().unwrap().clone();
        let mut named: Vec<_> = left.iter().map(|call| call["task_id"].as_str().unwrap()).collect();
        named.sort_unstable();
        assert_eq!(named, tasks, "{trace}");
        assert!(left.iter().any(|call| call["connector"] == "witness"), "{trace}");
        error(&cancel(&mut client, &id), 409, "CONFLICT");
    }
    witness.open();
    let letters = client.get("/api/v1/admin/trace-dlq").unwrap().json();
    assert_eq!(letters["data"], json!([]), "nothing is left of them");
    assert_eq!(witness.requests().len(), 2, "no second call was begun");
    let metrics = client.get("/metrics").unwrap().text();
    assert!(metrics.contains(r#"svc_messages_total{channel="direct",status="cancelled"}"#), "{metrics}");
}

#[test]
fn looping_run_is_cancelled() {
    let launch =
        launch().env("SVC_ENGINE__CPU_BUDGET_MS", "60000").env("SVC_ENGINE__MAX_LOOP_ITERATIONS", "1000000");
    let (_server, mut client) = start_guarded(launch);
    let looping = json!({"workflow_id": "looping", "name": "looping", "loop": {"counter": "n", "max": 900_000},
        "tasks": [map("step", &json!({"var": "data.n"}))]});
    create_and_activate(&mut client, "workflows", "workflow_id", &looping).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("looping", "looping", json!({})))
        .unwrap();
    let id = submit(&mut client, "looping", &json!({}));
    cancelled(&mut client, &id);
}

/// Serves a channel whose work fails, and is tried again.
fn serve_broken(client: &mut HttpClient) {
    let nowhere = json!({"name": "nowhere", "connector_type": "http", "config": {
        "url": "http://127.0.0.1:1", "allow_private_urls": true, "retry": {"max_retries": 0}}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &nowhere).unwrap().status, 201);
    serve(
        client,
        "broken",
        json!([{"id": "boom", "name": "", "function": {"name": "http_call", "input": {
        "connector": "nowhere", "path": "/"}}}]),
    );
}

#[test]
fn cancel_of_attempt_ends_its_work() {
    let (_server, mut client) = start_guarded(launch());
    serve_broken(&mut client);
    let id = submit(&mut client, "broken", &json!({}));
    eventually(|| {
        let work = read(&mut client, &id);
        work["status"] == "retrying" && work["attempts"].as_array().is_some_and(|all| all.len() > 1)
    });
    let attempt = read(&mut client, &id)["attempts"][1]["trace_id"].as_str().unwrap().to_owned();
    let answer = cancel(&mut client, &attempt);
    let shown = answer.json()["data"].clone();
    assert_eq!((answer.status, &shown["id"], &shown["status"]), (200, &json!(id), &json!("cancelled")));
    error(&cancel(&mut client, &attempt), 409, "CONFLICT");
}

#[test]
fn work_between_attempts_is_cancelled_with_letter() {
    let (_server, mut client) = start_guarded(launch());
    serve_broken(&mut client);
    let id = submit(&mut client, "broken", &json!({}));
    eventually(|| {
        read(&mut client, &id)["attempt"].as_i64() >= Some(1) && {
            read(&mut client, &id)["status"] == "retrying"
        }
    });
    let answer = cancel(&mut client, &id);
    assert_eq!(
        (answer.status, &answer.json()["data"]["status"]),
        (200, &json!("cancelled")),
        "{}",
        answer.text()
    );
    assert_eq!(client.get("/api/v1/admin/trace-dlq").unwrap().json()["data"], json!([]));
}

#[test]
fn only_open_accepted_work_is_cancelled() {
    let (_server, mut client) = start_guarded(launch());
    serve_with(&mut client, "quick", json!({"tracing": {"mode": "sync"}}), json!([map("one", &json!(1))]));
    error(&cancel(&mut client, "0190a1b2-0000-7000-8000-000000000000"), 404, "NOT_FOUND");
    let answer = client.json("POST", "/api/v1/data/quick", &json!({})).unwrap();
    let id = answer.header("x-trace-id").unwrap().to_owned();
    error(&cancel(&mut client, &id), 409, "CONFLICT");
    let done = submit(&mut client, "quick", &json!({}));
    come_to(&mut client, &done, "completed");
    error(&cancel(&mut client, &done), 409, "CONFLICT");
    let audit = client.get("/api/v1/admin/audit-logs?action=cancel").unwrap().json();
    assert_eq!(audit["data"], json!([]), "a refusal is no act");
}

#[test]
fn cancelled_occurrence_frees_slot_and_is_retried() {
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let (_server, mut client) = start_guarded(launch());
    connect(&mut client, &witness);
    let workflow = json!({"workflow_id": "nightly", "name": "nightly", "tasks": [call("first", "/1")]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let schedule = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "nightly", "transport_config": {"schedule": RARELY, "concurrency": {"policy": "forbid"}}});
    create_and_activate(&mut client, "channels", "channel_id", &schedule).unwrap();
    let triggered = client.send("POST", "/api/v1/admin/channels/nightly/trigger", &[], b"").unwrap();
    assert_eq!(triggered.status, 202, "{}", triggered.text());
    let path = format!("/api/v1/admin/cron/occurrences/{}", triggered.json()["data"]["id"].as_str().unwrap());
    witness.wait_for(1);
    let answer = client.send("POST", &format!("{path}/cancel"), &[], b"").unwrap();
    let row = answer.json()["data"].clone();
    assert_eq!((answer.status, &row["status"]), (200, &json!("cancelled")), "{row}");
    assert_eq!((&row["claimed_by"], &row["attempt"]), (&Value::Null, &json!(1)));
    let trace = row["trace_id"].as_str().unwrap().to_owned();
    eventually(|| read(&mut client, &trace)["in_flight"][0]["task_id"] == "first");
    assert_eq!(read(&mut client, &trace)["status"], "cancelled");
    error(&cancel(&mut client, &trace), 409, "CONFLICT");
    error(&client.send("POST", &format!("{path}/cancel"), &[], b"").unwrap(), 409, "CONFLICT");
    witness.open();
    let again = client.json("POST", &format!("{path}/retry"), &json!({"version": "same"})).unwrap();
    assert_eq!(
        (again.status, &again.json()["data"]["workflow_version"]),
        (200, &json!(1)),
        "{}",
        again.text()
    );
    eventually(|| client.get(&path).unwrap().json()["data"]["status"] == "completed");
}

#[test]
fn rerun_takes_the_version_it_names() {
    let (_server, mut client) = start_guarded(launch());
    serve(&mut client, "prices", json!([map("one", &json!({"cat": ["old ", {"var": "payload.n"}]}))]));
    let former = submit(&mut client, "prices", &json!({"n": 1}));
    come_to(&mut client, &former, "completed");
    let versions = "/api/v1/admin/workflows/prices";
    assert_eq!(client.send("POST", &format!("{versions}/versions"), &[], b"").unwrap().status, 201);
    let tasks = json!({"tasks": [map("one", &json!({"cat": ["new ", {"var": "payload.n"}]}))]});
    assert_eq!(client.json("PUT", versions, &tasks).unwrap().status, 200);
    let activated =
        client.json("PATCH", &format!("{versions}/status"), &json!({"status": "active"})).unwrap();
    assert_eq!(activated.status, 200, "{}", activated.text());
    let mut reruns = Vec::new();
    for (body, expected) in [
        (json!({"version": "same"}), "old 1"),
        (json!({"version": 1, "payload": {"n": 2}}), "old 2"),
        (json!({"version": "current"}), "new 1"),
    ] {
        let answer = post(&mut client, &former, "rerun", &body);
        assert_eq!(answer.status, 202, "{}", answer.text());
        let id = answer.json()["data"]["trace_id"].as_str().unwrap().to_owned();
        let done = wait_until_stable(|| read(&mut client, &id));
        assert_eq!(done["message"]["context"]["data"]["x"], expected, "{done}");
        assert_eq!((&done["status"], &done["rerun_of"]), (&json!("completed"), &json!(former)));
        reruns.push(id);
    }
    assert_eq!(read(&mut client, &former)["reruns"], json!(reruns));
    error(&post(&mut client, &former, "rerun", &json!({"version": 9})), 400, "VALIDATION_ERROR");
    error(&post(&mut client, &former, "rerun", &json!({})), 400, "VALIDATION_ERROR");
}

#[test]
fn rerun_of_a_schedule_knows_its_instant() {
    let (_server, mut client) = start_guarded(launch());
    let trigger = json!({"var": "metadata.trigger"});
    let workflow = json!({"workflow_id": "daily", "name": "daily", "tasks": [map("one", &trigger)]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let schedule = json!({"channel_id": "daily", "name": "daily", "channel_type": "async", "protocol": "cron",
        "workflow_id": "daily", "transport_config": {"schedule": RARELY}});
    create_and_activate(&mut client, "channels", "channel_id", &schedule).unwrap();
    let triggered = client.send("POST", "/api/v1/admin/channels/daily/trigger", &[], b"").unwrap();
    let path = format!("/api/v1/admin/cron/occurrences/{}", triggered.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["status"] == "completed");
    let trace = client.get(&path).unwrap().json()["data"]["trace_id"].as_str().unwrap().to_owned();
    let former = read(&mut client, &trace)["message"]["x"].clone();
    let answer = post(&mut client, &trace, "rerun", &json!({"version": "same"}));
    let id = answer.json()["data"]["trace_id"].as_str().unwrap().to_owned();
    let told = wait_until_stable(|| read(&mut client, &id))["message"]["context"]["data"]["x"].clone();
    for fact in ["type", "occurrence_id", "scheduled_for"] {
        assert!(told[fact].is_string() && told[fact] == former[fact], "{fact}: {told}, {former}");
    }
}

#[test]
fn rerun_of_synchronous_run_needs_its_input() {
    let (_server, mut client) = start_guarded(launch());
    let tasks = json!([map("one", &json!({"var": "payload.n"}))]);
    serve_with(&mut client, "bare", json!({"tracing": {"mode": "sync"}}), tasks.clone());
    let kept = json!({"tracing": {"mode": "sync", "keep_input": true}, "validation_logic": {">": [{"var": "data.n"}, 0]}});
    serve_with(&mut client, "kept", kept, tasks);
    let call = |client: &mut HttpClient, channel: &str| {
        let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &json!({"n": 4})).unwrap();
        answer.header("x-trace-id").unwrap().to_owned()
    };
    let bare = call(&mut client, "bare");
    let refused = error(&post(&mut client, &bare, "rerun", &json!({"version": "current"})), 409, "CONFLICT");
    assert!(refused["message"].as_str().unwrap().contains("tracing.keep_input"), "{refused}");
    let kept = call(&mut client, "kept");
    let accepted = post(&mut client, &kept, "rerun", &json!({"version": "same"}));
    let id = accepted.json()["data"]["trace_id"].as_str().unwrap().to_owned();
    let done = wait_until_stable(|| read(&mut client, &id));
    assert_eq!((&done["status"], &done["mode"]), (&json!("completed"), &json!("async")), "{done}");
    // The guards of a call decide about it.
    let body = json!({"version": "current", "payload": {"n": 0}});
    let refused =
        post(&mut client, &kept, "rerun", &body).json()["data"]["trace_id"].as_str().unwrap().to_owned();
    let failed = come_to(&mut client, &refused, "failed");
    assert!(failed["error"].as_str().unwrap().contains("refused the rerun"), "{failed}");
    error(&post(&mut client, &refused, "rerun", &json!({"version": "current"})), 409, "CONFLICT");
}
