//! Kafka without brokers: health, readiness, and tasks that publish to no topic.

use serde_json::json;

use crate::support::{details, error, eventually, launch};

const ADMIN: &str = "/api/v1/admin";

#[test]
fn absent_brokers_degrade_node_but_leave_ready() {
    let off = launch().start().unwrap();
    let health = off.client().get("/health").unwrap().json();
    assert_eq!(health["components"].get("kafka"), None, "without Kafka there is nothing to tell");
    let launch = launch().env("SVC_KAFKA__ENABLED", "true").env("SVC_KAFKA__BROKERS", "127.0.0.1:1");
    let server = launch.env("SVC_ENGINE__HEALTH_CHECK_TIMEOUT_SECS", "1").start().unwrap();
    let mut client = server.client();
    let question = "not answered yet";
    eventually(|| {
        let health = client.get("/health").unwrap().json();
        health["kafka"]["problem"].as_str().is_some_and(|problem| !problem.contains(question))
    });
    let health = client.get("/health").unwrap();
    assert_eq!(health.status, 200);
    let health = health.json();
    assert_eq!((&health["status"], &health["components"]["kafka"]), (&json!("degraded"), &json!("degraded")));
    let ready = client.get("/readyz").unwrap();
    assert_eq!((ready.status, &ready.json()["components"]["kafka"]), (200, &json!("degraded")));
}

#[test]
fn publish_without_topic_is_refused_with_known_connector() {
    let server = launch().env("SVC_KAFKA__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let workflow = |connector: &str, topic: Option<&str>| {
        let mut input = json!({"connector": connector});
        if let Some(topic) = topic {
            input["topic"] = topic.into();
        }
        let task = json!({"id": "t", "name": "T", "function": {"name": "publish_kafka", "input": input}});
        json!({"name": "w", "tasks": [task]})
    };
    for (name, config) in
        [("bare", json!({"brokers": []})), ("events", json!({"brokers": [], "topic": "orders"}))]
    {
        let connector = json!({"name": name, "connector_type": "kafka", "config": config});
        assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    }
    let path = format!("{ADMIN}/workflows");
    let refused = client.json("POST", &path, &workflow("bare", None)).unwrap();
    let refused = details(&error(&refused, 400, "VALIDATION_ERROR"));
    assert_eq!(refused, [("tasks[0].function.input.topic".to_owned(), "REQUIRED".to_owned())]);
    let validated = client.json("POST", &format!("{path}/validate"), &workflow("bare", None)).unwrap().json();
    assert_eq!(validated["data"]["valid"], false, "{validated}");
    for sound in [workflow("bare", Some("t")), workflow("events", None), workflow("unknown", None)] {
        let answer = client.json("POST", &path, &sound).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}
