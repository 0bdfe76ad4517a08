//! Runs of jobs and the records of their outcomes.

use std::time::Duration;

use serde_json::json;
use svc_testkit::state::wait_until;

use crate::kit::{run, run_impatient};

#[test]
fn panicking_runner_fails_only_its_job() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.retry_enabled = false).await;
        for order in ["panic", "panic at once"] {
            let id = process.submit(json!({ "do": order })).await.unwrap();
            let row = process.ends(id, "failed").await;
            assert!(row.row.error_message.is_some() && row.result_json.is_none());
        }
        let letters = process.letters().await;
        assert_eq!(letters.len(), 2);
        wait_until(async || process.error_count("panic") == 2).await;
        assert!(letters.iter().all(|letter| letter.retry_count == letter.max_retries), "{letters:?}");
        let id = process.submit(json!({})).await.unwrap();
        process.ends(id, "completed").await;
        let nodes = process.tree.snapshot().nodes;
        assert!(nodes.iter().all(|node| node.restarts == 0), "nothing was restarted for it");
        assert_eq!(process.metric("trace_workers_total"), 2.0);
        process.comes_to("trace_workers_active", 0.0).await;
    });
}

#[test]
fn an_oversized_result_fails_without_a_dead_letter() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "grow" })).await.unwrap();
        let row = process.ends(id, "failed").await;
        assert_eq!(row.row.error_message.as_deref(), Some("too large"));
        assert_eq!(process.letters().await.len(), 0);
        wait_until(async || process.error_count("result_size_exceeded") == 1).await;
    });
}

#[test]
fn a_run_that_takes_its_time_shows_as_running() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "wait" })).await.unwrap();
        let row = process.ends(id, "running").await;
        assert!(row.row.started_at.is_some());
        assert_eq!((row.row.workflow_id.as_deref(), row.row.workflow_version), (Some("orders"), Some(7)));
        assert_eq!(process.metric("trace_workers_active"), 1.0);
        process.runner.open();
        process.ends(id, "completed").await;
    });
}

#[test]
fn a_runner_that_does_not_end_fails_its_job() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.processing_timeout = Duration::from_millis(10);
                settings.dead_letters.retry_enabled = false;
            })
            .await;
        let id = process.submit(json!({ "do": "hang" })).await.unwrap();
        let row = process.ends(id, "failed").await;
        assert_eq!(row.row.error_message.as_deref(), Some("timed out after 10ms"));
    });
}

#[test]
fn database_outage_delays_ends_and_stops_work() {
    run_impatient(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.buffer_size = 1000;
            })
            .await;
        for n in 0..200 {
            process.submit(json!({ "do": "wait", "n": n })).await.unwrap();
        }
        let lock = world.lock();
        process.runner.open();
        wait_until(async || process.error_count("trace_status_write") > 0).await;
        // One job runs, and as many outcomes wait to be written as the worker allows.
        wait_until(async || process.runner.count() == 64).await;
        assert_eq!(process.count("completed").await, 0);
        assert!(process.metric("trace_queue_depth") > 0.0, "the rest waits");
        drop(lock);
        wait_until(async || process.count("completed").await == 200).await;
        assert_eq!(process.runner.count(), 200, "each ran once");
        assert_eq!(process.count("failed").await, 0);
    });
}

#[test]
fn a_busy_channel_holds_nobody_up() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 1).await;
        let busy = process.submit(json!({ "do": "be busy" })).await.unwrap();
        let other = process.submit(json!({})).await.unwrap();
        process.ends(other, "completed").await;
        process.ends(busy, "completed").await;
        assert_eq!(process.runner.runs_of(busy), 4, "three times it was refused");
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn worker_restart_loses_no_job_or_end() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.shutdown_timeout = Duration::from_millis(50);
            })
            .await;
        let id = process.submit(json!({ "do": "wait" })).await.unwrap();
        process.ends(id, "running").await;
        process.tree.restart("traces/worker-1").await.unwrap();
        let other = process.submit(json!({})).await.unwrap();
        process.ends(other, "completed").await;
        assert_eq!(process.metric("trace_workers_total"), 1.0);
        process.runner.open();
        process.ends(id, "completed").await;
        assert_eq!(process.runner.runs_of(id), 1);
    });
}

#[test]
fn restart_of_the_lease_actor_keeps_the_lease() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({ "do": "wait" })).await.unwrap();
        process.ends(id, "running").await;
        process.tree.restart("nodes").await.unwrap();
        process.tree.wait_until_running("nodes").await.unwrap();
        assert_eq!(process.tree.node("nodes").unwrap().generation, 2);
        let other = process.submit(json!({})).await.unwrap();
        process.ends(other, "completed").await;
        process.runner.open();
        process.ends(id, "completed").await;
        assert_eq!(process.runner.runs_of(id), 1);
    });
}

#[test]
fn refused_end_is_retried_until_written() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        world.execute(
            "CREATE TRIGGER no_end BEFORE UPDATE ON traces WHEN NEW.status IN ('completed', 'failed')
             BEGIN SELECT RAISE(ABORT, 'no end'); END;",
        );
        let id = process.submit(json!({})).await.unwrap();
        wait_until(async || process.error_count("trace_status_write") > 2).await;
        world.execute("DROP TRIGGER no_end");
        let row = process.ends(id, "failed").await;
        assert_eq!(row.row.error_message.as_deref(), Some("The result could not be stored (not retried)"));
    });
}

#[test]
fn lasting_busy_channel_fails_its_job() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.processing_timeout = Duration::from_millis(200);
                settings.dead_letters.retry_enabled = false;
            })
            .await;
        let id = process.submit(json!({ "do": "stay busy" })).await.unwrap();
        let row = process.ends(id, "failed").await;
        assert_eq!(row.row.error_message.as_deref(), Some("the channel had no capacity for it within 200ms"));
        assert_eq!(process.letters().await.len(), 1);
        wait_until(async || process.error_count("timeout") == 1).await;
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}
