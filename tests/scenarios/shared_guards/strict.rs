//! Connectors that a channel names for what all nodes must see.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::free_port;

use super::{GuardCluster, post};
use crate::support::{channel, echo_workflow, error};

/// Returns the reasons of the quarantined channels.
fn list_quarantined(client: &mut HttpClient) -> Vec<Value> {
    let health = client.get("/health").unwrap().json();
    health["channels"]["quarantined"].as_array().unwrap().clone()
}

#[test]
fn channel_whose_connector_other_nodes_cannot_reach_is_quarantined() {
    let Some(cluster) = GuardCluster::new() else { return };
    let server = cluster.node().start().unwrap();
    let mut client = server.client();
    let gated = json!({"backend": "redis", "url": cluster.redis.url(), "allow_private_urls": true,
        "operations": {"write": false}});
    let away = format!("redis://127.0.0.1:{}", free_port().unwrap());
    let away = json!({"backend": "redis", "url": away, "allow_private_urls": true});
    for (name, config) in [("memory", json!({"backend": "memory"})), ("gated", gated), ("away", away)] {
        let body = json!({"id": name, "name": name, "connector_type": "cache", "config": config});
        let answer = client.json("POST", "/api/v1/admin/connectors", &body).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("echo")).unwrap();
    for connector in ["memory", "gated", "away", "missing"] {
        let keys = json!({"deduplication": {"header": "Idempotency-Key", "connector": connector}});
        let answers = json!({"cache": {"enabled": true, "connector": connector}});
        for (kind, prefix, config) in
            [("keys", "deduplication: ", keys), ("answers", "response cache: ", answers)]
        {
            let id = format!("{kind}-{connector}");
            create_and_activate(&mut client, "channels", "channel_id", &channel(&id, "echo", config))
                .unwrap();
            error(&post(&mut client, &id), 503, "SERVICE_UNAVAILABLE");
            let all = list_quarantined(&mut client);
            let reason = all.iter().find(|entry| entry["channel"] == *id).map(|entry| &entry["reason"]);
            let reason = reason.and_then(Value::as_str).unwrap();
            assert!(reason.starts_with(prefix) && reason.contains(connector), "{reason}");
        }
    }
    let body = json!({"id": "missing", "name": "missing", "connector_type": "cache",
        "config": {"backend": "redis", "url": cluster.redis.url(), "allow_private_urls": true}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &body).unwrap().status, 201);
    assert_eq!(client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap().status, 200);
    for kind in ["keys", "answers"] {
        assert_eq!(post(&mut client, &format!("{kind}-missing")).status, 200);
    }
    assert_eq!(list_quarantined(&mut client).len(), 6);
}
