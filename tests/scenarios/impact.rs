//! The reach of a change: the channels and workflows that depend on a definition, with their traffic.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;

use crate::support::{error, eventually, serve_with, start};

const ADMIN: &str = "/api/v1/admin";

/// A workflow of each of `stock` and `front`, of which the former uses connector `crm` and the latter calls the former; a
/// schedule runs the latter, too.
fn populate(client: &mut HttpClient) {
    let connector =
        json!({"id": "k", "name": "crm", "connector_type": "http", "config": {"url": "https://a.example"}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    let ask = json!({"id": "ask", "name": "Ask", "condition": false,
        "function": {"name": "http_call", "input": {"connector": "crm", "path": "/", "output": "data.got"}}});
    let call = json!({"id": "call", "name": "Call", "function": {"name": "channel_call",
        "input": {"channel": "stock", "output": "data.got"}}});
    let traced = json!({"mode": "sync"});
    let limited = json!({"tracing": traced, "quota": {"limit": 100, "per": "hour"}});
    serve_with(client, "stock", limited, json!([ask]));
    serve_with(client, "front", json!({"tracing": traced}), json!([call]));
    let nightly = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "front", "transport_config": {"schedule": "0 0 1 1 *"}});
    create_and_activate(client, "channels", "channel_id", &nightly).unwrap();
}

fn impact(client: &mut HttpClient, definition: &str) -> Value {
    let answer = client.get(&format!("{ADMIN}/{definition}/impact")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Returns name, reference and its end of each channel, in the order of the names.
fn channels(impact: &Value) -> Vec<(String, String, Value)> {
    let text = |channel: &Value, key: &str| channel[key].as_str().unwrap().to_owned();
    let channels = impact["channels"].as_array().unwrap().iter();
    let mut channels: Vec<_> = channels
        .map(|channel| (text(channel, "name"), text(channel, "how"), channel["through"].clone()))
        .collect();
    channels.sort_by(|one, other| one.0.cmp(&other.0));
    channels
}

fn reached(name: &str, how: &str, through: &str) -> (String, String, Value) {
    (name.to_owned(), how.to_owned(), json!(through))
}

#[test]
fn impact_follows_callers_of_callers() {
    let server = start();
    let mut client = server.client();
    populate(&mut client);
    let expected = [
        reached("front", "runs", "workflow front"),
        reached("nightly", "runs", "workflow front"),
        reached("stock", "runs", "workflow stock"),
    ];
    let of_connector = impact(&mut client, "connectors/k");
    assert_eq!(channels(&of_connector), expected, "{of_connector}");
    assert_eq!((&of_connector["kind"], &of_connector["name"]), (&json!("connector"), &json!("crm")));
    let of_workflow = impact(&mut client, "workflows/stock");
    assert_eq!(channels(&of_workflow), expected, "{of_workflow}");
    let workflows = [
        json!({"workflow_id": "stock", "name": "stock", "how": "itself"}),
        json!({"workflow_id": "front", "name": "front", "how": "calls", "through": "channel stock"}),
    ];
    assert_eq!(of_workflow["workflows"], json!(workflows));
    assert_eq!((&of_workflow["connectors"], &of_workflow["calls"]), (&json!(["crm"]), &json!([])));
    let of_channel = impact(&mut client, "channels/front");
    assert_eq!(channels(&of_channel), [("front".to_owned(), "itself".to_owned(), Value::Null)]);
    assert_eq!((&of_channel["calls"], &of_channel["connectors"]), (&json!(["stock"]), &json!(["crm"])));
    for kind in ["workflows", "channels", "connectors"] {
        error(&client.get(&format!("{ADMIN}/{kind}/absent/impact")).unwrap(), 404, "NOT_FOUND");
    }
}

#[test]
fn impact_shows_ingress_quota_and_runs() {
    let server = start();
    let mut client = server.client();
    populate(&mut client);
    for _ in 0..3 {
        assert_eq!(client.json("POST", "/api/v1/data/stock", &json!({})).unwrap().status, 200);
    }
    let stock = |impact: &Value| {
        let channels = impact["channels"].as_array().unwrap();
        channels.iter().find(|channel| channel["name"] == "stock").unwrap().clone()
    };
    eventually(|| stock(&impact(&mut client, "workflows/stock"))["traffic"]["runs"] == 3);
    let shown = impact(&mut client, "workflows/stock");
    let stock = stock(&shown);
    assert_eq!((&stock["route_pattern"], &stock["methods"]), (&json!("/stock"), &json!(["POST"])));
    assert_eq!(stock["quota"], json!({"limit": 100, "per": "hour"}));
    let traffic = &stock["traffic"];
    assert_eq!((&traffic["failed"], &traffic["capped"]), (&json!(0), &json!(false)), "{traffic}");
    assert!(traffic["p95_ms"].as_f64().is_some(), "{traffic}");
    let channels = shown["channels"].as_array().unwrap();
    let nightly = channels.iter().find(|channel| channel["name"] == "nightly").unwrap();
    assert_eq!((&nightly["schedule"], &nightly["protocol"]), (&json!("0 0 1 1 *"), &json!("cron")));
    assert_eq!(nightly["traffic"], json!({"runs": 0, "failed": 0, "capped": false, "p95_ms": null}));
}

#[test]
fn draft_counts_with_what_serves() {
    let server = start();
    let mut client = server.client();
    populate(&mut client);
    let path = format!("{ADMIN}/workflows/front");
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    let ask = json!({"id": "ask", "name": "Ask",
        "function": {"name": "http_call", "input": {"connector": "erp", "path": "/", "output": "data.got"}}});
    assert_eq!(client.json("PUT", &path, &json!({"tasks": [ask]})).unwrap().status, 200);
    let of_draft = impact(&mut client, "workflows/front");
    assert_eq!(of_draft["connectors"], json!(["erp", "crm"]), "the draft's own is nearer");
    let of_stock = impact(&mut client, "workflows/stock");
    assert_eq!(of_stock["workflows"][1]["workflow_id"], "front", "what serves still calls it");
}
