//! Occurrences that are cancelled before, at and after the start of their run.

use std::thread;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;

use super::{ADMIN, HELD, Node, Stage, call, order_cancel};
use crate::memory::hold_table;
use crate::support::{error, eventually};

/// A schedule that does not come due by itself while a test runs.
const RARELY: &str = "0 0 0 29 2 *";

/// Serves a schedule whose runs call a path of the witness, one at a time.
fn schedule(client: &mut HttpClient, id: &str, path: &str) {
    let workflow =
        json!({"workflow_id": id, "name": id, "tasks": [call("first", path), call("second", "/after")]});
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    let channel = json!({"channel_id": id, "name": id, "channel_type": "async", "protocol": "cron",
        "workflow_id": id, "transport_config": {"schedule": RARELY, "concurrency": {"policy": "forbid"}}});
    create_and_activate(client, "channels", "channel_id", &channel).unwrap();
}

/// Starts two nodes, the first of which has one worker for schedules, the other none.
fn start() -> Option<Stage> {
    Stage::start(
        |launch| launch.env("SVC_CRON__WORKERS", "1"),
        |launch| launch.env("SVC_CRON__ENABLED", "false"),
        |client, _| {
            schedule(client, "held", HELD);
            schedule(client, "next", "/next");
        },
    )
}

/// Makes an occurrence that is due now, and returns its path.
fn trigger(stage: &Stage, channel: &str) -> String {
    let path = format!("{ADMIN}/channels/{channel}/trigger");
    let answer = stage.client(Node::Holder).send("POST", &path, &[], b"").unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    format!("{ADMIN}/cron/occurrences/{}", answer.json()["data"]["id"].as_str().unwrap())
}

/// Has a node cancel an occurrence, and returns it.
fn cancel(stage: &Stage, node: Node, path: &str, attempt: i64) -> Value {
    let row = stage.cancel(node, path);
    assert_eq!((&row["claimed_by"], &row["attempt"]), (&Value::Null, &json!(attempt)), "{node:?}: {row}");
    error(&order_cancel(&mut stage.client(node), path), 409, "CONFLICT");
    row
}

#[test]
fn running_occurrence_is_cancelled_by_both_nodes() {
    let Some(stage) = start() else { return };
    for (before, node) in [Node::Holder, Node::Other].into_iter().enumerate() {
        // The second one needs the slot of the first.
        let path = trigger(&stage, "held");
        stage.wait_for(HELD, before + 1);
        let row = cancel(&stage, node, &path, 1);
        let trace = stage.read(&format!("{ADMIN}/traces/{}", row["trace_id"].as_str().unwrap()));
        assert_eq!(
            (&trace["status"], &trace["workflow_version"]),
            (&json!("cancelled"), &json!(1)),
            "{trace}"
        );
    }
    stage.witness.open();
    let last = trigger(&stage, "held");
    stage.wait_for_status(&last, "completed");
    assert_eq!(
        (stage.count_requests(HELD), stage.count_requests("/after")),
        (3, 1),
        "nothing begins after a cancel"
    );
}

#[test]
fn pending_occurrence_is_cancelled_by_both_nodes() {
    let Some(stage) = start() else { return };
    let running = trigger(&stage, "held");
    stage.wait_for(HELD, 1);
    for node in [Node::Holder, Node::Other] {
        let path = trigger(&stage, "next");
        assert_eq!(stage.read(&path)["status"], "pending", "no worker is free");
        cancel(&stage, node, &path, 0);
    }
    cancel(&stage, Node::Holder, &running, 1);
    let last = trigger(&stage, "next");
    stage.wait_for_status(&last, "completed");
    assert_eq!(
        (stage.count_requests("/next"), stage.count_requests("/after")),
        (1, 1),
        "nothing begins after a cancel"
    );
}

#[test]
fn claimed_occurrence_begins_no_run_once_cancelled() {
    let Some(stage) = start() else { return };
    for node in [Node::Holder, Node::Other] {
        // A start takes its slot first.
        let release = hold_table(&stage.database, "cron_singletons");
        let path = trigger(&stage, "held");
        stage.wait_for_status(&path, "claimed");
        let (mut client, cancelled) = (stage.client(node), path.clone());
        let order = thread::spawn(move || order_cancel(&mut client, &cancelled));
        eventually(|| stage.read(&path)["cancel_requested_at"].is_string());
        release();
        // 202 if the table was held for longer than an answer waits.
        let answer = order.join().unwrap();
        assert!(matches!(answer.status, 200 | 202), "{node:?}: {}", answer.text());
        let row = stage.wait_for_status(&path, "cancelled");
        let facts = [&row["claimed_by"], &row["trace_id"], &row["started_at"]];
        assert_eq!((facts, &row["attempt"]), ([&Value::Null; 3], &json!(1)), "{node:?}: {row}");
    }
    let last = trigger(&stage, "held");
    stage.wait_for(HELD, 1);
    cancel(&stage, Node::Other, &last, 1);
    assert_eq!(
        (stage.count_requests(HELD), stage.count_requests("/after")),
        (1, 0),
        "nothing begins after a cancel"
    );
}
