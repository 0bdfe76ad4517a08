//! Requests that are for one node, and the drain of one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{error, launch, start};

const ADMIN: &str = "/api/v1/admin";

#[test]
fn request_for_another_node_is_misdirected() {
    let server = start();
    let mut client = server.client();
    let nodes = client.get(&format!("{ADMIN}/nodes")).unwrap().json();
    let this = nodes["data"][0]["id"].as_str().unwrap();
    for path in [
        "actors/traces/recorder/restart",
        "connectors/circuit-breakers/a:b",
        "kafka/partitions/orders/0/skip",
        "nodes/drain",
    ] {
        let refused = client.json("POST", &format!("{ADMIN}/{path}?node=elsewhere"), &json!({})).unwrap();
        let refused = error(&refused, 421, "MISDIRECTED_REQUEST");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("'elsewhere'") && message.contains(this), "{path}: {message}");
    }
    let log = client.get(&format!("{ADMIN}/audit-logs")).unwrap().json();
    assert_eq!(log["total"], 0, "{log}");
    let restart = format!("{ADMIN}/actors/traces/recorder/restart?node={this}");
    let restarted = client.json("POST", &restart, &json!({})).unwrap();
    assert_eq!(restarted.status, 200, "{}", restarted.text());
}

#[test]
fn drained_node_ends_as_by_signal() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "0").start().unwrap();
    let mut client = server.client();
    let unnamed = client.json("POST", &format!("{ADMIN}/nodes/drain"), &json!({})).unwrap();
    assert!(error(&unnamed, 400, "VALIDATION_ERROR").to_string().contains("query.node"));
    let this = client.get(&format!("{ADMIN}/nodes")).unwrap().json()["data"][0]["id"].clone();
    let drain = format!("{ADMIN}/nodes/drain?node={}", this.as_str().unwrap());
    let answer = client.json("POST", &drain, &json!({})).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let expected: Value = json!({"node": this, "accepting_for_secs": 0, "force_after_secs": 30});
    assert_eq!(answer.json()["data"], expected);
    assert!(answer.header("x-audit-id").is_some());
    assert!(server.wait(Duration::from_secs(60)).unwrap().success());
    assert!(server.log_text().contains("drain ordered"), "{}", server.log_text());
}

#[test]
fn first_signal_leaves_an_ordered_drain_alone() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60").start().unwrap();
    let mut client = server.client();
    let this = client.get(&format!("{ADMIN}/nodes")).unwrap().json()["data"][0]["id"].clone();
    let drain = format!("{ADMIN}/nodes/drain?node={}", this.as_str().unwrap());
    assert_eq!(client.json("POST", &drain, &json!({})).unwrap().status, 202);
    server.wait_for_log(&["draining"]).unwrap();
    server.signal("TERM").unwrap();
    server.wait_for_log(&["finds the node draining"]).unwrap();
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
    server.signal("TERM").unwrap();
    assert!(!server.wait(Duration::from_secs(30)).expect("the second signal ends it at once").success());
}
