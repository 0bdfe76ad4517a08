//! Schedules as their operators see them: the ledger, another attempt, a run out of turn, their status.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;

use crate::support::{channel, echo_workflow, error, eventually, launch, start, wait_until_stable};

const CHANNELS: &str = "/api/v1/admin/channels";
const OCCURRENCES: &str = "/api/v1/admin/cron/occurrences";
const STATUS: &str = "/api/v1/admin/cron/status";
const KEY: &str = "an-admin-key-of-more-than-32-characters";
const READ: &str = "a-read-only-key-of-more-than-32-characters";

/// A schedule that does not come due by itself while a test runs.
const RARELY: &str = "0 0 0 29 2 *";

fn schedule(id: &str, workflow: &str, transport_config: Value) -> Value {
    json!({"channel_id": id, "name": format!("{id}-name"), "channel_type": "async", "protocol": "cron",
        "workflow_id": workflow, "transport_config": transport_config})
}

/// A channel of that schedule in front of an echo workflow.
fn echo_on(client: &mut HttpClient, id: &str, transport_config: Value) {
    create_and_activate(client, "workflows", "workflow_id", &echo_workflow(id)).unwrap();
    create_and_activate(client, "channels", "channel_id", &schedule(id, id, transport_config)).unwrap();
}

/// A channel whose runs fail.
fn broken_on(client: &mut HttpClient, id: &str, transport_config: Value) {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": [{"id": "boom", "name": "",
        "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": {"throw": "no"}}]}}}]});
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(client, "channels", "channel_id", &schedule(id, id, transport_config)).unwrap();
}

/// Runs a channel out of turn and returns the row of the answer.
fn trigger(client: &mut HttpClient, id: &str) -> Value {
    let answer = client.send("POST", &format!("{CHANNELS}/{id}/trigger"), &[], b"").unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["data"].clone()
}

fn read(client: &mut HttpClient, id: &Value) -> Value {
    let one = client.get(&format!("{OCCURRENCES}/{}", id.as_str().unwrap())).unwrap();
    assert_eq!(one.status, 200, "{}", one.text());
    one.json()["data"].clone()
}

/// Runs a channel out of turn and returns the row once the run has ended.
fn run(client: &mut HttpClient, id: &str) -> Value {
    let id = trigger(client, id)["id"].clone();
    wait_until_stable(|| read(client, &id))
}

fn list(client: &mut HttpClient, query: &str) -> Value {
    let page = client.get(&format!("{OCCURRENCES}?{query}")).unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()
}

fn audit_entry(client: &mut HttpClient, action: &str, resource_type: &str) -> Value {
    let query = format!("action={action}&resource_type={resource_type}");
    client.get(&format!("/api/v1/admin/audit-logs?{query}")).unwrap().json()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

const SUMMARY: &str = "id channel_id channel_name trigger scheduled_for status attempt started_at \
                       completed_at error_group created_at";
const REST: &str = "channel_version executing_version workflow_id claimed_by claimed_until singleton_key \
                    fencing_token singleton_slot trace_id error_message updated_at";

fn start_guarded() -> ServerProcess {
    launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_ADMIN_AUTH__READ_ONLY_API_KEYS", READ)
        .start()
        .unwrap()
}

#[test]
fn triggered_run_is_recorded_before_and_after() {
    let server = start();
    let mut client = server.client();
    echo_on(&mut client, "tidy", json!({"schedule": RARELY, "payload": {"span": "day"}}));
    let answer = trigger(&mut client, "tidy");
    assert_eq!(keys(&answer), words(&format!("{SUMMARY} {REST}")));
    for (key, value) in [
        ("channel_id", json!("tidy")),
        ("channel_name", json!("tidy-name")),
        ("trigger", json!("manual")),
        ("status", json!("pending")),
        ("attempt", json!(0)),
        ("channel_version", json!(1)),
        ("workflow_id", json!("tidy")),
    ] {
        assert_eq!(answer[key], value, "{key}: {answer}");
    }
    let empty = "started_at completed_at executing_version claimed_by claimed_until trace_id error_message";
    for key in words(empty) {
        assert_eq!(answer[key], Value::Null, "{key}: {answer}");
    }
    let due = answer["scheduled_for"].as_str().unwrap();
    assert!(due.ends_with('Z'), "{due}");
    let row = wait_until_stable(|| read(&mut client, &answer["id"]));
    assert_eq!(
        (&row["status"], &row["attempt"], &row["executing_version"], &row["scheduled_for"]),
        (&json!("completed"), &json!(1), &json!(1), &answer["scheduled_for"]),
        "{row}"
    );
    assert!(row["started_at"].is_string() && row["completed_at"].is_string(), "{row}");
    assert_eq!((&row["claimed_until"], &row["error_message"]), (&Value::Null, &Value::Null), "{row}");
    let path = format!("/api/v1/admin/traces/{}", row["trace_id"].as_str().unwrap());
    let trace = client.get(&path).unwrap().json()["data"].clone();
    assert_eq!((&trace["mode"], &trace["channel_id"]), (&json!("cron"), &json!("tidy")), "{trace}");
    assert!(trace["message"].to_string().contains("span"), "the run had the payload: {trace}");
    let audit = audit_entry(&mut client, "trigger", "channel");
    assert_eq!((&audit["total"], &audit["data"][0]["resource_id"]), (&json!(1), &json!("tidy")), "{audit}");
}

#[test]
fn the_list_is_newest_first_and_every_filter_counts() {
    let server = start();
    let mut client = server.client();
    echo_on(&mut client, "a", json!({"schedule": RARELY}));
    broken_on(&mut client, "b", json!({"schedule": RARELY}));
    let (first, second, third) = (run(&mut client, "a"), run(&mut client, "b"), run(&mut client, "a"));
    let page = list(&mut client, "");
    assert_eq!(keys(&page), ["data", "total", "limit", "offset"]);
    assert_eq!((&page["total"], &page["limit"], &page["offset"]), (&json!(3), &json!(50), &json!(0)));
    assert_eq!(keys(&page["data"][0]), words(SUMMARY));
    let ids = |page: &Value| -> Vec<Value> {
        page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
    };
    let [one, two, three] = [&first, &second, &third].map(|row| row["id"].clone());
    assert_eq!(ids(&page), [three.clone(), two.clone(), one.clone()]);
    let due = second["scheduled_for"].as_str().unwrap();
    for (query, due) in [
        ("channel_id=a".to_owned(), vec![&three, &one]),
        ("status=failed".to_owned(), vec![&two]),
        ("status=completed&channel_id=b".to_owned(), vec![]),
        ("status=skipped_misfire".to_owned(), vec![]),
        (format!("since={due}"), vec![&three, &two]),
        (format!("until={}", due.trim_end_matches('Z')), vec![&two, &one]),
        (format!("since={}%2B00:00&until={due}", due.trim_end_matches('Z')), vec![&two]),
    ] {
        let page = list(&mut client, &query);
        assert_eq!(ids(&page).iter().collect::<Vec<_>>(), due, "{query}");
        assert_eq!(page["total"], due.len(), "{query}");
    }
    let second_page = list(&mut client, "limit=1&offset=1");
    assert_eq!((ids(&second_page), &second_page["total"]), (vec![two], &json!(3)));
    for name in ["since", "until", "limit", "offset"] {
        let refused = client.get(&format!("{OCCURRENCES}?{name}=soon")).unwrap();
        let message = error(&refused, 400, "VALIDATION_ERROR")["message"].to_string();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn failed_occurrence_is_retried_only_by_operator() {
    let server = start();
    let mut client = server.client();
    broken_on(&mut client, "b", json!({"schedule": RARELY}));
    let failed = run(&mut client, "b");
    assert_eq!((&failed["status"], &failed["attempt"]), (&json!("failed"), &json!(1)), "{failed}");
    assert!(failed["error_message"].as_str().is_some_and(|text| !text.is_empty()), "{failed}");
    assert_eq!(client.get("/api/v1/admin/trace-dlq").unwrap().json()["total"], 0);
    let again = format!("{OCCURRENCES}/{}/retry", failed["id"].as_str().unwrap());
    let retried = client.send("POST", &again, &[], b"").unwrap();
    assert_eq!(retried.status, 200, "{}", retried.text());
    let retried = retried.json()["data"].clone();
    assert_eq!(keys(&retried), words(&format!("{SUMMARY} {REST}")));
    assert_eq!((&retried["status"], &retried["attempt"]), (&json!("pending"), &json!(2)), "{retried}");
    for key in words("id scheduled_for created_at") {
        assert_eq!(retried[key], failed[key], "{key}");
    }
    for key in words("claimed_by claimed_until singleton_key fencing_token completed_at error_message") {
        assert_eq!(retried[key], Value::Null, "{key}: {retried}");
    }
    let row = wait_until_stable(|| read(&mut client, &failed["id"]));
    assert_eq!((&row["status"], &row["attempt"]), (&json!("failed"), &json!(2)), "{row}");
    assert_ne!(row["trace_id"], failed["trace_id"], "each attempt has its trace");
    let audit = audit_entry(&mut client, "retry", "cron_occurrence");
    assert_eq!((&audit["total"], &audit["data"][0]["resource_id"]), (&json!(1), &failed["id"]), "{audit}");
}

#[test]
fn completed_or_missing_occurrence_is_not_retried() {
    let server = start();
    let mut client = server.client();
    echo_on(&mut client, "a", json!({"schedule": RARELY}));
    let done = run(&mut client, "a");
    let again = format!("{OCCURRENCES}/{}/retry", done["id"].as_str().unwrap());
    error(&client.send("POST", &again, &[], b"").unwrap(), 409, "CONFLICT");
    assert_eq!(read(&mut client, &done["id"]), done, "a refusal changes nothing");
    for id in ["none", "01990000-0000-7000-8000-000000000000"] {
        error(&client.get(&format!("{OCCURRENCES}/{id}")).unwrap(), 404, "NOT_FOUND");
        let retry = format!("{OCCURRENCES}/{id}/retry");
        error(&client.send("POST", &retry, &[], b"").unwrap(), 404, "NOT_FOUND");
    }
    assert_eq!(audit_entry(&mut client, "retry", "cron_occurrence")["total"], 0);
}

#[test]
fn only_active_schedule_is_triggered() {
    let server = start();
    let mut client = server.client();
    echo_on(&mut client, "gone", json!({"schedule": RARELY}));
    let archive = json!({"status": "archived"});
    assert_eq!(client.json("PATCH", &format!("{CHANNELS}/gone/status"), &archive).unwrap().status, 200);
    let draft = schedule("draft", "gone", json!({"schedule": RARELY}));
    assert_eq!(client.json("POST", CHANNELS, &draft).unwrap().status, 201);
    create_and_activate(&mut client, "channels", "channel_id", &channel("rest", "gone", json!({}))).unwrap();
    for id in ["gone", "draft", "rest", "unknown"] {
        let refused = client.send("POST", &format!("{CHANNELS}/{id}/trigger"), &[], b"").unwrap();
        let refused = error(&refused, 400, "VALIDATION_ERROR");
        assert_eq!(refused["message"], format!("No active cron channel '{id}'"));
    }
    assert_eq!(list(&mut client, "")["total"], 0);
    assert_eq!(audit_entry(&mut client, "trigger", "channel")["total"], 0);
}

#[test]
fn a_read_only_key_looks_and_does_not_touch() {
    let server = start_guarded();
    let (mut admin, mut reader) =
        (server.client().with_header("x-api-key", KEY), server.client().with_header("x-api-key", READ));
    broken_on(&mut admin, "b", json!({"schedule": RARELY}));
    let failed = run(&mut admin, "b");
    let one = format!("{OCCURRENCES}/{}", failed["id"].as_str().unwrap());
    for path in [OCCURRENCES, one.as_str(), STATUS] {
        assert_eq!(reader.get(path).unwrap().status, 200, "{path}");
        error(&server.client().get(path).unwrap(), 401, "UNAUTHORIZED");
    }
    for path in [format!("{one}/retry"), format!("{CHANNELS}/b/trigger")] {
        error(&reader.send("POST", &path, &[], b"").unwrap(), 403, "FORBIDDEN");
        error(&server.client().send("POST", &path, &[], b"").unwrap(), 401, "UNAUTHORIZED");
    }
    assert_eq!(read(&mut admin, &failed["id"]), failed);
    assert_eq!(list(&mut admin, "")["total"], 1);
}

#[test]
fn status_shows_next_instants_and_last_run() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.get(STATUS).unwrap().json(), json!({"data": []}));
    echo_on(&mut client, "free", json!({"schedule": RARELY}));
    let forbid = json!({"policy": "forbid", "key": "shared", "slots": 2});
    let berlin = json!({"schedule": "30 3 * * *", "timezone": "Europe/Berlin", "concurrency": forbid});
    echo_on(&mut client, "held", berlin);
    let ended = run(&mut client, "free");
    let mut rows = Value::Null;
    eventually(|| {
        rows = client.get(STATUS).unwrap().json()["data"].clone();
        rows.as_array().unwrap().iter().all(|row| row["next_fire_at"].is_string())
    });
    let (free, held) = (&rows[0], &rows[1]);
    let shared = "channel_id channel_name schedule timezone next_fire_at paused_at last_status \
                  last_scheduled_for last_completed_at pending concurrency_policy";
    assert_eq!(keys(free), words(&format!("{shared} next_fires")));
    assert_eq!(keys(held), words(&format!("{shared} singleton_key slots slots_held next_fires")));
    for (key, value) in [
        ("channel_id", json!("free")),
        ("channel_name", json!("free-name")),
        ("schedule", json!(RARELY)),
        ("timezone", json!("UTC")),
        ("paused_at", Value::Null),
        ("last_status", json!("completed")),
        ("last_scheduled_for", ended["scheduled_for"].clone()),
        ("last_completed_at", ended["completed_at"].clone()),
        ("pending", json!(0)),
        ("concurrency_policy", json!("allow")),
    ] {
        assert_eq!(free[key], value, "{key}: {free}");
    }
    for (key, value) in [
        ("timezone", json!("Europe/Berlin")),
        ("last_status", Value::Null),
        ("concurrency_policy", json!("forbid")),
        ("singleton_key", json!("shared")),
        ("slots", json!(2)),
        ("slots_held", json!(0)),
    ] {
        assert_eq!(held[key], value, "{key}: {held}");
    }
    for row in [free, held] {
        let fires = row["next_fires"].as_array().unwrap();
        assert_eq!((fires.len(), &fires[0]), (5, &row["next_fire_at"]), "{row}");
        assert!(fires.iter().map(Value::as_str).is_sorted(), "{row}");
    }
    assert!(free["next_fires"][4].as_str().unwrap().ends_with("-02-29T00:00:00Z"), "{free}");
    let archive = json!({"status": "archived"});
    assert_eq!(client.json("PATCH", &format!("{CHANNELS}/held/status"), &archive).unwrap().status, 200);
    let left = client.get(STATUS).unwrap().json();
    assert_eq!((left["data"].as_array().unwrap().len(), &left["data"][0]["channel_id"]), (1, &json!("free")));
}

#[test]
fn validation_shows_next_instants_of_valid_schedule() {
    let server = start();
    let mut client = server.client();
    let mut checked = |document: &Value| {
        let answer = client.json("POST", &format!("{CHANNELS}/validate"), document).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"].clone()
    };
    let good = checked(&schedule("n", "w", json!({"schedule": "0 12 29 2 *", "timezone": "Asia/Kolkata"})));
    assert_eq!(keys(&good), ["valid", "errors", "warnings", "next_fires"], "{good}");
    let fires = good["next_fires"].as_array().unwrap();
    assert_eq!((fires.len(), &good["valid"]), (5, &json!(true)), "{good}");
    assert!(fires.iter().all(|due| due.as_str().unwrap().ends_with("-02-29T06:30:00Z")), "{good}");
    let policy = json!({"schedule": "@daily", "misfire_policy": "never"});
    let otherwise_wrong = checked(&schedule("n", "w", policy));
    assert_eq!(
        (&otherwise_wrong["valid"], otherwise_wrong["next_fires"].as_array().map(Vec::len)),
        (&json!(false), Some(5))
    );
    for wrong in [
        json!({"schedule": "61 * * * *"}),
        json!({"schedule": "@daily", "timezone": "CET"}),
        json!({"schedule": "@daily", "timezone": 1}),
        json!({"schedule": "0 0 30 2 *"}),
        json!({}),
    ] {
        let refused = checked(&schedule("n", "w", wrong.clone()));
        assert_eq!((&refused["valid"], refused.get("next_fires")), (&json!(false), None), "{wrong}");
    }
    let rest = checked(&channel("r", "w", json!({})));
    assert_eq!((&rest["valid"], rest.get("next_fires")), (&json!(true), None), "{rest}");
}

#[test]
fn health_shows_schedules_and_details_only_to_admin() {
    let server = start_guarded();
    let mut admin = server.client().with_header("x-api-key", KEY);
    echo_on(&mut admin, "a", json!({"schedule": RARELY}));
    let mut health = Value::Null;
    eventually(|| {
        health = admin.get("/health").unwrap().json();
        health["cron"]["last_reconcile_at"].is_i64() && health["cron"]["scheduled_channels"] == 1
    });
    assert_eq!((&health["status"], &health["components"]["cron"]), (&json!("ok"), &json!("ok")), "{health}");
    let cron = &health["cron"];
    let due = "last_reconcile_at reconcile_age_secs oldest_pending_age_secs lease_renewal_failures \
               scheduled_channels";
    assert_eq!(keys(cron), words(due));
    assert!(cron["reconcile_age_secs"].as_u64().is_some_and(|age| age < 60), "{cron}");
    assert_eq!(
        (&cron["oldest_pending_age_secs"], &cron["lease_renewal_failures"]),
        (&Value::Null, &json!(0))
    );
    let anonymous = server.client().get("/health").unwrap().json();
    assert_eq!(
        (&anonymous["components"]["cron"], anonymous.get("cron")),
        (&json!("ok"), None),
        "{anonymous}"
    );
}

#[test]
fn node_with_unserved_schedules_is_degraded_but_ready() {
    let place = launch();
    let database = format!("sqlite:{}", place.directory().join("shared.db").display());
    let first = launch().env("SVC_STORAGE__URL", &database).start().unwrap();
    echo_on(&mut first.client(), "a", json!({"schedule": RARELY}));
    drop(first);
    let off = || launch().env("SVC_CRON__ENABLED", "false");
    let server = off().env("SVC_STORAGE__URL", &database).start().unwrap();
    let mut client = server.client();
    let health = client.get("/health").unwrap();
    assert_eq!(health.status, 200, "degraded is not down");
    let health = health.json();
    assert_eq!((&health["status"], &health["components"]["cron"]), (&json!("degraded"), &json!("degraded")));
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    assert_eq!(client.get(STATUS).unwrap().json(), json!({"data": []}));
    error(&client.send("POST", &format!("{CHANNELS}/a/trigger"), &[], b"").unwrap(), 400, "VALIDATION_ERROR");
    let unused = off().start().unwrap();
    let health = unused.client().get("/health").unwrap().json();
    assert_eq!((&health["status"], health["components"].get("cron")), (&json!("ok"), None), "{health}");
}

#[test]
fn schedule_and_audit_metrics_exist_from_the_start() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let text = client.get("/metrics").unwrap().text();
    for line in [
        "svc_cron_occurrences_total{status=\"completed\"} 0",
        "svc_cron_occurrences_total{status=\"skipped_misfire\"} 0",
        "svc_cron_pending_occurrences 0",
        "svc_cron_singleton_contention_total 0",
        "svc_cron_lease_renewal_failures_total 0",
        "# TYPE svc_cron_schedule_lag_seconds histogram",
        "# TYPE svc_cron_reconcile_duration_seconds histogram",
        "svc_audit_queue_depth 0",
        "svc_audit_events_dropped_total{reason=\"writer_stopped\"} 0",
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
    echo_on(&mut client, "a", json!({"schedule": "* * * * * *"}));
    eventually(|| list(&mut client, "channel_id=a&status=completed")["total"].as_i64() > Some(0));
    let row = list(&mut client, "channel_id=a&status=completed")["data"][0].clone();
    assert_eq!((&row["trigger"], &row["attempt"]), (&json!("cron"), &json!(1)), "{row}");
    trigger(&mut client, "a");
    let mut text = String::new();
    eventually(|| {
        text = client.get("/metrics").unwrap().text();
        text.contains("svc_cron_execution_duration_seconds_count{channel=\"a-name\"}")
    });
    for line in [
        "svc_admin_audit_events_total{action=\"trigger\",resource_type=\"channel\"} 1",
        "svc_job_last_success_timestamp_seconds{job=\"cron_reconcile\"}",
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
}

/// Returns whether the metrics show this number of occurrences that came to `pending`.
fn shows_pending(client: &mut HttpClient, count: u64) -> bool {
    let series = format!("svc_cron_occurrences_total{{status=\"pending\"}} {count}");
    client.get("/metrics").unwrap().text().lines().any(|line| line == series)
}

#[test]
fn trigger_and_retry_count_pending_on_their_node() {
    let place = launch();
    let database = format!("sqlite:{}", place.directory().join("shared.db").display());
    let node = || launch().env("SVC_STORAGE__URL", &database).env("SVC_METRICS__ENABLED", "true");
    let first = node().start().unwrap();
    let mut client = first.client();
    broken_on(&mut client, "b", json!({"schedule": RARELY}));
    let failed = run(&mut client, "b");
    assert!(shows_pending(&mut client, 1));
    let retry = |id: &str| format!("{OCCURRENCES}/{id}/retry");
    let again = retry(failed["id"].as_str().unwrap());
    assert_eq!(client.send("POST", &again, &[], b"").unwrap().status, 200);
    wait_until_stable(|| read(&mut client, &failed["id"]));
    for refused in [retry("none"), format!("{CHANNELS}/none/trigger")] {
        assert!(client.send("POST", &refused, &[], b"").unwrap().status >= 400, "{refused}");
    }
    assert!(shows_pending(&mut client, 2));
    drop(first);
    let second = node().env("SVC_CRON__ENABLED", "false").start().unwrap();
    let mut client = second.client();
    assert!(shows_pending(&mut client, 0));
    assert_eq!(client.send("POST", &again, &[], b"").unwrap().status, 200);
    error(&client.send("POST", &again, &[], b"").unwrap(), 409, "CONFLICT");
    assert!(shows_pending(&mut client, 1));
}
