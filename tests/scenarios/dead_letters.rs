//! Dead letters: what failed behind a 202 is kept, tried again, and let go by an operator.

use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{error, eventually, launch, open_database, serve, wait_until_stable};

const LETTERS: &str = "/api/v1/admin/trace-dlq";
const TRACES: &str = "/api/v1/admin/traces";

/// A channel that fails whatever comes in, for a reason that time may heal.
fn create_broken(client: &mut HttpClient) {
    let nowhere = json!({"name": "nowhere", "connector_type": "http", "config": {
        "url": "http://127.0.0.1:1", "allow_private_urls": true, "retry": {"max_retries": 0}}});
    let created = client.json("POST", "/api/v1/admin/connectors", &nowhere).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let tasks = json!([{"id": "boom", "name": "", "function": {"name": "http_call", "input": {
        "connector": "nowhere", "path": "/"}}}]);
    serve(client, "broken", tasks);
}

/// A channel that fails whatever comes in, each time.
fn wrong(client: &mut HttpClient, channel: &str) {
    let tasks = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"throw": "no"}}]}}}]);
    serve(client, channel, tasks);
}

/// Submits to the channel `broken`, waits until it has failed, and returns its trace.
fn wait_for_letter(client: &mut HttpClient) -> Value {
    wait_for_letter_of(client, "broken")
}

/// Submits to a channel, waits until an attempt has failed, and returns the row of its trace.
fn wait_for_letter_of(client: &mut HttpClient, channel: &str) -> Value {
    let submission = client.json("POST", &format!("/api/v1/data/{channel}/async"), &json!({"n": 1})).unwrap();
    assert_eq!(submission.status, 202, "{}", submission.text());
    let id = submission.json()["trace_id"].clone();
    let mut row = Value::Null;
    eventually(|| {
        let page = client.get(&format!("{TRACES}?channel={channel}")).unwrap().json();
        let rows = page["data"].as_array().unwrap();
        row = rows.iter().find(|row| row["id"] == id).cloned().unwrap_or_default();
        ["retrying", "failed"].contains(&row["status"].as_str().unwrap_or_default())
    });
    row
}

fn letters(client: &mut HttpClient, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{LETTERS}{query}")).unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["data"].as_array().unwrap().clone()
}

#[test]
fn failed_submission_becomes_dead_letter_and_is_requeued() {
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false").start().unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    let trace = wait_for_letter(&mut client);
    assert_eq!(trace["status"], "failed", "{trace}");
    assert!(trace["error_message"].as_str().is_some_and(|text| !text.is_empty()), "{trace}");
    let listed = letters(&mut client, "?channel=broken&exhausted=false");
    assert_eq!(listed.len(), 1, "{listed:?}");
    let row = &listed[0];
    assert_eq!((&row["trace_id"], &row["retry_count"]), (&trace["id"], &json!(0)));
    assert!(row.get("payload_json").is_none() && row["max_retries"] == 5, "{row}");
    assert_eq!(letters(&mut client, "?exhausted=true"), [Value::Null; 0]);
    assert_eq!(letters(&mut client, "?since=-1h"), listed);
    assert_eq!(letters(&mut client, "?until=-1h"), [Value::Null; 0]);
    let one = format!("{LETTERS}/{}", row["id"].as_str().unwrap());
    let letter = client.get(&one).unwrap().json()["data"].clone();
    let payload: Value = serde_json::from_str(letter["payload_json"].as_str().unwrap()).unwrap();
    let metadata: Value = serde_json::from_str(letter["metadata_json"].as_str().unwrap()).unwrap();
    assert_eq!((&payload, &metadata["channel"]), (&json!({"n": 1}), &json!("broken")));
    let again = client.json("POST", &format!("{one}/requeue"), &json!({})).unwrap();
    assert_eq!((again.status, &again.json()["data"]["id"]), (200, &letter["id"]), "{}", again.text());
    let audit = client.get("/api/v1/admin/audit-logs?resource_type=trace_dlq&action=requeue").unwrap().json();
    assert_eq!((&audit["total"], &audit["data"][0]["resource_id"]), (&json!(1), &letter["id"]), "{audit}");
}

#[test]
fn requeue_of_retrying_work_needs_no_room() {
    let server = launch().env("SVC_TRACE_QUEUE__MAX_WAITING", "1").start().unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    let work = wait_for_letter(&mut client);
    assert_eq!(work["status"], "retrying", "{work}");
    // From the next count on the retry takes the only room.
    let later = [("svc-delay", "1h"), ("content-type", "application/json")];
    eventually(|| {
        let delayed = client.send("POST", "/api/v1/data/broken/async", &later, b"{}").unwrap();
        let is_accepted = delayed.status == 202;
        if is_accepted {
            let id = delayed.json()["trace_id"].as_str().unwrap().to_owned();
            let cancelled = client.send("POST", &format!("{TRACES}/{id}/cancel"), &[], b"").unwrap();
            assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        }
        !is_accepted
    });
    // An attempt may take the letter in between.
    eventually(|| {
        let listed = letters(&mut client, "");
        let Some(letter) = listed.first().and_then(|letter| letter["id"].as_str()) else { return false };
        let again = client.json("POST", &format!("{LETTERS}/{letter}/requeue"), &json!({})).unwrap();
        assert_ne!(again.status, 503, "{}", again.text());
        again.status == 200
    });
}

#[test]
fn missing_letter_or_invalid_query_is_refused() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    error(&client.get(&format!("{LETTERS}/none")).unwrap(), 404, "NOT_FOUND");
    error(&client.json("POST", &format!("{LETTERS}/none/requeue"), &json!({})).unwrap(), 404, "NOT_FOUND");
    error(&client.get(&format!("{LETTERS}?exhausted=perhaps")).unwrap(), 400, "VALIDATION_ERROR");
    error(&client.get(&format!("{LETTERS}?since=yesterday")).unwrap(), 400, "VALIDATION_ERROR");
    for body in [json!({}), json!([]), json!({"older_than_hours": "1"}), json!({"older_than_hours": -1})] {
        let purge = client.json("POST", &format!("{LETTERS}/purge"), &body).unwrap();
        error(&purge, 400, "VALIDATION_ERROR");
    }
    let empty = client.json("POST", &format!("{LETTERS}/purge"), &json!({"older_than_hours": 1})).unwrap();
    assert_eq!(empty.json()["data"], json!({"purged": 0, "older_than_hours": 1}), "{}", empty.text());
}

#[test]
fn retries_stay_one_work_until_purged() {
    let server = launch()
        .env("SVC_TRACE_QUEUE__DLQ_MAX_RETRIES", "1")
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    let first = wait_for_letter(&mut client);
    eventually(|| letters(&mut client, "?exhausted=true").len() == 1);
    let letter = letters(&mut client, "")[0].clone();
    assert_eq!((&letter["retry_count"], &letter["max_retries"]), (&json!(1), &json!(1)), "{letter}");
    assert_ne!(letter["trace_id"], first["id"], "a retry has a trace of its own");
    assert_eq!((&first["status"], &letter["attempt_of"]), (&json!("retrying"), &first["id"]), "{letter}");
    let retried = client.get(&format!("{TRACES}/{}", letter["trace_id"].as_str().unwrap())).unwrap().json();
    let retried = &retried["data"];
    assert_eq!((&retried["status"], &retried["mode"]), (&json!("failed"), &json!("async")), "{retried}");
    assert_eq!((&retried["attempt"], &retried["attempt_of"]), (&json!(2), &first["id"]), "{retried}");
    let works = client.get(&format!("{TRACES}?channel=broken")).unwrap().json();
    assert_eq!((&works["data"][0]["id"], &works["data"][0]["status"]), (&first["id"], &json!("failed")));
    assert_eq!((works["data"].as_array().map(Vec::len), &works["data"][0]["attempt"]), (Some(1), &json!(2)));
    let all = client.get(&format!("{TRACES}?channel=broken&attempts=true")).unwrap().json();
    assert_eq!(all["data"].as_array().map(Vec::len), Some(2), "{all}");
    let purge = client.json("POST", &format!("{LETTERS}/purge"), &json!({"older_than_hours": 0})).unwrap();
    assert_eq!(purge.json()["data"], json!({"purged": 1, "older_than_hours": 0}), "{}", purge.text());
    assert_eq!(letters(&mut client, ""), [Value::Null; 0]);
    let audit = client.get("/api/v1/admin/audit-logs?resource_type=trace_dlq&action=purge").unwrap().json();
    assert_eq!(audit["total"], 1, "{audit}");
}

#[test]
fn polled_submission_shows_its_completed_retry() {
    let calls = AtomicUsize::new(0);
    let upstream = Upstream::start(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => UpstreamReply::new(503, ""),
        _ => UpstreamReply::new(200, r#"{"ok": true}"#),
    });
    let upstream = upstream.unwrap();
    let server = launch().start().unwrap();
    let mut client = server.client();
    let up = json!({"name": "up", "connector_type": "http", "config": {
        "url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &up).unwrap().status, 201);
    let call = json!([{"id": "call", "name": "", "function": {"name": "http_call", "input": {
        "connector": "up", "output": "data.up"}}}]);
    serve(&mut client, "job", call);
    let accepted = client.json("POST", "/api/v1/data/job/async", &json!({})).unwrap();
    let (place, body) = (accepted.header("location").unwrap().to_owned(), accepted.json());
    let token = body["trace_token"].as_str().unwrap().to_owned();
    let mut poll = || client.send("GET", &place, &[("x-trace-token", &token)], b"").unwrap();
    let mut waits = Value::Null;
    eventually(|| {
        waits = poll().json()["data"].clone();
        waits["status"] == "retrying" && waits["next_retry_at"].is_string()
    });
    assert_eq!((&waits["attempt"], waits.get("data")), (&json!(1), None), "{waits}");
    assert_eq!(waits["errors"][0], json!({"code": "HTTP_ERROR", "task_id": "call"}), "{waits}");
    let done = wait_until_stable(|| poll().json()["data"].clone());
    assert_eq!((&done["status"], &done["attempt"]), (&json!("completed"), &json!(2)), "{done}");
    assert_eq!((&done["data"], done.get("errors")), (&json!({"up": {"ok": true}}), None), "{done}");
}

#[test]
fn requeue_runs_exhausted_letter_at_once() {
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "3600").start().unwrap();
    let mut client = server.client();
    wrong(&mut client, "broken");
    let trace = wait_for_letter(&mut client);
    let message = trace["error_message"].as_str().unwrap();
    assert!(message.starts_with("boom: ") && message.ends_with("(not retried)"), "{trace}");
    assert_eq!((&trace["status"], &trace["workflow_version"]), (&json!("failed"), &json!(1)), "{trace}");
    let letter = letters(&mut client, "?exhausted=true").remove(0);
    assert_eq!(letter["trace_id"], trace["id"]);
    let path = format!("{LETTERS}/{}/requeue", letter["id"].as_str().unwrap());
    assert_eq!(client.json("POST", &path, &json!({})).unwrap().status, 200);
    eventually(|| letters(&mut client, "?exhausted=true").iter().any(|row| row["trace_id"] != trace["id"]));
}

#[test]
fn letter_gauge_follows_the_table() {
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "3600")
        .start()
        .unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    let mut shown = |count: usize| {
        let page = client.get("/metrics").unwrap().text();
        page.lines().any(|line| line == format!("svc_trace_dlq_depth{{state=\"waiting\"}} {count}"))
    };
    let mut submitter = server.client();
    for count in 1..=3 {
        wait_for_letter(&mut submitter);
        eventually(|| shown(count));
    }
}

#[test]
fn only_exhausted_letters_older_than_the_retention_are_removed() {
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_TRACE_QUEUE__DLQ_RETENTION_HOURS", "24")
        .env("SVC_TRACE_QUEUE__CLEANUP_INTERVAL_SECS", "1")
        .env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false")
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    wrong(&mut client, "wrong");
    let waiting = wait_for_letter(&mut client);
    let (old, young) = (wait_for_letter_of(&mut client, "wrong"), wait_for_letter_of(&mut client, "wrong"));
    let mut scraper = server.client();
    let mut depth = |state: &str, count: usize| {
        let series = format!("svc_trace_dlq_depth{{state=\"{state}\"}} {count}");
        scraper.get("/metrics").unwrap().text().lines().any(|line| line == series)
    };
    eventually(|| depth("exhausted", 2) && depth("waiting", 1));
    // One statement, so that no pass sees one of the ages without the others.
    let aged = format!(
        "UPDATE trace_dlq SET created_at = strftime('%Y-%m-%d %H:%M:%f', 'now', \
         CASE trace_id WHEN {} THEN '-23 hours' ELSE '-25 hours' END)",
        young["id"].to_string().replace('"', "'"),
    );
    open_database(&server.directory().join("svc.db")).batch_execute(&aged).unwrap();
    eventually(|| depth("exhausted", 1) && depth("waiting", 1));
    let mut ids: Vec<_> = letters(&mut client, "").into_iter().map(|row| row["trace_id"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    let mut expected = vec![waiting["id"].clone(), young["id"].clone()];
    expected.sort_by_key(Value::to_string);
    assert_eq!(ids, expected, "{}", old["id"]);
    let traces = client.get(&format!("{TRACES}?channel=wrong")).unwrap().json();
    assert_eq!(
        traces["data"].as_array().map(Vec::len),
        Some(2),
        "traces have a retention of their own: {traces}"
    );
}

/// Returns the health of dead letters: the status of the service, the component, and the detail for administrators.
fn letters_health(client: &mut HttpClient) -> [Value; 3] {
    let health = client.get("/health").unwrap();
    assert_eq!(health.status, 200, "{}", health.text());
    let health = health.json();
    [&health["status"], &health["components"]["dead_letters"], &health["dead_letters"]].map(Clone::clone)
}

#[test]
fn health_tells_too_many_exhausted_letters_until_purged() {
    let server = launch()
        .env("SVC_TRACE_QUEUE__DLQ_EXHAUSTED_THRESHOLD", "2")
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "3600")
        .env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false")
        .start()
        .unwrap();
    let mut client = server.client();
    create_broken(&mut client);
    wrong(&mut client, "wrong");
    wait_for_letter(&mut client);
    wait_for_letter_of(&mut client, "wrong");
    eventually(|| letters_health(&mut client)[2]["exhausted"] == 1);
    assert_eq!(letters_health(&mut client), [json!("ok"), json!("ok"), json!({"exhausted": 1})]);
    wait_for_letter_of(&mut client, "wrong");
    eventually(|| letters_health(&mut client)[1] == "degraded");
    let [status, _, detail] = letters_health(&mut client);
    assert_eq!((&status, &detail["exhausted"]), (&json!("degraded"), &json!(2)), "{detail}");
    let reason = detail["reason"].as_str().unwrap();
    for part in ["2 dead letters", "trace_queue.dlq_exhausted_threshold", "exhausted=true"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    let purge = client.json("POST", &format!("{LETTERS}/purge"), &json!({"older_than_hours": 0})).unwrap();
    assert_eq!(purge.json()["data"]["purged"], 2, "{}", purge.text());
    eventually(|| letters_health(&mut client) == [json!("ok"), json!("ok"), json!({"exhausted": 0})]);
}

#[test]
fn one_exhausted_letter_degrades_health_unless_left_out() {
    for (threshold, expected) in [(None, json!("degraded")), (Some("0"), Value::Null)] {
        let launch = launch().env("SVC_METRICS__ENABLED", "true");
        let launch = match threshold {
            Some(threshold) => launch.env("SVC_TRACE_QUEUE__DLQ_EXHAUSTED_THRESHOLD", threshold),
            None => launch,
        };
        let server = launch.start().unwrap();
        let mut client = server.client();
        wrong(&mut client, "wrong");
        assert_eq!(letters_health(&mut client)[0], "ok");
        wait_for_letter_of(&mut client, "wrong");
        eventually(|| {
            let page = client.get("/metrics").unwrap().text();
            page.lines().any(|line| line == "svc_trace_dlq_depth{state=\"exhausted\"} 1")
        });
        assert_eq!(letters_health(&mut client)[1], expected, "{threshold:?}");
    }
}
