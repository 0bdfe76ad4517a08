//! Accepted work that waits in the database: delays and shares, as their submitters see them.

use diesel::connection::SimpleConnection as _;
use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{echo, error, eventually, launch, open_database, start, wait_until_stable};

const ASYNC: &str = "/api/v1/data/jobs/async";

fn submit(client: &mut HttpClient, path: &str, headers: &[(&str, &str)], body: &Value) -> HttpResponse {
    let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
    client.send("POST", path, &headers, body.to_string().as_bytes()).unwrap()
}

/// Returns the state of a submission, as its token shows it.
fn state(client: &mut HttpClient, accepted: &HttpResponse) -> Value {
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let token = accepted.json()["trace_token"].as_str().unwrap().to_owned();
    let location = accepted.header("location").unwrap();
    let answer = client.send("GET", location, &[("x-trace-token", &token)], b"").unwrap();
    answer.json()["data"].clone()
}

#[test]
fn impossible_delays_are_refused() {
    let server = launch().env("SVC_TRACE_QUEUE__MAX_DELAY_DAYS", "2").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    for headers in [
        &[("svc-delay", "1s"), ("svc-deliver-at", "2026-01-01T00:00:00Z")][..],
        &[("svc-delay", "3d")],
        &[("svc-delay", "soon")],
        &[("svc-delay", "-5s")],
        &[("svc-deliver-at", "2999-01-01T00:00:00Z")],
        &[("svc-deliver-at", "tomorrow")],
    ] {
        let refused = submit(&mut client, ASYNC, headers, &json!({}));
        let message = error(&refused, 400, "VALIDATION_ERROR")["message"].clone();
        assert!(message.as_str().unwrap().contains("svc-de"), "{headers:?}: {message}");
    }
    let refused = submit(&mut client, "/api/v1/data/jobs", &[("svc-delay", "1s")], &json!({}));
    assert!(error(&refused, 400, "VALIDATION_ERROR")["message"].as_str().unwrap().contains("/async"));
    let rows = client.get("/api/v1/admin/traces?mode=async").unwrap().json();
    assert_eq!(rows["data"], json!([]), "a refused submission leaves no trace");
}

#[test]
fn past_instants_and_no_delay_run_at_once() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({"request": {"mode": "accept"}}));
    for (path, header) in [
        (ASYNC, ("svc-delay", "0s")),
        (ASYNC, ("svc-delay", "0")),
        (ASYNC, ("svc-deliver-at", "2026-01-01T00:00:00Z")),
        ("/api/v1/data/jobs", ("svc-deliver-at", "2026-01-01T01:00:00+01:00")),
    ] {
        let accepted = submit(&mut client, path, &[header], &json!({"n": 1}));
        let done = wait_until_stable(|| state(&mut client, &accepted));
        assert_eq!((&done["status"], &done["data"]["input"]["n"]), (&json!("completed"), &json!(1)));
    }
}

#[test]
fn delayed_submissions_survive_kill() {
    let server = launch()
        .env("SVC_TRACE_QUEUE__BUFFER_SIZE", "1")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({"backpressure": {"max_concurrent_per_node": 1}}));
    let accepted: Vec<_> =
        (0..20).map(|n| submit(&mut client, ASYNC, &[("svc-delay", "1h")], &json!({"n": n}))).collect();
    let waits = state(&mut client, &accepted[0]);
    assert_eq!((&waits["status"], &waits["attempt"]), (&json!("scheduled"), &json!(1)), "{waits}");
    assert!(waits["deliver_at"].as_str() > waits["created_at"].as_str(), "{waits}");
    let listed = client.get("/api/v1/admin/traces?status=scheduled&include_total=true").unwrap().json();
    assert_eq!(listed["total"], 20);
    eventually(|| {
        let metrics = client.get("/metrics").unwrap().text();
        metrics
            .lines()
            .any(|line| line.contains("svc_trace_waiting{reason=\"scheduled\"") && line.ends_with(" 20"))
    });

    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    let mut database = open_database(&server.directory().join("svc.db"));
    let due = "UPDATE traces SET waits_until = '2026-01-01 00:00:00' WHERE waits_until IS NOT NULL";
    database.batch_execute(due).unwrap();
    for accepted in &accepted {
        let done = wait_until_stable(|| state(&mut client, accepted));
        assert_eq!((&done["status"], &done["attempt"]), (&json!("completed"), &json!(1)), "{done}");
    }
}

#[test]
fn channel_refuses_work_beyond_its_bound() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({"queue": {"max_waiting": 2}}));
    for _ in 0..2 {
        assert_eq!(submit(&mut client, ASYNC, &[("svc-delay", "1h")], &json!({})).status, 202);
    }
    let refused = submit(&mut client, ASYNC, &[("svc-delay", "1h")], &json!({}));
    error(&refused, 503, "SERVICE_UNAVAILABLE");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(submit(&mut client, ASYNC, &[], &json!({})).status, 202, "it need not wait");
}

#[test]
fn key_that_cannot_be_computed_is_refused() {
    let server = start();
    let mut client = server.client();
    let logic = json!({"if": [{"var": "data.bad"}, {"throw": "no"}, {"var": "data.tenant"}]});
    echo(&mut client, "jobs", json!({"queue": {"key_logic": logic, "max_concurrent_per_key": 1}}));
    error(&submit(&mut client, ASYNC, &[], &json!({"bad": true})), 400, "VALIDATION_ERROR");
    for tenant in [json!("t1"), json!("t1"), json!(7), json!({"b": 1, "a": 2}), json!(null), json!(" ")] {
        let accepted = submit(&mut client, ASYNC, &[], &json!({"tenant": tenant}));
        let done = wait_until_stable(|| state(&mut client, &accepted));
        assert_eq!(done["status"], "completed", "{tenant}: {done}");
    }
    assert_eq!(
        submit(&mut client, "/api/v1/data/jobs", &[], &json!({"bad": true})).status,
        200,
        "it has no share"
    );
}
