//! A pause is one for all nodes.

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::server::ServerProcess;

use super::{admin, database, node, post, two_nodes};
use crate::support::{channel, echo, eventually, serve};

#[test]
fn pause_holds_on_every_node_and_after_death() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    echo(&mut first.client(), "orders", json!({}));
    eventually(|| post(&mut second.client(), "orders") == 200);
    admin(&mut first.client(), "POST", "channels/orders/pause", &json!({"reason": "down"}));
    assert_eq!(post(&mut first.client(), "orders"), 503);
    eventually(|| post(&mut second.client(), "orders") == 503);
    first.signal("KILL").unwrap();
    let third = node(&database).start().unwrap();
    assert_eq!(post(&mut third.client(), "orders"), 503, "a node that starts knows of it");
    admin(&mut second.client(), "POST", "channels/orders/resume", &json!({}));
    assert_eq!(post(&mut second.client(), "orders"), 200);
    eventually(|| post(&mut third.client(), "orders") == 200);
}

#[test]
fn failures_of_all_nodes_count_together() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    let failing = json!({"workflow_id": "failing", "name": "failing", "tasks": [
        {"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"*": [{"var": "payload.n"}, 2]}}]}}}]});
    create_and_activate(&mut first.client(), "workflows", "workflow_id", &failing).unwrap();
    let config =
        json!({"request": {"mode": "accept"}, "on_repeated_failure": {"failures": 2, "within_secs": 600}});
    create_and_activate(&mut first.client(), "channels", "channel_id", &channel("hook", "failing", config))
        .unwrap();
    let send = |server: &ServerProcess| {
        let body = json!({"n": "three"});
        server.client().json("POST", "/api/v1/data/hook", &body).unwrap().status
    };
    eventually(|| send(&second) == 202);
    assert_eq!(send(&first), 202);
    eventually(|| {
        let row = admin(&mut second.client(), "GET", "channels/hook", &json!({}));
        row["paused"]["by"] == "on_repeated_failure"
    });
}

#[test]
fn accepted_work_rests_on_every_node_until_resume() {
    let Some((_postgres, database)) = database() else { return };
    let [first, second] = two_nodes(&database);
    echo(&mut first.client(), "callee", json!({}));
    let call = json!([{"id": "ask", "name": "", "function": {"name": "channel_call", "input": {"channel": "callee"}}}]);
    serve(&mut first.client(), "caller", call);
    eventually(|| post(&mut second.client(), "caller") == 200);
    admin(&mut first.client(), "POST", "channels/callee/pause", &json!({"reason": "down"}));
    eventually(|| post(&mut second.client(), "callee") == 503);
    let submitted: Vec<String> = [&first, &second]
        .map(|node| {
            let answer = node.client().json("POST", "/api/v1/data/caller/async", &json!({})).unwrap();
            assert_eq!(answer.status, 202, "{}", answer.text());
            answer.json()["trace_id"].as_str().unwrap().to_owned()
        })
        .into();
    let trace = |node: &ServerProcess, id: &str| {
        admin(&mut node.client(), "GET", &format!("traces/{id}"), &json!({}))
    };
    for id in &submitted {
        eventually(|| trace(&first, id)["waits_for"]["reason"] == "paused");
    }
    // The node that accepted one of them dies: what rests belongs to no node.
    second.signal("KILL").unwrap();
    admin(&mut first.client(), "POST", "channels/callee/resume", &json!({}));
    for id in &submitted {
        eventually(|| trace(&first, id)["status"] == "completed");
        assert_eq!(trace(&first, id)["attempt"], 1);
    }
}
