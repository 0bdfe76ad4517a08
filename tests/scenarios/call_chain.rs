//! The identity of a call: circuit breakers and labels of metrics go by the call chain, whatever is in the
//! metadata.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{launch, serve};

const ADMIN: &str = "/api/v1/admin";

/// A task that writes `metadata.channel` from the payload.
fn rename() -> Value {
    json!({"id": "rename", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "metadata.channel", "logic": {"var": "payload.as"}}]}}})
}

/// A task that calls the connector `api`.
fn call() -> Value {
    json!({"id": "call", "name": "", "function": {"name": "http_call", "input": {"connector": "api", "path": "/"}}})
}

fn post(client: &mut HttpClient, channel: &str, name: &str) -> u16 {
    let body = json!({"data": {"as": name}, "metadata": {"channel": name}});
    client.json("POST", &format!("/api/v1/data/{channel}"), &body).unwrap().status
}

fn breakers(client: &mut HttpClient) -> Value {
    client.get(&format!("{ADMIN}/connectors/circuit-breakers")).unwrap().json()["data"]["breakers"].clone()
}

#[test]
fn channel_in_the_metadata_chooses_neither_breaker_nor_label() {
    let upstream = Upstream::start(|_| UpstreamReply::new(500, "{}")).unwrap();
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "3")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
        .start()
        .unwrap();
    let mut client = server.client();
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"name": "api", "connector_type": "http", "config": config});
    let created = client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    serve(&mut client, "inner", json!([rename(), call()]));
    let through = json!({"channel": "inner", "data_logic": {"var": "payload"}, "output": "data.got"});
    serve(
        &mut client,
        "outer",
        json!([rename(), {"id": "through", "name": "", "function": {"name": "channel_call", "input": through}}]),
    );
    // A name of its own for each call, over both channels: the same channel calls the connector each time.
    for (name, channel) in [("forged-1", "inner"), ("forged-2", "outer"), ("forged-3", "inner")] {
        assert_eq!(post(&mut client, channel, name), 500);
    }
    assert_eq!(breakers(&mut client), json!({"inner:api": "open"}));
    assert_eq!(upstream.requests().len(), 3);
    for channel in ["inner", "outer"] {
        assert_eq!(post(&mut client, channel, "forged-4"), 503, "held back by the breaker");
    }
    assert_eq!(upstream.requests().len(), 3);
    let page = client.get("/metrics").unwrap().text();
    assert!(!page.contains("forged"), "{page}");
    let series = r#"svc_circuit_breaker_trips_total{connector="api",channel="inner"} 1"#;
    assert!(page.contains(series), "{page}");
}
