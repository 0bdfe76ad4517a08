//! Work that rests until a channel is resumed, and work of channels that other nodes serve.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use svc_store::{DueLetters, NewPause};
use svc_testkit::state::wait_until;
use svc_testworld::definitions::{channel_content, mutation};
use svc_traces::{DueTime, JobTerms};

use crate::kit::{HOUR, Process, run};

/// Pauses a channel in the database.
async fn pause(process: &Process, id: &str) {
    process.store.channels().create(Some(id.into()), channel_content(id, "w"), mutation()).await.unwrap();
    let pause = NewPause { until: None, by: "ops".into(), reason: "down".into() };
    process.store.channel_pauses().pause(&[id.to_owned()], pause, mutation()).await.unwrap();
}

/// Resumes a channel in the database, as another node does whose announcement is lost.
async fn resume(process: &Process, id: &str) {
    process.store.channel_pauses().resume(&[id.to_owned()], mutation()).await.unwrap();
}

fn due_now() -> JobTerms {
    let due = Some(DueTime::After(Duration::ZERO));
    JobTerms { due, share: None, is_paused: false, max_waiting: 1000 }
}

#[test]
fn retry_rests_until_its_channel_resumes() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "fail for good" })).await.unwrap();
        process.ends(id, "failed").await;
        process.runner.paused.store(true, Ordering::Release);
        pause(&process, "orders-id").await;
        let letters = process.store.dead_letters();
        let letter = process.letters().await.remove(0);
        letters.requeue(&letter.id, mutation()).await.unwrap();
        process.traces.look_for_dead_letters();
        let awaited = "coalesce(awaited_channel, '') FROM trace_dlq";
        wait_until(async || world.read(awaited) == "orders-id").await;
        assert_eq!(letters.next_due(DueLetters::All).await.unwrap(), None, "no node looks at it");
        process.traces.look_for_waiting_work();
        let waiting = |reason: &str| process.metric(&format!("trace_waiting{{reason=\"{reason}\"}}"));
        wait_until(async || (waiting("paused"), waiting("retrying")) == (1.0, 0.0)).await;
        let waits = process.trace(id).await.row;
        assert_eq!(
            (&*waits.status, waits.attempt, process.letters().await[0].retry_count),
            ("retrying", 1, 0)
        );
        assert_eq!(process.runner.count(), 1);
        process.runner.paused.store(false, Ordering::Release);
        resume(&process, "orders-id").await;
        process.traces.look_for_waiting_work();
        wait_until(async || process.runner.count() == 2).await;
        process.ends(id, "failed").await;
        assert_eq!(process.trace(id).await.row.attempt, 2);
    });
}

#[test]
fn job_rests_until_called_channel_resumes() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        pause(&process, "bank-id").await;
        let id = process.submit(json!({ "do": "wait, then be paused" })).await.unwrap();
        process.runner.open();
        process.ends(id, "waiting").await;
        let row = format!(
            "coalesce(awaited_channel, '') || coalesce(waits_until, '') FROM traces WHERE id = '{id}'"
        );
        assert_eq!(world.read(&row), "bank-id", "it waits for no instant");
        process.traces.look_for_waiting_work();
        wait_until(async || process.metric("trace_waiting{reason=\"paused\"}") == 1.0).await;
        let other = process.submit_waiting(json!({ "n": 1 }), due_now()).await.unwrap();
        process.ends(other, "completed").await;
        assert_eq!(process.runner.runs_of(id), 1);
        // No announcement arrives: the next count finds the row.
        resume(&process, "bank-id").await;
        wait_until(async || process.runner.runs_of(id) > 1).await;
        assert_eq!(process.trace(id).await.row.attempt, 1);
    });
}

#[test]
fn letter_of_foreign_channel_is_left_for_others() {
    run(async |world| {
        let first = world.start(|settings| settings.dead_letters.retry_enabled = false).await;
        let id = first.submit_elsewhere(json!({ "do": "fail" }), due_now()).await;
        first.ends(id, "failed").await;
        first.crash().await;
        let second = world.boot(|_| {}).await;
        second.runner.serves_less.store(true, Ordering::Release);
        second.begin().await;
        let own = second.submit(json!({ "do": "fail once" })).await.unwrap();
        second.ends(own, "completed").await;
        let claimed = "coalesce(max(claimed_by), '') FROM trace_dlq";
        // The other letter was due before.
        wait_until(async || world.read(claimed).is_empty()).await;
        let letter = second.letters().await.remove(0);
        let late = letter.next_retry_at.naive() - letter.updated_at.naive();
        assert!(late <= chrono::Duration::seconds(2), "another node may retry it at once: {late}");
        assert_eq!(second.runner.count(), 2, "its own work alone");
        second.runner.serves_less.store(false, Ordering::Release);
        wait_until(async || second.runner.count() > 2).await;
    });
}

#[test]
fn unserved_work_of_dead_node_stays_untaken() {
    run(async |world| {
        let first = world.start(|settings| settings.dead_letters.poll_interval = HOUR).await;
        let foreign = first.submit_elsewhere(json!({ "do": "wait" }), due_now()).await;
        first.ends(foreign, "running").await;
        let own = first.submit(json!({ "do": "wait", "n": 1 })).await.unwrap();
        first.ends(own, "running").await;
        first.crash().await;

        let second = world.boot(|_| {}).await;
        second.runner.serves_less.store(true, Ordering::Release);
        second.runner.open();
        second.begin().await;
        second.ends(own, "completed").await;
        assert_eq!(second.runner.runs_of(foreign), 0, "its node is dead, and another one serves its channel");
        second.runner.serves_less.store(false, Ordering::Release);
        second.ends(foreign, "completed").await;
    });
}
