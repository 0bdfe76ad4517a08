//! Retries of failed jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use svc_store::{AuditEntry, AuditReceipt, DueLetters, Mutation};
use svc_testkit::state::wait_until;
use svc_traces::{Callback, Settings};
use tokio::time::Instant;

use crate::kit::{HOUR, Process, run};

/// Makes every letter due now.
const DUE: &str = "UPDATE trace_dlq SET next_retry_at = '2000-01-01 00:00:00.000'";

const WAITING: &str = r#"trace_dlq_depth{state="waiting"}"#;
const EXHAUSTED: &str = r#"trace_dlq_depth{state="exhausted"}"#;

/// Requeues a letter as an operator does.
async fn requeue(process: &Process, letter: &str) {
    let audit = AuditEntry {
        principal: "operator".into(),
        action: "requeue".into(),
        resource_type: "trace_dlq".into(),
        resource_id: letter.to_owned(),
        details: None,
        receipt: AuditReceipt::default(),
    };
    process.store.dead_letters().requeue(letter, Mutation::new(audit)).await.unwrap();
    process.traces.look_for_dead_letters();
}

fn no_retries(settings: &mut Settings) {
    settings.dead_letters.retry_enabled = false;
}

#[test]
fn failed_job_is_retried_as_the_same_work() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "fail once" })).await.unwrap();
        let waits = process.ends(id, "retrying").await;
        assert_eq!(waits.row.error_message.as_deref(), Some("it failed"));
        assert!(waits.row.next_retry_at.is_some() && waits.row.completed_at.is_none());
        let done = process.ends(id, "completed").await;
        assert!(process.letters().await.is_empty(), "the letter is gone");
        let again = process.runner.runs.lock()[1].trace_id;
        let attempts: Vec<_> =
            done.attempts.iter().map(|attempt| (&*attempt.trace_id, &*attempt.status)).collect();
        assert_eq!(attempts, [(&*id.to_string(), "failed"), (&*again.to_string(), "completed")]);
        assert_eq!((done.row.attempt, done.row.next_retry_at, done.row.error_message), (2, None, None));
        let row = process.trace(again).await;
        assert_eq!(row.row.attempt_of, Some(id.to_string()));
        let access = process.store.traces().access(&again.to_string()).await.unwrap().unwrap();
        assert!(again != id && access.token_hash.is_none());
        assert_eq!((&*row.row.mode, &*row.row.channel), ("async", "orders"));
        assert_eq!(process.runner.runs.lock()[1].metadata["ip"], "192.0.2.1");
        process.comes_to(r#"trace_dlq_retries_total{outcome="retried"}"#, 1.0).await;
        assert_eq!(process.error_count("dlq_exhausted"), 0);
    });
}

#[test]
fn refused_looks_for_letters_grow_rare() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        world.execute(
            "CREATE TRIGGER refusal BEFORE UPDATE ON trace_dlq BEGIN SELECT RAISE(ABORT, 'full'); END",
        );
        let begun = Instant::now();
        let id = process.submit(json!({ "do": "fail once" })).await.unwrap();
        wait_until(async || process.error_count("dlq_retry") >= 5).await;
        assert!(begun.elapsed() >= Duration::from_millis(100 + 200 + 400 + 800), "they rest in between");
        world.execute("DROP TRIGGER refusal");
        process.ends(id, "completed").await;
    });
}

#[test]
fn exhausted_work_fails_and_is_retried_by_hand() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.max_retries = 1).await;
        let id = process.submit(json!({ "do": "fail" })).await.unwrap();
        let failed = process.ends(id, "failed").await;
        assert_eq!((failed.row.attempt, failed.attempts.len()), (2, 2));
        assert!(failed.row.completed_at.is_some() && failed.row.next_retry_at.is_none());
        let letter = process.letters().await.remove(0);
        assert_eq!((letter.retry_count, letter.attempt_of), (1, Some(id.to_string())));
        requeue(&process, &letter.id).await;
        wait_until(async || process.trace(id).await.row.attempt == 3).await;
        process.ends(id, "failed").await;
        assert_eq!(process.count("").await, 1, "attempts are no work of their own");
    });
}

#[test]
fn due_attempt_runs_without_a_poll() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.poll_interval = HOUR).await;
        process.submit(json!({ "do": "fail once" })).await.unwrap();
        wait_until(async || process.count("completed").await == 1).await;
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn permanent_failure_is_an_exhausted_letter_at_once() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "fail for good" })).await.unwrap();
        process.ends(id, "failed").await;
        let letter = process.letters().await.remove(0);
        assert_eq!((letter.retry_count, letter.max_retries), (5, 5));
        assert_eq!(letter.error_message, "it is wrong (not retried)");
        wait_until(async || process.error_count("dlq_exhausted") == 1).await;
        world.execute(DUE);
        // The later letter is retried, which takes a poll; this one is not.
        process.submit(json!({ "do": "fail once" })).await.unwrap();
        wait_until(async || process.count("completed").await == 1).await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (3, 1));
    });
}

#[test]
fn each_failure_counts_until_the_retries_are_used_up() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.max_retries = 2).await;
        process.submit(json!({ "do": "fail" })).await.unwrap();
        wait_until(async || process.letters().await.first().is_some_and(|letter| letter.retry_count == 0))
            .await;
        for retry in 1..=2 {
            wait_until(async || {
                world.execute(DUE);
                process.letters().await.first().is_some_and(|letter| letter.retry_count == retry)
            })
            .await;
        }
        wait_until(async || process.error_count("dlq_exhausted") == 1).await;
        process.comes_to(r#"trace_dlq_retries_total{outcome="retried"}"#, 2.0).await;
        process.comes_to(r#"trace_dlq_retries_total{outcome="failed"}"#, 1.0).await;
        process.comes_to(r#"trace_dlq_retries_total{outcome="exhausted"}"#, 1.0).await;
        world.execute(DUE);
        // Polls continue, as the depth shows, and leave the letter alone.
        process.submit(json!({ "do": "fail once" })).await.unwrap();
        wait_until(async || {
            world.execute(DUE);
            process.count("completed").await == 1
        })
        .await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (5, 1));
        wait_until(async || process.metric(EXHAUSTED) == 1.0).await;
    });
}

#[test]
fn a_retry_that_a_crash_interrupts_keeps_its_count() {
    run(async |world| {
        let first = world.start(no_retries).await;
        first.submit(json!({ "do": "fail" })).await.unwrap();
        wait_until(async || first.letters().await.len() == 1).await;
        first.crash().await;
        world.execute("UPDATE trace_dlq SET payload_json = '{\"do\":\"wait\"}', retry_count = 3");
        world.execute(DUE);
        let second = world.start(|_| {}).await;
        wait_until(async || second.runner.count() == 1).await;
        second.crash().await;
        let sql = "UPDATE traces SET input_json = replace(input_json, 'wait', 'fail')";
        world.execute(sql);
        let third = world.start(no_retries).await;
        wait_until(async || third.letters().await.len() == 1).await;
        assert_eq!(third.letters().await[0].retry_count, 4);
    });
}

#[test]
fn letter_of_dead_holder_is_due_after_lease() {
    run(async |world| {
        let first = world.start(no_retries).await;
        first.submit(json!({ "do": "fail once" })).await.unwrap();
        wait_until(async || first.letters().await.len() == 1).await;
        world.execute(DUE);
        let held = first.store.dead_letters().claim_due(DueLetters::All, 20, HOUR, "who dies").await.unwrap();
        assert_eq!(held.len(), 1);
        first.crash().await;
        let second = world.start(|_| {}).await;
        // Polls skip the letter: a later one is retried before it.
        second.submit(json!({ "do": "fail once", "n": 2 })).await.unwrap();
        wait_until(async || {
            world.execute(DUE);
            second.count("completed").await == 1
        })
        .await;
        assert_eq!(second.letters().await.len(), 1);
        world.execute("UPDATE trace_dlq SET claimed_until = '2000-01-01 00:00:00.000'");
        // The job fails once in this process too.
        wait_until(async || {
            world.execute(DUE);
            second.count("completed").await == 2
        })
        .await;
        assert!(second.letters().await.is_empty());
    });
}

#[test]
fn letter_without_room_returns_and_waits_longer() {
    run(async |world| {
        let first = world.start(no_retries).await;
        first.submit(json!({ "do": "fail" })).await.unwrap();
        wait_until(async || first.letters().await.len() == 1).await;
        first.crash().await;
        world.execute("UPDATE trace_dlq SET retry_count = 4");
        let second = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.buffer_size = 1;
            })
            .await;
        second.submit(json!({ "do": "wait" })).await.unwrap();
        wait_until(async || second.runner.count() == 1).await;
        second.submit(json!({ "do": "wait" })).await.unwrap();
        let before = second.letters().await[0].next_retry_at;
        world.execute(DUE);
        wait_until(async || second.metric(r#"trace_dlq_retries_total{outcome="failed"}"#) == 1.0).await;
        wait_until(async || second.letters().await[0].next_retry_at > before).await;
        let letter = second.letters().await.remove(0);
        assert_eq!(letter.retry_count, 4);
        let wait = letter.next_retry_at.naive() - letter.updated_at.naive();
        assert!((15..=16).contains(&wait.num_seconds()), "{wait}");
    });
}

#[test]
fn disabled_retries_keep_letters() {
    run(async |world| {
        let process = world.start(no_retries).await;
        process.submit(json!({ "do": "fail" })).await.unwrap();
        wait_until(async || process.metric(WAITING) == 1.0).await;
        world.execute(DUE);
        world.execute("INSERT INTO trace_dlq (id, trace_id, channel, payload_json, error_message, next_retry_at) VALUES ('x', 't', 'c', '{}', 'e', '2000-01-01 00:00:00.000')");
        // The next poll has seen both letters and claimed none.
        wait_until(async || process.metric(WAITING) == 2.0).await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (1, 2));
    });
}

#[test]
fn requeued_letter_runs_where_retries_are_off() {
    run(async |world| {
        let process = world.start(no_retries).await;
        let failing = process.submit(json!({ "do": "fail" })).await.unwrap();
        let id = process.submit(json!({ "do": "fail once" })).await.unwrap();
        for id in [failing, id] {
            process.ends(id, "failed").await;
        }
        wait_until(async || process.letters().await.len() == 2).await;
        for letter in process.letters().await {
            requeue(&process, &letter.id).await;
        }
        let done = process.ends(id, "completed").await;
        assert_eq!((done.row.attempt, done.attempts.len()), (2, 2));
        wait_until(async || process.trace(failing).await.row.attempt == 2).await;
        process.ends(failing, "failed").await;
        world.execute(DUE);
        // The look that finds the next letter claims none that nobody requeued.
        let next = process.submit(json!({ "do": "fail once", "n": 2 })).await.unwrap();
        wait_until(async || process.letters().await.len() == 2).await;
        let letters = process.letters().await;
        let letter = letters.iter().find(|letter| letter.trace_id == next.to_string()).unwrap();
        requeue(&process, &letter.id).await;
        process.ends(next, "completed").await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (6, 1));
    });
}

#[test]
fn one_poll_retries_letters_as_room_permits() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.dead_letters.poll_interval = Duration::from_secs(2);
                settings.dead_letters.batch_size = 3;
            })
            .await;
        for n in 0..20 {
            let id = process.submit(json!({ "do": "fail once", "n": n })).await.unwrap();
            process.rests(id).await;
        }
        wait_until(async || process.count("completed").await == 20).await;
        assert!(process.letters().await.is_empty());
        assert_eq!(process.runner.count(), 40, "each was retried once");
    });
}

#[test]
fn a_restart_loses_no_letter_on_its_way() {
    run(async |world| {
        let process =
            world.start(|settings| settings.dead_letters.poll_interval = Duration::from_millis(1)).await;
        for n in 0..30 {
            process.submit(json!({ "do": "fail once", "n": n })).await.unwrap();
        }
        wait_until(async || process.runner.count() >= 30).await;
        wait_until(async || {
            world.execute(DUE);
            process.tree.restart("traces/dead-letters").await.unwrap();
            process.tree.wait_until_running("traces/dead-letters").await.unwrap();
            // Frees the letters that the ended instance held, instead of waiting for their leases to expire.
            world.execute("UPDATE trace_dlq SET claimed_until = NULL, claimed_by = NULL");
            process.count("completed").await == 30
        })
        .await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (60, 0));
        assert_eq!(process.count("pending").await, 0);
    });
}

#[test]
fn poll_succeeds_only_if_retries_are_enabled() {
    run(async |world| {
        for enabled in [false, true] {
            let looks = Arc::new(AtomicUsize::new(0));
            let seen = Arc::clone(&looks);
            let process = world
                .start(|settings| {
                    settings.dead_letters.retry_enabled = enabled;
                    settings.jobs = Callback::new(move |_| {
                        seen.fetch_add(1, Ordering::SeqCst);
                    });
                })
                .await;
            if enabled {
                wait_until(async || looks.load(Ordering::SeqCst) > 0).await;
            } else {
                process.submit(json!({ "do": "fail" })).await.unwrap();
                wait_until(async || process.metric(WAITING) == 1.0).await;
                assert_eq!(looks.load(Ordering::SeqCst), 0);
            }
            process.crash().await;
        }
    });
}

#[test]
fn quarantined_channel_uses_up_no_retries() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.runner.quarantined.store(true, Ordering::Release);
        let id = process.submit(json!({})).await.unwrap();
        process.ends(id, "retrying").await;
        // More polls than the letter may be retried find it due and put it back.
        for _ in 0..6 {
            world.execute(DUE);
            wait_until(async || {
                process
                    .letters()
                    .await
                    .first()
                    .is_some_and(|letter| *letter.next_retry_at.to_string() > *"2001")
            })
            .await;
        }
        assert_eq!((process.runner.count(), process.letters().await[0].retry_count), (1, 0));
        process.runner.quarantined.store(false, Ordering::Release);
        world.execute(DUE);
        wait_until(async || process.count("completed").await == 1).await;
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn retry_begins_after_timed_out_attempt_ends() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.processing_timeout = Duration::from_millis(10);
            })
            .await;
        let id = process.submit(json!({ "do": "linger" })).await.unwrap();
        wait_until(async || process.error_count("timeout") == 1).await;
        let other = process.submit(json!({})).await.unwrap();
        process.ends(other, "completed").await;
        assert!(process.letters().await.is_empty(), "nothing may begin a retry yet");
        assert_eq!(process.trace(id).await.row.status, "running");
        process.runner.open();
        let row = process.ends(id, "retrying").await;
        assert_eq!(row.row.error_message.as_deref(), Some("timed out after 10ms"));
    });
}
