//! A node that is stopped for longer than its lease is too late for everything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use svc_testkit::cron::{RecordedOccurrence, every_second};
use svc_testkit::postgres::Postgres;
use svc_testkit::witness::WitnessedRun;

use super::Stage;
use crate::support::eventually;

/// Longer than any test.
const FOR_EVER: Duration = Duration::from_secs(600);
/// Long enough to be stopped in, shorter than the lease.
const BRIEFLY: Duration = Duration::from_secs(2);

#[test]
fn worker_waking_past_lease_changes_no_row() {
    wakes_up_to(FOR_EVER);
}

#[test]
fn worker_waking_after_takeover_changes_no_row() {
    wakes_up_to(BRIEFLY);
}

/// Stops the node under its first run, whose answer takes so long, until another node has made a second
/// attempt.
fn wakes_up_to(answer_takes: Duration) {
    let is_first = AtomicBool::new(true);
    let hold = move |_: &WitnessedRun| {
        if is_first.swap(false, Ordering::Relaxed) { answer_takes } else { Duration::ZERO }
    };
    let channel = every_second("c", "tell", json!({}));
    let Some(stage) = Stage::set(Postgres::shared(), &[channel], hold) else { return };
    let stopped = stage.node();
    eventually(|| !stage.witness.runs().is_empty());
    stopped.signal("STOP").unwrap();
    let id = stage.witness.runs().remove(0).occurrence;
    let first = || stage.witness.runs().into_iter().find(|run| run.occurrence == id).unwrap();
    assert_eq!((first().attempt, first().end), (1, None));

    let other = stage.node();
    eventually(|| stage.rows().iter().any(|row| row.id == id && row.is_terminal()));
    let settled = row(&stage, &id);
    let again =
        stage.witness.runs().into_iter().find(|run| run.occurrence == id && run.attempt == 2).unwrap();
    assert_eq!((settled[0].as_deref(), settled[1].as_deref()), (Some("completed"), Some("2")));

    stopped.signal("CONT").unwrap();
    if answer_takes == FOR_EVER {
        assert!(again.answered);
        eventually(|| first().end.is_some());
        assert!(!first().answered, "it called its run off");
    } else {
        assert!(first().end < Some(again.begin), "its run was done before the other began");
    }
    // What the woken node had to say has been said once it has brought another occurrence to its end.
    drop(other);
    let before = stage.rows().into_iter().filter(RecordedOccurrence::is_terminal).count();
    eventually(|| stage.rows().into_iter().filter(RecordedOccurrence::is_terminal).count() > before + 1);
    assert_eq!(row(&stage, &id), settled);
}

/// Everything on record of an occurrence that a late write would change.
fn row(stage: &Stage, id: &str) -> Vec<Option<String>> {
    let columns = "status, attempt, claimed_by, claimed_until, fencing_token, trace_id, error_message, started_at, \
                   completed_at, updated_at";
    let sql = format!("SELECT {columns} FROM cron_occurrences WHERE id = '{id}'");
    stage.database.rows(&sql).unwrap().remove(0)
}
