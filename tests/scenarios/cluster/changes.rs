//! A change on one node serves on the others.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{NEVER, admin, database, epochs, node, post, two_nodes, wait_for_epoch};
use crate::support::{channel, echo, echo_workflow, eventually, serve};

/// The version of a workflow that answers on a channel.
fn version(client: &mut HttpClient, channel: &str) -> Value {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap();
    answer.json()["data"]["version"].clone()
}

fn version_task(version: u32) -> Value {
    json!([{"id": "m", "name": "m", "function": {"name": "map",
        "input": {"mappings": [{"path": "data.version", "logic": version}]}}}])
}

/// Activates a new version of the workflow `v`.
fn activate_version(client: &mut HttpClient, number: u32) {
    admin(client, "POST", "workflows/v/versions", &json!({}));
    admin(client, "PUT", "workflows/v", &json!({"tasks": version_task(number)}));
    admin(client, "PATCH", "workflows/v/status", &json!({"status": "active"}));
}

#[test]
fn every_change_of_the_lifecycle_reaches_the_other_node() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let (mut here, mut there) = (first.client(), second.client());
    serve(&mut here, "v", version_task(1));
    eventually(|| version(&mut there, "v") == 1);
    activate_version(&mut here, 2);
    eventually(|| version(&mut there, "v") == 2);
    // Back, from the other node.
    admin(&mut there, "POST", "workflows/v/rollback", &json!({}));
    eventually(|| version(&mut here, "v") == 1);
    admin(&mut there, "PATCH", "channels/v/status", &json!({"status": "archived"}));
    eventually(|| post(&mut here, "v") == 404);
    echo(&mut there, "w", json!({}));
    eventually(|| post(&mut here, "w") == 200);
    admin(&mut here, "DELETE", "channels/w?force=true", &Value::Null);
    eventually(|| post(&mut there, "w") == 404);
    eventually(|| {
        let [(applied, current), other] = [&mut here, &mut there].map(epochs);
        applied == current && other == (applied, current)
    });
}

#[test]
fn consumer_key_serves_and_ends_on_every_node() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let (mut here, mut there) = (first.client(), second.client());
    echo(&mut here, "c", json!({"auth": {"mode": "api_key", "consumers": {"names": ["acme"]}}}));
    admin(&mut here, "POST", "consumers", &json!({"name": "acme"}));
    let key = admin(&mut here, "POST", "consumers/acme/keys", &json!({"kind": "api_key"}));
    let bearer = format!("Bearer {}", key["secret"].as_str().unwrap());
    let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
    let mut call = || there.send("POST", "/api/v1/data/c", &headers, b"{}").unwrap().status;
    eventually(|| call() == 200);
    admin(&mut here, "DELETE", &format!("consumers/acme/keys/{}", key["id"].as_str().unwrap()), &Value::Null);
    eventually(|| call() == 401);
}

#[test]
fn connector_changed_on_one_node_serves_the_other() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let (mut here, mut there) = (first.client(), second.client());
    let upstreams =
        [201, 202].map(|status| Upstream::start(move |_| UpstreamReply::new(status, "{}")).unwrap());
    let config = |at: usize| json!({"url": upstreams[at].url(""), "allow_private_urls": true});
    let connector = json!({"id": "k", "name": "k", "connector_type": "http", "config": config(0)});
    admin(&mut here, "POST", "connectors", &connector);
    let call = json!([{"id": "c", "name": "c", "function": {"name": "http_call",
        "input": {"connector": "k", "method": "GET", "output": "answer"}}}]);
    serve(&mut here, "call", call);
    let mut calls = |at: usize| {
        eventually(|| {
            post(&mut there, "call");
            !upstreams[at].requests().is_empty()
        });
    };
    calls(0);
    admin(&mut here, "PUT", "connectors/k", &json!({"config": config(1)}));
    calls(1);
}

#[test]
fn imported_connectors_serve_everywhere_with_one_epoch() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let (mut here, mut there) = (first.client(), second.client());
    let (_, before) = epochs(&mut here);
    let item = |name: String| json!({"id": name, "name": name, "connector_type": "http", "config": {"url": "https://a.example"}});
    let batch: Value = (0..40).map(|number| item(format!("k{number}"))).collect();
    let report = admin(&mut here, "POST", "connectors/import", &batch);
    assert_eq!((&report["imported"], &report["failed"]), (&json!(40), &json!(0)), "{report}");
    wait_for_epoch(&second, before + 1);
    assert_eq!(epochs(&mut there), (before + 1, before + 1));
    for number in [0, 39] {
        let path = format!("/api/v1/admin/connectors/k{number}");
        let connector = there.get(&path).unwrap().json()["data"].clone();
        assert_eq!(connector["load_status"], "loaded", "{connector}");
    }
}

#[test]
fn change_is_announced_and_waits_for_no_poll() {
    let Some((_postgres, database)) = database() else { return };
    let lazy = || node(&database).env("SVC_CLUSTER__EPOCH_POLL_INTERVAL_MS", NEVER);
    let (first, second) = (lazy().start().unwrap(), lazy().start().unwrap());
    echo(&mut first.client(), "orders", json!({}));
    eventually(|| post(&mut second.client(), "orders") == 200);
}

#[test]
fn deferred_changes_serve_everywhere_after_one_reload() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let (mut here, mut there) = (first.client(), second.client());
    let (_, before) = epochs(&mut here);
    for name in ["a", "b", "c"] {
        admin(&mut here, "POST", "workflows", &echo_workflow(name));
        admin(&mut here, "POST", "channels", &channel(name, name, json!({})));
        for kind in ["workflows", "channels"] {
            let path = format!("{kind}/{name}/status?reload=defer");
            admin(&mut here, "PATCH", &path, &json!({"status": "active"}));
        }
    }
    admin(&mut here, "PATCH", "channels/a/status?dry_run=true", &json!({"status": "archived"}));
    assert_eq!((epochs(&mut here).1, post(&mut here, "a"), post(&mut there, "a")), (before, 404, 404));
    admin(&mut there, "POST", "engine/reload", &json!({}));
    wait_for_epoch(&first, before + 1);
    for name in ["a", "b", "c"] {
        assert_eq!((post(&mut here, name), post(&mut there, name)), (200, 200), "{name}");
    }
    assert_eq!(epochs(&mut here), (before + 1, before + 1));
}

#[test]
fn nodes_are_listed_with_the_epoch_they_serve() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    echo(&mut first.client(), "orders", json!({}));
    // The workflow and the channel.
    let current = 2;
    wait_for_epoch(&first, current);
    eventually(|| {
        let nodes = admin(&mut second.client(), "GET", "nodes", &Value::Null);
        let nodes = nodes.as_array().cloned().unwrap_or_default();
        nodes.len() == 2 && nodes.iter().all(|node| node["applied_epoch"] == current)
    });
}
