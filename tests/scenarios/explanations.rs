//! Explanations: the reason for which a schedule ran at an instant or did not, and for which accepted work waits.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::cron::{calling, come_to, held_upstream, occurrences, of_status, pass, schedule, telling};
use crate::support::{echo, error, eventually, launch, start, start_guarded, wait_until_stable};

const ADMIN: &str = "/api/v1/admin";
const SECOND: &str = "* * * * * *";

fn why(client: &mut HttpClient, path: &str) -> HttpResponse {
    client.get(&format!("{ADMIN}/channels/{path}")).unwrap()
}

/// Explains an instant of a channel, or now without one.
fn explain(client: &mut HttpClient, channel: &str, at: Option<&Value>) -> Value {
    let query = at.map(|at| format!("?at={}", at.as_str().unwrap())).unwrap_or_default();
    let answer = why(client, &format!("{channel}/why{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let explained = answer.json()["data"].clone();
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.ends_with('.'), "{sentence}");
    assert_eq!(explained["clock"]["is_off"], false, "{explained}");
    explained
}

fn change(client: &mut HttpClient, path: &str, body: &Value) {
    let answer = client.json("POST", &format!("{ADMIN}/channels/{path}"), body).unwrap();
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
}

/// Submits work and returns the id of its trace.
fn submit(client: &mut HttpClient, channel: &str, headers: &[(&str, &str)]) -> String {
    let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
    let path = format!("/api/v1/data/{channel}/async");
    let answer = client.send("POST", &path, &headers, b"{}").unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["trace_id"].as_str().unwrap().to_owned()
}

fn trace(client: &mut HttpClient, id: &str) -> Value {
    client.get(&format!("{ADMIN}/traces/{id}")).unwrap().json()["data"].clone()
}

#[test]
fn instant_off_schedule_is_not_due() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "rare", telling(), json!({"schedule": "@yearly"}), json!({}));
    let now = explain(&mut client, "rare", None);
    assert_eq!(
        (&now["reason"], &now["due"], &now["active_version"]),
        (&json!("not_due"), &json!(false), &json!(1))
    );
    assert!(now.get("occurrence").is_none() && now.get("previous").is_none(), "{now}");
    let next = explain(&mut client, "rare", Some(&now["next"]));
    assert_eq!((&next["reason"], &next["due"]), (&json!("ahead"), &json!(true)), "{next}");
    let long_ago = explain(&mut client, "rare", Some(&json!("2020-01-01T00:00:00Z")));
    assert_eq!((&long_ago["reason"], &long_ago["due"]), (&json!("expired"), &json!(true)), "{long_ago}");
    assert_eq!(explain(&mut client, "rare", Some(&json!("-1h")))["reason"], "not_due");
}

#[test]
fn due_instant_shows_its_occurrence() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "tick", telling(), json!({"schedule": SECOND}), json!({}));
    let row = come_to(&server, "tick", "completed", 2).remove(1);
    let explained = explain(&mut client, "tick", Some(&row["scheduled_for"]));
    assert_eq!((&explained["reason"], &explained["due"]), (&json!("completed"), &json!(true)), "{explained}");
    for member in ["id", "scheduled_for", "trace_id", "attempt", "completed_at"] {
        assert_eq!(explained["occurrence"][member], row[member], "{member}");
    }
    assert!(explained["previous"]["scheduled_for"].as_str() < row["scheduled_for"].as_str(), "{explained}");
    assert!(explained["cursor"]["next_fire_at"].as_str() > row["scheduled_for"].as_str(), "{explained}");
}

#[test]
fn missed_instant_names_its_misfire() {
    let server = launch().env("SVC_CRON__MISFIRE_GRACE_SECS", "1").start().unwrap();
    let transport = json!({"schedule": SECOND, "misfire_policy": "skip"});
    schedule(&mut server.client(), "tick", telling(), transport, json!({}));
    come_to(&server, "tick", "completed", 1);
    server.signal("STOP").unwrap();
    pass(5);
    let server = server.crash_and_restart().unwrap();
    let mut rows = Vec::new();
    eventually(|| {
        rows = of_status(&mut server.client(), "tick", "skipped_misfire");
        // A machine under load may miss a single instant at any time.
        rows.retain(|row| row["error_message"].as_str().unwrap().split(' ').nth(1) != Some("1"));
        !rows.is_empty()
    });
    let row = rows.remove(0);
    let message = row["error_message"].as_str().unwrap();
    let oldest = message.split(' ').nth(5).unwrap();
    assert_ne!(oldest, row["scheduled_for"], "{message}");
    let explained = explain(&mut server.client(), "tick", Some(&json!(oldest)));
    assert_eq!(explained["reason"], "skipped_misfire", "{explained}");
    assert_eq!(explained["occurrence"]["id"], row["id"], "it is one of the range of that row");
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.contains(oldest) && sentence.contains(message), "{sentence}");
}

#[test]
fn skipped_instant_names_the_run_in_its_way() {
    let server = start();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let transport = json!({"schedule": SECOND, "concurrency": {"policy": "forbid", "key": "api"}});
    schedule(&mut client, "slow", calling(), transport, json!({}));
    let skipped = come_to(&server, "slow", "skipped_singleton", 1).remove(0);
    let running = of_status(&mut client, "slow", "running").remove(0);
    let explained = explain(&mut client, "slow", Some(&skipped["scheduled_for"]));
    assert_eq!(explained["reason"], "skipped_singleton", "{explained}");
    let holder = &explained["holders"][0];
    assert_eq!((&holder["occurrence_id"], &holder["channel_name"]), (&running["id"], &json!("slow")));
    assert_eq!((&holder["claimed_by"], holder.get("completed_at")), (&running["claimed_by"], None));
    assert!(explained["sentence"].as_str().unwrap().contains(running["id"].as_str().unwrap()), "{explained}");
    let run = explain(&mut client, "slow", Some(&running["scheduled_for"]));
    assert_eq!(run["reason"], "running", "{run}");
    upstream.open();
    eventually(|| {
        occurrences(&mut client, "slow")
            .iter()
            .any(|row| row["id"] == running["id"] && row["status"] == "completed")
    });
    let explained = explain(&mut client, "slow", Some(&skipped["scheduled_for"]));
    let holder = &explained["holders"][0];
    assert_eq!(holder["occurrence_id"], running["id"], "{explained}");
    assert!(holder["completed_at"].is_string(), "it held the slot then: {explained}");
}

#[test]
fn paused_schedule_explains_its_pause() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "tick", telling(), json!({"schedule": SECOND}), json!({}));
    let row = come_to(&server, "tick", "completed", 1).remove(0);
    change(
        &mut client,
        "tick/pause",
        &json!({"reason": "the bank is down", "until": "2999-01-01T00:00:00Z"}),
    );
    let explained = explain(&mut client, "tick", None);
    assert_eq!(explained["reason"], "paused", "{explained}");
    assert_eq!(explained["paused"]["reason"], "the bank is down");
    assert_eq!(explained["paused"]["until"], "2999-01-01T00:00:00Z");
    let before = explain(&mut client, "tick", Some(&row["scheduled_for"]));
    assert_eq!(before["reason"], "completed", "what ran before ran");
    change(&mut client, "tick/resume", &json!({}));
    assert!(explain(&mut client, "tick", None).get("paused").is_none());
}

#[test]
fn quarantined_or_archived_schedule_names_its_state() {
    let server = start();
    let mut client = server.client();
    let mut workflow = json!({"workflow_id": "w", "name": "w", "tasks": telling()});
    workflow["condition"] = json!({"!=": [{"secret": "nowhere"}, ""]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let broken = json!({"channel_id": "broken", "name": "broken", "channel_type": "async", "protocol": "cron",
        "workflow_id": "w", "transport_config": {"schedule": SECOND}});
    create_and_activate(&mut client, "channels", "channel_id", &broken).unwrap();
    let explained = explain(&mut client, "broken", None);
    assert_eq!(explained["reason"], "quarantined", "{explained}");
    assert!(explained["quarantined"].as_str().unwrap().contains("nowhere"), "{explained}");
    let archived = json!({"status": "archived"});
    let path = format!("{ADMIN}/channels/broken/status");
    assert_eq!(client.json("PATCH", &path, &archived).unwrap().status, 200);
    let explained = explain(&mut client, "broken", None);
    assert_eq!((&explained["reason"], &explained["active_version"]), (&json!("archived"), &Value::Null));
}

#[test]
fn channel_without_schedule_has_no_explanation() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    schedule(&mut client, "rare", telling(), json!({"schedule": "@yearly"}), json!({}));
    error(&why(&mut client, "nothing/why"), 404, "NOT_FOUND");
    let refused = error(&why(&mut client, "orders/why"), 400, "VALIDATION_ERROR");
    assert!(refused["message"].as_str().unwrap().contains("schedule"), "{refused}");
    for query in ["at=yesterday", "at=", "at=-5w", "when=2026-01-01T00:00:00Z"] {
        error(&why(&mut client, &format!("rare/why?{query}")), 400, "VALIDATION_ERROR");
    }
}

#[test]
fn waiting_work_shows_its_reason() {
    let (_server, mut client) = start_guarded(launch());
    echo(&mut client, "jobs", json!({}));
    let later = submit(&mut client, "jobs", &[("svc-delay", "1h")]);
    let shown = trace(&mut client, &later);
    let wait = &shown["waits_for"];
    assert_eq!((&wait["reason"], &wait["until"]), (&json!("scheduled"), &shown["deliver_at"]), "{shown}");
    change(&mut client, "jobs/pause", &json!({"reason": "the bank is down"}));
    let [first, second] = [submit(&mut client, "jobs", &[]), submit(&mut client, "jobs", &[])];
    for (id, position) in [(&first, 1), (&second, 2)] {
        let wait = trace(&mut client, id)["waits_for"].clone();
        assert_eq!((&wait["reason"], &wait["position"]), (&json!("paused"), &json!(position)), "{wait}");
        assert!(wait["sentence"].as_str().unwrap().contains("the bank is down"), "{wait}");
    }
    change(&mut client, "jobs/resume", &json!({}));
    for id in [&first, &second] {
        let done = wait_until_stable(|| trace(&mut client, id));
        assert!(done["status"] == "completed" && done.get("waits_for").is_none(), "{done}");
    }
}

#[test]
fn work_over_its_share_names_the_work_before_it() {
    let (_server, mut client) = start_guarded(launch());
    let upstream = held_upstream(&mut client);
    let workflow = json!({"workflow_id": "jobs", "name": "jobs", "tasks": calling()});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let config = json!({"queue": {"max_concurrent": 1}});
    let channel = crate::support::channel("jobs", "jobs", config);
    create_and_activate(&mut client, "channels", "channel_id", &channel).unwrap();
    let running = submit(&mut client, "jobs", &[]);
    upstream.wait_for(1);
    let waiting = submit(&mut client, "jobs", &[]);
    eventually(|| trace(&mut client, &waiting)["waits_for"]["holder"] == running.as_str());
    let wait = trace(&mut client, &waiting)["waits_for"].clone();
    assert_eq!((&wait["reason"], &wait["position"]), (&json!("share"), &json!(1)), "{wait}");
    eventually(|| trace(&mut client, &running)["status"] == "running");
    assert!(trace(&mut client, &running).get("waits_for").is_none());
    upstream.open();
    for id in [&running, &waiting] {
        wait_until_stable(|| trace(&mut client, id));
    }
}
