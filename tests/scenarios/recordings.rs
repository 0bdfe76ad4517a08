//! Recordings of runs: which are kept, what they hold, who reads them, their deletion, and backtests over them.

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, error, eventually, open_database, serve_with, start};

const ADMIN: &str = "/api/v1/admin/recordings";

fn list(client: &mut HttpClient, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("{ADMIN}?{query}")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

#[test]
fn drawn_run_is_recorded_with_its_calls() {
    let shop = Upstream::start(|_| UpstreamReply::new(200, json!({"stock": 5}).to_string())).unwrap();
    let server = start();
    let mut client = server.client();
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http",
        "config": {"url": shop.url(""), "allow_private_urls": true}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &connector).unwrap().status, 201);
    let tasks = json!([{"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {
        "connector": "shop", "method": "POST", "path": "/stock",
        "body_logic": {"item": {"var": "payload.item"}, "id": {"uuid": "v4"}}, "output": "data.stock"}}}]);
    let config = json!({"tracing": {"record": {"share": 1, "drop": ["payload.card"]}}});
    serve_with(&mut client, "order", config, tasks);
    let sent = json!({"item": "book", "card": "4111111111111111"});
    assert_eq!(client.json("POST", "/api/v1/data/order", &sent).unwrap().status, 200);
    eventually(|| list(&mut client, "channel=order").len() == 1);
    let row = list(&mut client, "channel=order").remove(0);
    assert_eq!((&row["outcome"], &row["source"]), (&json!("completed"), &json!("sync")));
    let path = format!("{ADMIN}/{}", row["id"].as_str().unwrap());
    let recording = client.get(&path).unwrap().json()["data"]["recording"].clone();
    assert_eq!(recording["payload"], json!({"item": "book"}));
    let call = &recording["calls"][0];
    assert_eq!((&call["task"], &call["target"]), (&json!("ask"), &json!("shop")));
    let request: Value = serde_json::from_slice(&shop.requests()[0].body).unwrap();
    assert_eq!(call["input"]["body"], request, "the input is what was sent");
    assert_eq!(recording["end"]["tasks"], json!(["ask"]));
    let run_key = row["run_key"].as_str().unwrap();
    let deleted = client.json("DELETE", &format!("{ADMIN}?run_key={run_key}"), &Value::Null).unwrap();
    assert_eq!((deleted.status, &deleted.json()["data"]["deleted"]), (200, &json!(1)));
    assert!(list(&mut client, "channel=order").is_empty());
    error(&client.json("DELETE", ADMIN, &Value::Null).unwrap(), 400, "VALIDATION_ERROR");
}

#[test]
fn failed_run_alone_is_recorded_where_asked() {
    let server = start();
    let mut client = server.client();
    let tasks = json!([{"id": "check", "name": "Check", "function": {"name": "validation", "input": {
        "rules": [{"logic": {">": [{"var": "payload.n"}, 0]}, "message": "n is too small"}]}}}]);
    serve_with(&mut client, "strict", json!({"tracing": {"record": {"errors": true}}}), tasks);
    echo(&mut client, "plain", json!({}));
    client.json("POST", "/api/v1/data/plain", &json!({})).unwrap();
    client.json("POST", "/api/v1/data/strict", &json!({"n": 1})).unwrap();
    client.json("POST", "/api/v1/data/strict", &json!({"n": 0})).unwrap();
    eventually(|| !list(&mut client, "").is_empty());
    let rows = list(&mut client, "");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["channel"], &rows[0]["outcome"]), (&json!("strict"), &json!("failed")));
}

#[test]
fn unchanged_version_is_same_whatever_is_dropped() {
    let shop = Upstream::start(|_| UpstreamReply::new(200, json!({"pin": "77777777"}).to_string())).unwrap();
    let server = start();
    let mut client = server.client();
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http",
        "config": {"url": shop.url(""), "allow_private_urls": true}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &connector).unwrap().status, 201);
    let map = |path: &str, logic: Value| json!({"path": path, "logic": logic});
    let tasks = json!([
        {"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {"connector": "shop",
            "method": "POST", "path": "/pin", "output": "data.pin", "body_logic": {
                "card": {"var": "payload.card"}, "tag": {"cat": ["tag ", {"var": "payload.n"}]}}}}},
        {"id": "note", "name": "Note", "function": {"name": "map", "input": {"mappings": [
            map("data.card", json!({"var": "payload.card"})), map("data.tags.n", json!({"var": "payload.n"})),
            map("data.tags.tag", json!({"cat": ["tag ", {"var": "payload.n"}]}))]}}}
    ]);
    let drop = json!(["payload.card", "input.body.tag", "answer.pin", "data.tags.tag"]);
    serve_with(&mut client, "order", json!({"tracing": {"record": {"share": 1, "drop": drop}}}), tasks);
    let sent = json!({"n": 5, "card": "4111111111111111"});
    assert_eq!(client.json("POST", "/api/v1/data/order", &sent).unwrap().status, 200);
    eventually(|| list(&mut client, "workflow=order").len() == 1);
    let start = "/api/v1/admin/workflows/order/backtest";
    let started = client.json("POST", start, &json!({"version": 1})).unwrap();
    assert_eq!(started.status, 202, "{}", started.text());
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
    let report = client.get(&path).unwrap().json()["data"]["report"].clone();
    assert_eq!((&report["runs"], &report["kinds"]["same"]), (&json!(1), &json!(1)), "{report}");
}

#[test]
fn backtest_names_runs_that_a_draft_changes() {
    let server = start();
    let mut client = server.client();
    let sum = |from: u64| {
        json!([{"id": "sum", "name": "Sum", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.price", "logic": {"if": [{">=": [{"var": "payload.n"}, from]}, 1, 2]}}]}}}])
    };
    serve_with(&mut client, "price", json!({"tracing": {"record": {"share": 1}}}), sum(8));
    for n in 0..10 {
        let (path, status) = if n % 2 == 0 { ("price", 200) } else { ("price/async", 202) };
        let sent = client.json("POST", &format!("/api/v1/data/{path}"), &json!({"n": n})).unwrap();
        assert_eq!(sent.status, status, "{}", sent.text());
    }
    eventually(|| list(&mut client, "workflow=price").len() == 10);
    let accepted = list(&mut client, "workflow=price").into_iter().filter(|row| row["source"] == "async");
    assert_eq!(accepted.count(), 5);
    let workflow = "/api/v1/admin/workflows/price";
    let start = format!("{workflow}/backtest");
    error(&client.json("POST", &start, &json!({})).unwrap(), 404, "NOT_FOUND");
    for unknown in ["workflows", "channels"] {
        let path = format!("/api/v1/admin/{unknown}/prcie/backtest");
        let refused = error(&client.json("POST", &path, &json!({})).unwrap(), 404, "NOT_FOUND");
        assert!(refused["message"].as_str().unwrap().ends_with("'prcie' does not exist"), "{refused}");
    }
    error(&client.json("POST", &start, &json!({"verion": 1})).unwrap(), 400, "VALIDATION_ERROR");
    let malformed = client.json("POST", &start, &json!({"ignore": ["data.at", "data.rows[x]"]})).unwrap();
    error(&malformed, 400, "VALIDATION_ERROR");
    assert!(malformed.text().contains("body.ignore[1]"), "{}", malformed.text());
    for filter in [
        json!({"outcome": "faild"}),
        json!({"since": "yesterday"}),
        json!({"workflow": "price"}),
        json!({"channel": ["price"]}),
        json!({"version": -1}),
    ] {
        let refused = client.json("POST", &start, &json!({"version": 1, "filter": filter})).unwrap();
        error(&refused, 400, "VALIDATION_ERROR");
        assert!(refused.text().contains("body.filter."), "{}", refused.text());
    }
    assert_eq!(client.json("POST", &format!("{workflow}/versions"), &json!({})).unwrap().status, 201);
    assert_eq!(client.json("PUT", workflow, &json!({"tasks": sum(6)})).unwrap().status, 200);
    let body = json!({"version": "draft", "filter": {"outcome": "completed", "since": "-1h"}});
    let started = client.json("POST", &start, &body).unwrap();
    assert_eq!(started.status, 202, "{}", started.text());
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
    let report = client.get(&path).unwrap().json()["data"]["report"].clone();
    assert_eq!((&report["kinds"]["same"], &report["kinds"]["different-answer"]), (&json!(8), &json!(2)));
    assert_eq!(report["groups"][0]["subject"], "data.price");
    error(&client.json("POST", &format!("{path}/abort"), &json!({})).unwrap(), 409, "CONFLICT");
    let listed = client.get("/api/v1/admin/backtests").unwrap().json()["data"][0].clone();
    assert_eq!((&listed["definition"], &listed["done"]), (&json!("price"), &json!(10)));
    assert!(listed.get("report").is_none(), "{listed}");
    let audits = client.get("/api/v1/admin/audit-logs?action=backtest_end").unwrap().json();
    let details: Value = serde_json::from_str(audits["data"][0]["details"].as_str().unwrap()).unwrap();
    assert_eq!(details["kinds"]["different-answer"], 2);
}

#[test]
fn backtest_that_cannot_go_on_fails() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "price", json!({"tracing": {"record": {"share": 1}}}));
    assert_eq!(client.json("POST", "/api/v1/data/price", &json!({})).unwrap().status, 200);
    eventually(|| list(&mut client, "channel=price").len() == 1);
    let refusal = "CREATE TRIGGER refusal BEFORE UPDATE ON backtests WHEN NEW.done > OLD.done \
         BEGIN SELECT RAISE(ABORT, 'refused'); END";
    open_database(&server.directory().join("svc.db")).batch_execute(refusal).unwrap();
    let start = "/api/v1/admin/workflows/price/backtest";
    let started = client.json("POST", start, &json!({"version": 1})).unwrap();
    assert_eq!(started.status, 202, "{}", started.text());
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "failed");
    let ended = client.get(&path).unwrap().json()["data"].clone();
    assert!(ended["reason"].as_str().unwrap().contains("3 times at one place"), "{ended}");
}

#[test]
fn channel_draft_is_judged_by_its_guards() {
    let server = start();
    let mut client = server.client();
    let tasks = json!([{"id": "take", "name": "Take", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.n", "logic": {"var": "payload.n"}}]}}}]);
    serve_with(&mut client, "order", json!({"tracing": {"record": {"share": 1}}}), tasks);
    for n in 0..5 {
        assert_eq!(client.json("POST", "/api/v1/data/order", &json!({"n": n})).unwrap().status, 200);
    }
    eventually(|| list(&mut client, "channel=order").len() == 5);
    // A shadow serves nothing, so it is not what the channel is tried with.
    let workflow = "/api/v1/admin/workflows/order";
    assert_eq!(client.json("POST", &format!("{workflow}/versions"), &json!({})).unwrap().status, 201);
    let failing = json!([{"id": "fail", "name": "Fail", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.n", "logic": {"throw": "shadow"}}]}}}]);
    assert_eq!(client.json("PUT", workflow, &json!({"tasks": failing})).unwrap().status, 200);
    let shadow = json!({"status": "active", "shadow": true});
    assert_eq!(client.json("PATCH", &format!("{workflow}/status"), &shadow).unwrap().status, 200);
    let channel = "/api/v1/admin/channels/order";
    assert_eq!(client.json("POST", &format!("{channel}/versions"), &json!({})).unwrap().status, 201);
    let schema = json!({"type": "object", "properties": {"n": {"minimum": 2}}});
    let config = json!({"request": {"schema": schema}, "rate_limit": {"requests_per_second": 1}});
    let changed = client.json("PUT", channel, &json!({"config": config})).unwrap();
    assert_eq!(changed.status, 200, "{}", changed.text());
    let started = client.json("POST", &format!("{channel}/backtest"), &json!({})).unwrap();
    assert_eq!(started.status, 202, "{}", started.text());
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
    let report = client.get(&path).unwrap().json()["data"]["report"].clone();
    assert_eq!((&report["kinds"]["same"], &report["kinds"]["new-error"]), (&json!(3), &json!(2)));
    assert_eq!(report["groups"][0]["subject"], "refused by request.schema");
    let guards = json!({"judged": ["methods", "request.schema"], "not_judged": ["rate_limit"]});
    assert_eq!(report["guards"], guards);
    // The requests had bodies of JSON, because the version that serves reads no others.
    let form = json!({"config": {"request": {"body": "form"}}});
    assert_eq!(client.json("PUT", channel, &form).unwrap().status, 200);
    let started = client.json("POST", &format!("{channel}/backtest"), &json!({})).unwrap();
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
    let report = client.get(&path).unwrap().json()["data"]["report"].clone();
    assert_eq!(report["kinds"]["new-error"], 5, "{report}");
    assert_eq!(report["groups"][0]["subject"], "refused by request.body");
    assert_eq!(report["guards"], json!({"judged": ["methods", "request.body"], "not_judged": []}));
}

#[test]
fn changed_shape_of_channel_is_named() {
    let server = start();
    let mut client = server.client();
    let control = json!({"status": 201, "headers": {"etag": "e1"}, "body_path": "a"});
    let tasks = json!([{"id": "take", "name": "Take", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.a", "logic": 7}, {"path": "data._svc.response", "logic": control}]}}}]);
    let shaped = |headers: &[&str]| json!({"mode": "shaped", "allowed_headers": headers});
    let config = json!({"response": shaped(&["etag"]), "tracing": {"record": {"share": 1}}});
    serve_with(&mut client, "order", config, tasks);
    assert_eq!(client.json("POST", "/api/v1/data/order", &json!({})).unwrap().status, 201);
    eventually(|| list(&mut client, "channel=order").len() == 1);
    let channel = "/api/v1/admin/channels/order";
    assert_eq!(client.json("POST", &format!("{channel}/versions"), &json!({})).unwrap().status, 201);
    for (response, subject) in [
        (shaped(&["etag"]), None),
        (shaped(&[]), Some("headers.etag")),
        (json!({"mode": "envelope"}), Some("answer")),
    ] {
        let changed = client.json("PUT", channel, &json!({"config": {"response": response}})).unwrap();
        assert_eq!(changed.status, 200, "{}", changed.text());
        let started = client.json("POST", &format!("{channel}/backtest"), &json!({})).unwrap();
        let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
        eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
        let report = client.get(&path).unwrap().json()["data"]["report"].clone();
        assert_eq!(report["groups"][0]["subject"].as_str(), subject, "{report}");
    }
}
