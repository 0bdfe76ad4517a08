//! The last calls of a connector, with its breakers.

use serde_json::{Value, json};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{error, launch, serve};

const CONNECTORS: &str = "/api/v1/admin/connectors";

#[test]
fn calls_show_target_and_outcome_without_bodies() {
    let upstream = Upstream::start(|request| match request.target.starts_with("/fails") {
        true => UpstreamReply::new(503, "an-answer-that-is-not-kept"),
        false => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let server = launch()
        .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
        .start()
        .unwrap();
    let mut client = server.client();
    let connector = json!({"id": "crm-1", "name": "crm", "connector_type": "http",
        "config": {"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 1}}});
    let created = client.json("POST", CONNECTORS, &connector).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let task = |path: &str| {
        json!([{"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {"connector": "crm",
            "method": "POST", "path": path, "body": {"text": "a-body-that-is-not-kept"}}}}])
    };
    serve(&mut client, "works", task("/orders/7?token=a-query-that-is-not-kept"));
    serve(&mut client, "fails", task("/fails"));
    let path = format!("{CONNECTORS}/crm-1/calls");
    let before = client.get(&path).unwrap().json()["data"].clone();
    assert_eq!((&before["calls"], &before["token"]), (&json!([]), &Value::Null));
    assert_eq!(client.json("POST", "/api/v1/data/works", &json!({})).unwrap().status, 200);
    for _ in 0..2 {
        assert!(client.json("POST", "/api/v1/data/fails", &json!({})).unwrap().status >= 500);
    }
    let answer = client.get(&path).unwrap();
    assert!(!answer.text().contains("not-kept"), "{}", answer.text());
    let data = answer.json()["data"].clone();
    let calls: Vec<_> = data["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            json!([call["channel"], call["target"], call["ok"], call["http_status"], call["attempts"]])
        })
        .collect();
    let expected = [
        json!(["fails", "POST /fails", false, null, 0]),
        json!(["fails", "POST /fails", false, 503, 1]),
        json!(["works", "POST /orders/7", true, null, 1]),
    ];
    assert_eq!(calls, expected, "{data}");
    assert_eq!(
        (&data["calls"][0]["code"], &data["calls"][2]["code"]),
        (&json!("circuit_open"), &Value::Null)
    );
    assert!(data["calls"].as_array().unwrap().iter().all(|call| call["function"] == "http_call"));
    let states: Vec<_> =
        data["breakers"].as_array().unwrap().iter().map(|one| json!([one["key"], one["state"]])).collect();
    assert_eq!(states, [json!(["fails:crm", "open"]), json!(["works:crm", "closed"])]);
    assert_eq!(
        (&data["pool"]["actor"], &data["load_status"]),
        (&json!("connectors/crm-1"), &json!("loaded"))
    );
    // The calls go with the connector.
    client.send("DELETE", &format!("{CONNECTORS}/crm-1?force=true"), &[], b"").unwrap();
    error(&client.get(&path).unwrap(), 404, "NOT_FOUND");
}
