//! Reloads that fail, and circuit breakers.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{admin, database, epochs, node, post, two_nodes, wait_for_epoch};
use crate::support::{echo, eventually, serve};

#[test]
fn failed_reload_keeps_epoch_and_is_recorded() {
    let Some((_postgres, database)) = database() else { return };
    let server = node(&database).start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    wait_for_epoch(&server, 2);
    let (_, before) = epochs(&mut client);
    // Only a row written by hand can use an id twice.
    let task = r#"{"id": "t", "name": "t", "function": {"name": "log", "input": {"message": "x"}}}"#;
    database
        .rows(&format!(
            "ALTER TABLE definitions DISABLE TRIGGER USER; \
             UPDATE definitions SET content = jsonb_set(content::jsonb, '{{tasks}}', '[{task}, {task}]')::text \
             WHERE kind = 'workflow'; ALTER TABLE definitions ENABLE TRIGGER USER"
        ))
        .unwrap();
    let answer = client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert_eq!((epochs(&mut client).1, post(&mut client, "orders")), (before, 200));
    let audited = admin(&mut client, "GET", "audit-logs?resource_type=engine", &Value::Null);
    let details: Value = serde_json::from_str(audited[0]["details"].as_str().unwrap()).unwrap();
    assert_eq!((&audited[0]["action"], &details["outcome"]), (&json!("reload"), &json!("failed")));
}

#[test]
fn failed_load_elsewhere_is_retried_until_success() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    echo(&mut first.client(), "orders", json!({}));
    wait_for_epoch(&second, 2);
    // The second node cannot read the record of changes, and therefore has to read everything, which fails.
    let task = r#"{"id": "t", "name": "t", "function": {"name": "log", "input": {"message": "x"}}}"#;
    let task: Value = serde_json::from_str(task).unwrap();
    let workflow = json!({"name": "bad", "tasks": [task, task]});
    let channel = json!({"name": "bad", "channel_type": "sync", "protocol": "rest", "workflow_id": "bad"});
    let spoil = format!(
        "INSERT INTO definitions (kind, id, version, name, status, workflow_id, content) VALUES \
         ('workflow', 'bad', 1, 'bad', 'active', NULL, '{workflow}'), \
         ('channel', 'bad', 1, 'bad', 'active', 'bad', '{channel}'); UPDATE config_epoch SET epoch = epoch + 1"
    );
    database.rows(&spoil).unwrap();
    let propagation = |server: &ServerProcess| {
        server.client().get("/health").unwrap().json()["components"]["config_propagation"].clone()
    };
    eventually(|| propagation(&second) == "degraded");
    assert_eq!((epochs(&mut second.client()), post(&mut second.client(), "orders")), ((2, 3), 200));
    database.rows("DELETE FROM definitions WHERE id = 'bad'").unwrap();
    wait_for_epoch(&second, 3);
    assert_eq!(propagation(&second), "ok");
}

/// The states of the breakers of a node.
fn breakers(client: &mut HttpClient) -> Value {
    admin(client, "GET", "connectors/circuit-breakers", &Value::Null)["breakers"].clone()
}

#[test]
fn simultaneous_breaker_resets_reach_the_other_node() {
    let Some((_postgres, database)) = database() else { return };
    let upstream = Upstream::start(|_| UpstreamReply::new(500, "{}")).unwrap();
    let with_breakers = || {
        node(&database)
            .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
    };
    let (first, second) = (with_breakers().start().unwrap(), with_breakers().start().unwrap());
    let (mut here, mut there) = (first.client(), second.client());
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "k", "name": "k", "connector_type": "http", "config": config});
    admin(&mut here, "POST", "connectors", &connector);
    let call = json!([{"id": "c", "name": "c", "function": {"name": "http_call",
        "input": {"connector": "k", "method": "GET"}}}]);
    for name in ["a", "b"] {
        serve(&mut here, name, call.clone());
    }
    for name in ["a", "b"] {
        eventually(|| post(&mut there, name) == 500);
    }
    assert_eq!(breakers(&mut there), json!({"a:k": "open", "b:k": "open"}));
    post(&mut here, "a");
    post(&mut here, "b");
    for name in ["a", "b"] {
        admin(&mut here, "POST", &format!("connectors/circuit-breakers/{name}:k"), &json!({}));
    }
    eventually(|| breakers(&mut there) == json!({"a:k": "closed", "b:k": "closed"}));
}
