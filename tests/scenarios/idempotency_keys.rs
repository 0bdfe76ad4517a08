//! The key that a call sends to an API which does an effect once for each key.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::cron::{come_to, schedule};
use crate::support::{channel, eventually, launch, serve};

const ADMIN: &str = "/api/v1/admin";

/// Returns the keys that the API was sent, in the order of the calls.
fn keys(api: &Upstream) -> Vec<String> {
    let requests = api.requests();
    requests.iter().map(|request| request.header("idempotency-key").unwrap_or_default().to_owned()).collect()
}

fn charge(id: &str, key: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": "http_call", "input": {
        "connector": "payments", "method": "POST", "idempotency_key": key}}})
}

/// Stores the connector of [`charge`], which makes one more attempt after a failed one.
fn connect(client: &mut HttpClient, api: &Upstream) {
    let connector = json!({"id": "payments", "name": "payments", "connector_type": "http", "config": {
        "url": api.url(""), "allow_private_urls": true,
        "retry": {"max_retries": 1, "retry_delay_ms": 1}, "retry_non_idempotent": true}});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

#[test]
fn key_is_stable_per_effect_over_attempts() {
    let api = Upstream::start(|_| UpstreamReply::new(500, "{}")).unwrap();
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1").start().unwrap();
    let mut client = server.client();
    connect(&mut client, &api);
    serve(&mut client, "charges", json!([charge("charge", json!(true))]));
    let accepted = client.json("POST", "/api/v1/data/charges/async", &json!({})).unwrap();
    let expected = format!("{}:charge", accepted.json()["trace_id"].as_str().unwrap());
    // Two attempts of the job, and two of its dead letter.
    eventually(|| keys(&api).len() >= 4);
    assert!(keys(&api).iter().all(|key| *key == expected), "{:?}", keys(&api));
}

#[test]
fn occurrence_retry_keeps_its_key() {
    let api = Upstream::start(|_| UpstreamReply::new(500, "{}")).unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client();
    connect(&mut client, &api);
    let rarely = json!({"schedule": "0 0 0 29 2 *"});
    schedule(&mut client, "charges", json!([charge("charge", json!(true))]), rarely, json!({}));
    let triggered = client.json("POST", &format!("{ADMIN}/channels/charges/trigger"), &json!({})).unwrap();
    assert_eq!(triggered.status, 202, "{}", triggered.text());
    let row = come_to(&server, "charges", "failed", 1).remove(0);
    let id = row["id"].as_str().unwrap();
    let retried = client.json("POST", &format!("{ADMIN}/cron/occurrences/{id}/retry"), &json!({})).unwrap();
    assert_eq!(retried.status, 200, "{}", retried.text());
    // Two calls of each attempt.
    eventually(|| keys(&api).len() == 4);
    assert_eq!(keys(&api), vec![format!("{id}:charge"); 4]);
}

#[test]
fn loop_sweeps_and_calls_have_own_keys() {
    let api = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client();
    connect(&mut client, &api);
    serve(
        &mut client,
        "charges",
        json!([
            charge("charge", json!(true)),
            charge("named", json!({"var": "metadata.channel"})),
            charge("none", json!(null)),
        ]),
    );
    let call = |id: &str| json!({"id": id, "name": id, "function": {"name": "channel_call", "input": {"channel": "charges"}}});
    let front = json!({"workflow_id": "front", "name": "front", "loop": {"max": 2},
        "tasks": [charge("fee", json!(true)), call("first"), call("second")]});
    create_and_activate(&mut client, "workflows", "workflow_id", &front).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("front", "front", json!({})))
        .unwrap();
    let headers = [("content-type", "application/json"), ("x-request-id", "r-1")];
    let answer = client.send("POST", "/api/v1/data/front", &headers, b"{}").unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let run = answer["id"].as_str().unwrap();
    let sweep = |counter: usize| {
        let called =
            |task: &str| [format!("{run}:{task}:{counter}/charge"), "charges".to_owned(), String::new()];
        [vec![format!("{run}:fee:{counter}")], called("first").into(), called("second").into()].concat()
    };
    assert_eq!(keys(&api), [sweep(0), sweep(1)].concat());
}

#[test]
fn orders_sharing_request_id_are_charged_separately() {
    let api = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client();
    connect(&mut client, &api);
    serve(&mut client, "orders", json!([charge("charge", json!(true))]));
    for _ in 0..5 {
        let headers = [("content-type", "application/json"), ("x-request-id", "K")];
        assert_eq!(client.send("POST", "/api/v1/data/orders", &headers, b"{}").unwrap().status, 200);
    }
    let mut keys = keys(&api);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 5, "{keys:?}");
}
