//! Schedules: what is due is on record, runs once, and outlives whatever happens to the process.

use std::time::Duration;

use serde_json::{Value, json};
use svc_model::Timestamp;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{error, eventually, launch, serve, start};

const CHANNELS: &str = "/api/v1/admin/channels";
const OCCURRENCES: &str = "/api/v1/admin/cron/occurrences";

/// A channel that runs by the clock, in front of these tasks.
pub(crate) fn schedule(
    client: &mut HttpClient,
    id: &str,
    tasks: Value,
    transport_config: Value,
    config: Value,
) {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    let channel = json!({"channel_id": id, "name": id, "channel_type": "async", "protocol": "cron",
        "workflow_id": id, "transport_config": transport_config, "config": config});
    create_and_activate(client, "channels", "channel_id", &channel).unwrap();
}

/// Copies what a run knows about its instant into its result.
pub(crate) fn telling() -> Value {
    let mapping = json!({"mappings": [{"path": "data.trigger", "logic": {"var": "metadata.trigger"}}]});
    json!([{"id": "tell", "name": "", "function": {"name": "map", "input": mapping}}])
}

/// Calls the connector `api` and ends when it answers.
pub(crate) fn calling() -> Value {
    let input = json!({"connector": "api", "method": "POST", "body_logic": {"var": "metadata.trigger"},
        "timeout_ms": 600_000});
    json!([{"id": "call", "name": "", "function": {"name": "http_call", "input": input}}])
}

/// A peer that answers nothing until it is opened, and the connector to it.
pub(crate) fn held_upstream(client: &mut HttpClient) -> Upstream {
    let upstream = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "timeout_secs": 600,
        "retry": {"max_retries": 0}});
    let body = json!({"name": "api", "connector_type": "http", "config": config});
    let answer = client.json("POST", "/api/v1/admin/connectors", &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    upstream
}

fn edit(client: &mut HttpClient, id: &str, change: &Value) {
    for (method, path, body) in [
        ("POST", format!("{CHANNELS}/{id}/versions"), &json!({})),
        ("PUT", format!("{CHANNELS}/{id}"), change),
        ("PATCH", format!("{CHANNELS}/{id}/status"), &json!({"status": "active"})),
    ] {
        let answer = client.json(method, &path, body).unwrap();
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    }
}

/// Every occurrence of a channel, the first one due first, in full.
pub(crate) fn occurrences(client: &mut HttpClient, id: &str) -> Vec<Value> {
    let page = client.get(&format!("{OCCURRENCES}?channel_id={id}&limit=1000")).unwrap().json();
    let mut rows: Vec<Value> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let path = format!("{OCCURRENCES}/{}", row["id"].as_str().unwrap());
            client.get(&path).unwrap().json()["data"].clone()
        })
        .collect();
    rows.sort_by_key(|row| row["scheduled_for"].as_str().unwrap().to_owned());
    rows
}

pub(crate) fn of_status(client: &mut HttpClient, id: &str, status: &str) -> Vec<Value> {
    occurrences(client, id).into_iter().filter(|row| row["status"] == status).collect()
}

pub(crate) fn come_to(server: &ServerProcess, id: &str, status: &str, count: usize) -> Vec<Value> {
    let mut rows = Vec::new();
    eventually(|| {
        rows = of_status(&mut server.client(), id, status);
        rows.len() >= count
    });
    rows
}

/// A timestamp in whole seconds since 1970.
fn seconds(row: &Value, field: &str) -> i64 {
    let at = row[field].as_str().and_then(Timestamp::parse);
    at.unwrap_or_else(|| panic!("{field} of {row}")).naive().and_utc().timestamp()
}

/// Waits until the clock has gone on for so long: nothing else shows that a process is away for that time.
pub(crate) fn pass(seconds: i64) {
    let clock = || Timestamp::now().naive().and_utc().timestamp_millis();
    let then = clock() + seconds * 1000;
    eventually(|| clock() >= then);
}

#[test]
fn second_schedule_runs_once_per_instant() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "tick", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    let rows = come_to(&server, "tick", "completed", 4);
    for pair in rows.windows(2) {
        assert_eq!(seconds(&pair[1], "scheduled_for") - seconds(&pair[0], "scheduled_for"), 1);
    }
    for row in &rows {
        assert_eq!((&row["attempt"], &row["trigger"]), (&json!(1), &json!("cron")), "{row}");
        let late = seconds(row, "started_at") - seconds(row, "scheduled_for");
        assert!((0..10).contains(&late), "not before its instant, and soon after: {row}");
        let trace = format!("/api/v1/admin/traces/{}", row["trace_id"].as_str().unwrap());
        let trace = client.get(&trace).unwrap().json()["data"].clone();
        let trigger = trace["message"]["trigger"].clone();
        let instant = row["scheduled_for"].as_str().unwrap().to_owned();
        assert_eq!(
            (&trigger["scheduled_for"], &trigger["occurrence_id"]),
            (&json!(instant), &row["id"]),
            "{trace}"
        );
        assert_eq!((&trigger["type"], &trigger["timezone"]), (&json!("cron"), &json!("UTC")));
    }
    for path in ["/api/v1/data/tick", "/api/v1/data/tick/async"] {
        let answer = client.json("POST", path, &json!({})).unwrap();
        assert_eq!(answer.header("allow"), Some(""), "no method is");
        let refused = error(&answer, 405, "METHOD_NOT_ALLOWED");
        assert!(refused["message"].as_str().unwrap().contains("/api/v1/admin/channels/tick/trigger"));
    }
}

#[test]
fn edited_schedule_restarts_and_archived_one_pauses() {
    let server = start();
    let mut client = server.client();
    let yearly = json!({"schedule": "@yearly"});
    schedule(&mut client, "tick", telling(), yearly, json!({}));
    edit(&mut client, "tick", &json!({"transport_config": {"schedule": "* * * * * *"}}));
    let rows = come_to(&server, "tick", "completed", 2);
    assert!(rows.iter().all(|row| row["executing_version"] == 2), "{rows:?}");
    let archived = json!({"status": "archived"});
    let archived = client.json("PATCH", &format!("{CHANNELS}/tick/status"), &archived).unwrap();
    assert_eq!(archived.status, 200, "{}", archived.text());
    let last = seconds(occurrences(&mut client, "tick").last().unwrap(), "scheduled_for");
    // Another schedule shows that time passes.
    schedule(&mut client, "other", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    come_to(&server, "other", "completed", 3);
    assert_eq!(seconds(occurrences(&mut client, "tick").last().unwrap(), "scheduled_for"), last);
    edit(&mut client, "tick", &json!({}));
    let rows = come_to(&server, "tick", "completed", rows.len() + 2);
    assert!(of_status(&mut client, "tick", "skipped_misfire").is_empty());
    let back = rows.iter().map(|row| seconds(row, "scheduled_for")).find(|at| *at > last).unwrap();
    assert!(back - last >= 3, "what passed meanwhile is not made up for");
}

#[test]
fn overlap_is_skipped_and_overlong_run_ends() {
    let server = start();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let transport = json!({"schedule": "* * * * * *", "concurrency": {"policy": "forbid", "key": "api"}});
    schedule(&mut client, "slow", calling(), transport, json!({"timeout_ms": 2500}));
    let failed = come_to(&server, "slow", "failed", 2);
    assert!(failed.iter().all(|row| row["error_message"] == "timed out after 2500ms"), "{failed:?}");
    let skipped = of_status(&mut client, "slow", "skipped_singleton");
    assert!(skipped.len() >= 3, "{skipped:?}");
    assert!(skipped.iter().all(|row| row["error_message"].as_str().unwrap().contains("api")));
    for pair in failed.windows(2) {
        assert!(
            seconds(&pair[1], "started_at") >= seconds(&pair[0], "completed_at"),
            "they overlap: {pair:?}"
        );
    }
    drop(upstream);
}

#[test]
fn killed_run_repeats_and_misses_are_summed() {
    let server = launch()
        .env("SVC_CRON__CLAIM_LEASE_SECS", "2")
        .env("SVC_CRON__HEARTBEAT_INTERVAL_SECS", "1")
        .env("SVC_CRON__MISFIRE_GRACE_SECS", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let once = json!({"schedule": "@yearly", "misfire_policy": "skip"});
    schedule(&mut client, "long", calling(), once, json!({}));
    let skips = json!({"schedule": "* * * * * *", "misfire_policy": "skip"});
    schedule(&mut client, "tick", telling(), skips, json!({}));
    come_to(&server, "tick", "completed", 1);
    let row = client.send("POST", &format!("{CHANNELS}/long/trigger"), &[], b"").unwrap();
    assert_eq!(row.status, 202, "{}", row.text());
    upstream.wait_for(1);
    server.signal("STOP").unwrap();
    pass(4);
    let server = server.crash_and_restart().unwrap();
    upstream.wait_for(2);
    upstream.open();
    let row = come_to(&server, "long", "completed", 1).remove(0);
    assert_eq!((&row["attempt"], &row["trigger"]), (&json!(2), &json!("manual")), "{row}");
    let triggers: Vec<Value> =
        upstream.requests().iter().map(|asked| asked.text().parse().unwrap()).collect();
    assert_eq!(triggers[0]["occurrence_id"], triggers[1]["occurrence_id"]);
    assert_eq!(triggers[0]["scheduled_for"], triggers[1]["scheduled_for"]);
    assert_eq!((&triggers[0]["attempt"], &triggers[1]["attempt"]), (&json!(1), &json!(2)));
    let count_of = |row: &Value| {
        let message = row["error_message"].as_str().unwrap();
        assert!(message.ends_with("(misfire_policy \"skip\")"), "{message}");
        message.split(' ').nth(1).unwrap().parse::<i64>().unwrap()
    };
    let mut missed = Vec::new();
    eventually(|| {
        missed = of_status(&mut server.client(), "tick", "skipped_misfire");
        // A machine under load may be late by a second or two at any time.
        missed.retain(|row| count_of(row) >= 3);
        !missed.is_empty()
    });
    assert_eq!(missed.len(), 1, "{missed:?}");
    let count = count_of(&missed[0]);
    let due: Vec<i64> =
        occurrences(&mut server.client(), "tick").iter().map(|row| seconds(row, "scheduled_for")).collect();
    let newest = seconds(&missed[0], "scheduled_for");
    let before = due.iter().filter(|at| **at < newest).max().unwrap();
    assert_eq!(newest - before, count, "every missed second is counted");
}

#[test]
fn process_stopped_past_lease_writes_nothing() {
    let server = launch()
        .env("SVC_CRON__CLAIM_LEASE_SECS", "2")
        .env("SVC_CRON__HEARTBEAT_INTERVAL_SECS", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    schedule(&mut client, "long", calling(), json!({"schedule": "@yearly"}), json!({}));
    assert_eq!(client.send("POST", &format!("{CHANNELS}/long/trigger"), &[], b"").unwrap().status, 202);
    upstream.wait_for(1);
    server.signal("STOP").unwrap();
    pass(3);
    // The answer is there when it wakes up: the run could end, but its claim is lost.
    upstream.open();
    server.signal("CONT").unwrap();
    let row = come_to(&server, "long", "completed", 1).remove(0);
    assert_eq!((&row["attempt"], upstream.requests().len()), (&json!(2), 2), "{row}");
}

#[test]
fn scheduled_run_is_traced_while_traces_are_off() {
    let server = launch().env("SVC_TRACE_STORAGE__MODE", "off").start().unwrap();
    let mut client = server.client();
    schedule(&mut client, "tick", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    let rows = come_to(&server, "tick", "completed", 2);
    for row in rows {
        assert_eq!(row["attempt"], 1, "{row}");
        let trace = format!("/api/v1/admin/traces/{}", row["trace_id"].as_str().unwrap());
        let trace = client.get(&trace).unwrap().json()["data"].clone();
        assert_eq!((&trace["mode"], &trace["status"]), (&json!("cron"), &json!("completed")), "{trace}");
    }
}

#[test]
fn trace_of_run_holds_final_data() {
    let server = start();
    let mut client = server.client();
    let set = |id: &str, mappings: Value| json!({"id": id, "name": "", "function": {"name": "map", "input": {"mappings": mappings}}});
    let tasks = json!([
        set("first", json!([{"path": "data.step", "logic": 1}, {"path": "data.early", "logic": true}])),
        set("scratch", json!([{"path": "temp_data.note", "logic": "gone"}])),
        set("last", json!([{"path": "data.step", "logic": 2}])),
    ]);
    schedule(&mut client, "steps", tasks.clone(), json!({"schedule": "* * * * * *"}), json!({}));
    let row = come_to(&server, "steps", "completed", 1).remove(0);
    let trace = |client: &mut HttpClient, id: &Value| {
        let answer = client.get(&format!("/api/v1/admin/traces/{}", id.as_str().unwrap())).unwrap();
        answer.json()["data"].clone()
    };
    let cron = trace(&mut client, &row["trace_id"]);
    assert_eq!(cron["message"], json!({"step": 2, "early": true}), "{cron}");
    // That of a request is its whole answer, with the same data.
    serve(&mut client, "asked", tasks);
    let answer = client.json("POST", "/api/v1/data/asked", &json!({})).unwrap().json();
    let sync = trace(&mut client, &answer["id"]);
    assert_eq!((&sync["mode"], &sync["message"]["data"]), (&json!("sync"), &cron["message"]), "{sync}");
}

#[test]
fn tolerated_errors_of_a_run_are_listed() {
    let server = start();
    let mut client = server.client();
    let call = json!({"name": "channel_call", "input": {"channel": "none", "output": "data.answer"}});
    let mapping = json!({"mappings": [{"path": "data.sent", "logic": 1}]});
    let tasks = json!([
        {"id": "ask", "name": "", "continue_on_error": true, "function": call},
        {"id": "go", "name": "", "function": {"name": "map", "input": mapping}}]);
    schedule(&mut client, "tolerant", tasks, json!({"schedule": "* * * * * *"}), json!({}));
    let row = come_to(&server, "tolerant", "completed", 1).remove(0);
    let trace = format!("/api/v1/admin/traces/{}", row["trace_id"].as_str().unwrap());
    let trace = client.get(&trace).unwrap().json()["data"].clone();
    let error = &trace["errors"][0];
    assert_eq!((&trace["message"], &error["task_id"]), (&json!({"sent": 1}), &json!("ask")), "{trace}");
    assert_eq!((&error["code"], &error["tolerated"]), (&json!("FUNCTION_ERROR"), &json!(true)), "{trace}");
}

#[test]
fn running_work_is_returned_after_shutdown_time() {
    let server = launch().env("SVC_CRON__SHUTDOWN_TIMEOUT_SECS", "1").start().unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let forbids = json!({"schedule": "@yearly", "concurrency": {"policy": "forbid"}});
    schedule(&mut client, "long", calling(), forbids, json!({}));
    assert_eq!(client.send("POST", &format!("{CHANNELS}/long/trigger"), &[], b"").unwrap().status, 202);
    upstream.wait_for(1);
    server.signal("TERM").unwrap();
    let mut server = server;
    assert!(server.wait(Duration::from_secs(30)).unwrap().success());
    // Far from the end of its lease of a minute, it runs at once.
    let server = server.crash_and_restart().unwrap();
    upstream.wait_for(2);
    upstream.open();
    let row = come_to(&server, "long", "completed", 1).remove(0);
    assert_eq!(row["attempt"], 1, "{row}");
}
