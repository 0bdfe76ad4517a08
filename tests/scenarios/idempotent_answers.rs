//! Idempotent answers: a request runs once, and its repeats get its answer, over a kill and a restart.

use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, error, eventually, launch, serve_with, start};

fn replaying(more: Value) -> Value {
    let mut config = json!({"deduplication": {"header": "idempotency-key", "on_duplicate": "replay"}});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

fn post(client: &mut HttpClient, path: &str, key: &str, body: &Value) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send("POST", &format!("/api/v1/data/{path}"), &headers, body.to_string().as_bytes()).unwrap()
}

/// Checks that the second answer is the first one given again.
fn check_replay(first: &HttpResponse, repeat: &HttpResponse) {
    assert_eq!((repeat.status, repeat.text()), (first.status, first.text()));
    for name in ["content-type", "x-trace-id", "retry-after"] {
        assert_eq!(repeat.header(name), first.header(name), "{name}");
    }
    assert_eq!(
        (first.header("idempotent-replayed"), repeat.header("idempotent-replayed")),
        (None, Some("true"))
    );
}

#[test]
fn repeats_get_the_answer_over_a_kill() {
    let mut server = start();
    let mut client = server.client();
    echo(&mut client, "orders", replaying(json!({})));
    let failing = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"throw": "boom"}}]}}}]);
    serve_with(&mut client, "broken", replaying(json!({})), failing);
    let answers = [("orders", 200), ("orders/async", 202), ("broken", 500)].map(|(path, status)| {
        let key = format!("key of {path}");
        let first = post(&mut client, path, &key, &json!({"n": 1}));
        assert_eq!(first.status, status, "{}", first.text());
        check_replay(&first, &post(&mut client, path, &key, &json!({"n": 1})));
        (path, key, first)
    });
    let problem = [
        ("content-type", "application/json"),
        ("idempotency-key", "problem"),
        ("accept", "application/problem+json"),
    ];
    let [first, repeat] =
        [(), ()].map(|()| client.send("POST", "/api/v1/data/broken", &problem, b"{}").unwrap());
    assert_eq!(first.header("content-type"), Some("application/problem+json"));
    check_replay(&first, &repeat);
    server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    for (path, key, first) in &answers {
        check_replay(first, &post(&mut client, path, key, &json!({"n": 1})));
        error(&post(&mut client, path, key, &json!({"n": 2})), 422, "IDEMPOTENCY_KEY_REUSED");
    }
}

#[test]
fn killed_run_gives_its_key_back() {
    let api = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let mut server = launch().start().unwrap();
    let mut client = server.client();
    let connector = json!({"id": "api", "name": "api", "connector_type": "http", "config": {
        "url": api.url(""), "allow_private_urls": true}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &connector).unwrap().status, 201);
    let call = json!([{"id": "call", "name": "", "function": {"name": "http_call", "input": {
        "connector": "api", "method": "POST"}}}]);
    serve_with(&mut client, "orders", replaying(json!({"timeout_ms": 3000})), call);
    let mut running = server.client();
    // Its connection breaks with the server.
    let first = thread::spawn(move || {
        let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
        running.send("POST", "/api/v1/data/orders", &headers, b"{}").is_ok()
    });
    api.wait_for(1);
    let early = post(&mut client, "orders", "k", &json!({}));
    error(&early, 409, "IDEMPOTENCY_IN_PROGRESS");
    assert_eq!(early.header("retry-after"), Some("1"));
    server = server.crash_and_restart().unwrap();
    assert!(!first.join().unwrap());
    api.open();
    let mut client = server.client();
    let mut answer = None;
    eventually(|| {
        let repeat = post(&mut client, "orders", "k", &json!({}));
        if repeat.status == 409 {
            error(&repeat, 409, "IDEMPOTENCY_IN_PROGRESS");
            return false;
        }
        answer = Some(repeat);
        true
    });
    let answer = answer.unwrap();
    assert_eq!((answer.status, api.requests().len()), (200, 2), "it ran anew: {}", answer.text());
    check_replay(&answer, &post(&mut client, "orders", "k", &json!({})));
    assert_eq!(api.requests().len(), 2);
}
