//! Schedules that were late or busy, and what an operator makes of them: another attempt, many at once, page
//! after page.

use std::collections::HashSet;
use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;

use crate::cron::{calling, come_to, held_upstream, occurrences, of_status, pass, schedule, telling};
use crate::support::{error, eventually, launch, start};

const OCCURRENCES: &str = "/api/v1/admin/cron/occurrences";

/// A schedule that does not come due by itself while a test runs.
const RARELY: &str = "0 0 0 29 2 *";

fn trigger(client: &mut HttpClient, id: &str) -> Value {
    let answer = client.send("POST", &format!("/api/v1/admin/channels/{id}/trigger"), &[], b"").unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["data"].clone()
}

fn retry(client: &mut HttpClient, row: &Value) -> HttpResponse {
    let path = format!("{OCCURRENCES}/{}/retry", row["id"].as_str().unwrap());
    client.send("POST", &path, &[], b"").unwrap()
}

/// Asks for another attempt and returns the row of the answer, which waits.
fn retry_accepted(client: &mut HttpClient, row: &Value) -> Value {
    let answer = retry(client, row);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let again = answer.json()["data"].clone();
    for (key, value) in [
        ("status", json!("pending")),
        ("id", row["id"].clone()),
        ("scheduled_for", row["scheduled_for"].clone()),
        ("attempt", json!(row["attempt"].as_i64().unwrap() + 1)),
        ("error_message", Value::Null),
        ("completed_at", Value::Null),
    ] {
        assert_eq!(again[key], value, "{key}: {again}");
    }
    again
}

/// Waits until a row is in that status, and returns it.
fn wait_for_status(server: &ServerProcess, row: &Value, status: &str) -> Value {
    let path = format!("{OCCURRENCES}/{}", row["id"].as_str().unwrap());
    let mut last = Value::Null;
    eventually(|| {
        last = server.client().get(&path).unwrap().json()["data"].clone();
        last["status"] == status
    });
    last
}

fn slots_held(client: &mut HttpClient) -> Value {
    client.get("/api/v1/admin/cron/status").unwrap().json()["data"][0]["slots_held"].clone()
}

#[test]
fn missed_occurrence_runs_after_operator_retry() {
    let server = launch().env("SVC_CRON__MISFIRE_GRACE_SECS", "1").start().unwrap();
    let mut client = server.client();
    let skips = json!({"schedule": "* * * * * *", "misfire_policy": "skip"});
    schedule(&mut client, "tick", telling(), skips, json!({}));
    come_to(&server, "tick", "completed", 1);
    server.signal("STOP").unwrap();
    pass(4);
    server.signal("CONT").unwrap();
    let missed = come_to(&server, "tick", "skipped_misfire", 1).remove(0);
    assert_eq!(missed["attempt"], 0, "it never ran: {missed}");
    let again = retry_accepted(&mut client, &missed);
    let done = wait_for_status(&server, &missed, "completed");
    assert_eq!((&done["attempt"], &done["scheduled_for"]), (&again["attempt"], &missed["scheduled_for"]));
    assert_eq!((&done["error_message"], &done["trigger"]), (&Value::Null, &json!("cron")), "{done}");
}

#[test]
fn skipped_busy_key_runs_after_operator_retry() {
    let server = start();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let forbids = json!({"schedule": RARELY, "concurrency": {"policy": "forbid", "key": "api"}});
    schedule(&mut client, "slow", calling(), forbids, json!({}));
    assert_eq!(slots_held(&mut client), 0);
    let first = trigger(&mut client, "slow");
    upstream.wait_for(1);
    assert_eq!(slots_held(&mut client), 1);

    let second = trigger(&mut client, "slow");
    assert_eq!(second["status"], "pending", "an order is taken: {second}");
    let skipped = wait_for_status(&server, &second, "skipped_singleton");
    assert!(skipped["error_message"].as_str().unwrap().contains("api"), "{skipped}");
    assert!(skipped["started_at"].is_null() && skipped["completed_at"].is_string(), "{skipped}");
    error(&retry(&mut client, &first), 409, "CONFLICT");

    retry_accepted(&mut client, &skipped);
    let skipped = wait_for_status(&server, &second, "skipped_singleton");
    upstream.open();
    wait_for_status(&server, &first, "completed");
    assert_eq!(slots_held(&mut client), 0);
    let again = retry_accepted(&mut client, &skipped);
    let done = wait_for_status(&server, &second, "completed");
    assert_eq!((&done["attempt"], &done["singleton_key"]), (&again["attempt"], &json!("api")), "{done}");
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn pending_occurrence_is_not_retried() {
    let server = launch().env("SVC_CRON__WORKERS", "1").start().unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    schedule(&mut client, "slow", calling(), json!({"schedule": RARELY}), json!({}));
    let first = trigger(&mut client, "slow");
    upstream.wait_for(1);
    let second = trigger(&mut client, "slow");
    let refused = error(&retry(&mut client, &second), 409, "CONFLICT");
    assert!(refused["message"].as_str().unwrap().contains("pending"), "{refused}");
    assert_eq!(of_status(&mut client, "slow", "pending").len(), 1);
    upstream.open();
    for row in [first, second] {
        assert_eq!(wait_for_status(&server, &row, "completed")["attempt"], 1);
    }
}

#[test]
fn simultaneous_triggers_each_get_an_instant() {
    let server = start();
    schedule(&mut server.client(), "many", telling(), json!({"schedule": RARELY}), json!({}));
    let rows: Vec<Value> = thread::scope(|scope| {
        let orders: Vec<_> = (0..50).map(|_| scope.spawn(|| trigger(&mut server.client(), "many"))).collect();
        orders.into_iter().map(|order| order.join().unwrap()).collect()
    });
    let due: HashSet<_> = rows.iter().map(|row| row["scheduled_for"].to_string()).collect();
    assert_eq!(due.len(), 50);
    come_to(&server, "many", "completed", 50);
    assert_eq!(occurrences(&mut server.client(), "many").len(), 50);
}

#[test]
fn cursor_pages_repeat_no_row_during_schedule() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "tick", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    (0..4).for_each(|_| drop(trigger(&mut client, "tick")));
    come_to(&server, "tick", "completed", 6);
    let mut page = |query: &str| client.get(&format!("{OCCURRENCES}?channel_id=tick&{query}")).unwrap();
    let ids = |page: &Value| -> Vec<Value> {
        page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
    };
    let mut rows = Vec::new();
    let mut cursor = String::new();
    loop {
        let listed = page(&format!("limit=2{cursor}")).json();
        rows.extend(ids(&listed));
        assert_eq!((&listed["limit"], &listed["offset"]), (&json!(2), &json!(0)), "{listed}");
        let Some(next) = listed["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        let newest = ids(&page("limit=1").json());
        eventually(|| ids(&page("limit=1").json()) != newest);
    }
    let all = page("limit=1000").json();
    assert_eq!(all.get("next_cursor"), None);
    assert_eq!(all["total"], ids(&all).len());
    let behind: Vec<Value> = ids(&all).into_iter().skip_while(|id| *id != rows[0]).collect();
    assert!(rows.len() >= 6 && ids(&all).len() > rows.len() + 1, "rows came in between");
    assert_eq!(rows, behind, "none twice, none left out");

    error(&page(&format!("offset=0{cursor}")), 400, "VALIDATION_ERROR");
    let refused = error(&page("cursor=soon"), 400, "VALIDATION_ERROR");
    assert!(refused["message"].as_str().unwrap().contains("cursor"), "{refused}");
}
