//! Traces of synchronous runs: when they are stored, what they show, how they are listed.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;

use crate::support::{channel, echo, error, eventually, launch, serve, start};

const TRACES: &str = "/api/v1/admin/traces";

/// Runs a channel once and returns the id of its answer.
fn run(client: &mut HttpClient, channel: &str, payload: &Value) -> String {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}"), payload).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The number of stored traces of a channel.
fn stored_trace(client: &mut HttpClient, channel: &str) -> Value {
    client.get(&format!("{TRACES}?include_total=true&channel={channel}")).unwrap().json()["total"].clone()
}

fn in_mode(mode: &str) -> ServerProcess {
    launch().env("SVC_TRACE_STORAGE__MODE", mode).start().unwrap()
}

#[test]
fn answered_run_is_stored_under_answer_id() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"request": {"cookies_to_metadata": ["sid"]}}));
    let headers = [("content-type", "application/json"), ("cookie", "sid=canary-cookie")];
    let answer = client.send("POST", "/api/v1/data/orders", &headers, br#"{"a": 1}"#).unwrap().json();
    let server = server.crash_and_restart().unwrap();
    let read = server.client().get(&format!("{TRACES}/{}", answer["id"].as_str().unwrap())).unwrap();
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(read.header("cache-control"), Some("no-store"));
    assert!(!read.text().contains("canary-cookie"), "{}", read.text());
    let trace = read.json()["data"].clone();
    assert_eq!((&trace["status"], &trace["mode"]), (&json!("completed"), &json!("sync")));
    assert_eq!((&trace["channel"], &trace["channel_id"]), (&json!("orders"), &json!("orders")));
    assert_eq!(trace["message"], answer, "the whole answer");
    assert!(trace["duration_ms"].is_number() && trace["started_at"].is_string(), "{trace}");
    assert_eq!(trace.get("task_trace_json"), None);
}

#[test]
fn lists_show_the_start_of_a_long_error() {
    let server = start();
    let mut client = server.client();
    let mappings = json!([{"path": "data.x", "logic": {"throw": {"var": "payload.text"}}}]);
    let task = json!({"id": "refuse", "name": "Refuse", "function": {"name": "map", "input": {"mappings": mappings}}});
    serve(&mut client, "refusing", json!([task]));
    let body = json!({"text": "é".repeat(50_000)});
    assert_eq!(client.json("POST", "/api/v1/data/refusing", &body).unwrap().status, 500);
    eventually(|| stored_trace(&mut client, "refusing") == json!(1));
    let page = client.get(&format!("{TRACES}?channel=refusing")).unwrap().text();
    assert!(page.contains("Thrown") && page.len() < 10_000, "{} bytes", page.len());
}

#[test]
fn task_details_show_every_step_without_metadata() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "deep", json!({"tracing": {"task_details": true}}));
    let id = run(&mut client, "deep", &json!({"a": 1}));
    let trace = client.get(&format!("{TRACES}/{id}")).unwrap().json()["data"]["task_trace_json"].clone();
    let step = &trace["steps"][0];
    assert_eq!((&step["task_id"], &step["result"]), (&json!("take"), &json!("executed")), "{trace}");
    assert_eq!(step["message"]["data"], json!({"input": {"a": 1}}), "{trace}");
    assert_eq!(step["message"].get("metadata"), None, "{trace}");
}

#[test]
fn pages_follow_cursor_and_count_on_request() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "many", json!({}));
    echo(&mut client, "other", json!({}));
    let mut ids: Vec<String> = (0..5).map(|n| run(&mut client, "many", &json!({"n": n}))).collect();
    run(&mut client, "other", &json!({}));
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let next = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = client.get(&format!("{TRACES}?channel=many&limit=2{next}")).unwrap();
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        assert_eq!((&page["limit"], page.get("total")), (&json!(2), None), "{page}");
        seen.extend(
            page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    ids.sort();
    seen.sort();
    assert_eq!(seen, ids, "each once");
    let counted =
        client.get(&format!("{TRACES}?include_total=true&status=completed&mode=sync")).unwrap().json();
    assert_eq!(counted["total"], 6);
    let mut keys: Vec<_> = counted["data"][0].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    let columns = [
        "attempt",
        "channel",
        "channel_id",
        "completed_at",
        "created_at",
        "duration_ms",
        "error_code",
        "error_group",
        "error_message",
        "id",
        "mode",
        "request_id",
        "started_at",
        "status",
        "updated_at",
        "workflow_id",
        "workflow_version",
    ];
    assert_eq!(keys, columns, "a row has no payload");
}

#[test]
fn a_cursor_goes_with_the_default_order_alone() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "many", json!({}));
    (0..2).for_each(|_| drop(run(&mut client, "many", &json!({}))));
    let page = client.get(&format!("{TRACES}?limit=1")).unwrap().json();
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    for query in [
        "cursor=nonsense".to_owned(),
        format!("cursor={cursor}&offset=1"),
        format!("cursor={cursor}&offset=0"),
        format!("cursor={cursor}&sort_by=status"),
        format!("cursor={cursor}&sort_order=asc"),
        "limit=ten".to_owned(),
        "include_total=maybe".to_owned(),
    ] {
        error(&client.get(&format!("{TRACES}?{query}")).unwrap(), 400, "VALIDATION_ERROR");
    }
}

#[test]
fn off_stores_nothing_and_a_channel_may_say_otherwise() {
    let server = in_mode("off");
    let mut client = server.client();
    echo(&mut client, "quiet", json!({}));
    echo(&mut client, "loud", json!({"tracing": {"mode": "sync"}}));
    let id = run(&mut client, "quiet", &json!({}));
    error(&client.get(&format!("{TRACES}/{id}")).unwrap(), 404, "NOT_FOUND");
    let id = run(&mut client, "loud", &json!({}));
    assert_eq!(client.get(&format!("{TRACES}/{id}")).unwrap().status, 200);
    assert_eq!((stored_trace(&mut client, "quiet"), stored_trace(&mut client, "loud")), (json!(0), json!(1)));
}

#[test]
fn drain_loses_no_async_or_batch_trace() {
    for mode in ["async", "batch"] {
        let mut server = in_mode(mode);
        let mut client = server.client();
        echo(&mut client, "later", json!({}));
        let id = run(&mut client, "later", &json!({}));
        eventually(|| client.get(&format!("{TRACES}/{id}")).unwrap().status == 200);
        (0..20).for_each(|_| drop(run(&mut client, "later", &json!({}))));
        server.signal("TERM").unwrap();
        assert!(server.wait(std::time::Duration::from_secs(30)).unwrap().success(), "{}", server.log_text());
        let server = server.crash_and_restart().unwrap();
        assert_eq!(stored_trace(&mut server.client(), "later"), 21, "{mode}");
    }
}

#[test]
fn errors_only_keeps_only_failures() {
    let server = start();
    let mut client = server.client();
    let tasks = json!([{"id": "check", "name": "", "continue_on_error": true,
        "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"if": [{"var": "payload.bad"}, {"throw": "no"}, 1]}}]}}}]);
    serve(&mut client, "strict", tasks);
    let config = json!({"tracing": {"errors_only": true}});
    let base = "/api/v1/admin/channels";
    client.json("POST", &format!("{base}/strict/versions"), &json!({})).unwrap();
    let edited = client.json("PUT", &format!("{base}/strict"), &channel("strict", "strict", config)).unwrap();
    assert_eq!(edited.status, 200, "{}", edited.text());
    client.json("PATCH", &format!("{base}/strict/status"), &json!({"status": "active"})).unwrap();
    let clean = run(&mut client, "strict", &json!({}));
    let failed = run(&mut client, "strict", &json!({"bad": true}));
    error(&client.get(&format!("{TRACES}/{clean}")).unwrap(), 404, "NOT_FOUND");
    assert_eq!(client.get(&format!("{TRACES}/{failed}")).unwrap().status, 200);
}

#[test]
fn request_id_leads_to_the_trace() {
    let server = start();
    let mut client = server.client();
    let throws = json!([{"id": "t", "name": "t", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"throw": "no"}}]}}}]);
    serve(&mut client, "fails", throws);
    let headers = [("content-type", "application/json"), ("x-request-id", "caller 7")];
    let failed = client.send("POST", "/api/v1/data/fails", &headers, b"{}").unwrap();
    let trace = error(&failed, 500, "ENGINE_ERROR")["trace_id"].clone();
    assert_eq!(failed.header("x-trace-id"), trace.as_str());
    for filter in ["request_id=caller%207", "request_id=caller%207&status=failed"] {
        let found = client.get(&format!("{TRACES}?{filter}")).unwrap().json();
        assert_eq!(found["data"].as_array().map(Vec::len), Some(1), "{found}");
        let row = &found["data"][0];
        assert_eq!((&row["id"], &row["request_id"]), (&trace, &json!("caller 7")), "{found}");
    }
    let other = client.get(&format!("{TRACES}?request_id=caller")).unwrap().json();
    assert_eq!(other["data"], json!([]));
    eventually(|| {
        let log = server.log_text();
        let mut failures = log.lines().filter(|line| line.contains("request failed"));
        failures.any(|line| line.contains("caller 7") && line.contains(trace.as_str().unwrap()))
    });
    let accepted = client.send("POST", "/api/v1/data/fails/async", &headers, b"{}").unwrap();
    let id = accepted.json()["trace_id"].clone();
    assert_eq!(accepted.header("x-trace-id"), id.as_str());
    let found = client.get(&format!("{TRACES}?request_id=caller%207&mode=async")).unwrap().json();
    assert_eq!((&found["data"][0]["id"], found["data"].as_array().map(Vec::len)), (&id, Some(1)), "{found}");
}
