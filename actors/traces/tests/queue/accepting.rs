//! Submissions that are accepted and submissions that are refused.

use std::cell::Cell;

use actix_supervision::{FaultKind, PlannedFault, Tree};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use svc_model::ServiceError;
use svc_testkit::state::wait_until;
use svc_traces::BatchedJob;
use uuid::Uuid;

use crate::kit::{job, run, run_impatient};

#[test]
fn accepted_job_is_stored_first_and_runs_once() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let accepted = process.traces.submit(job(json!({ "do": "wait", "n": 1 })), None).await.unwrap();
        let row = process.trace(accepted.trace_id).await;
        assert_eq!((&*row.row.status, &*row.row.mode, &*row.row.channel), ("pending", "async", "orders"));
        assert_eq!(row.row.channel_id.as_deref(), Some("orders-id"));
        // Reads of a trace do not return its input, so the input is copied to a column that they return.
        world.execute("UPDATE traces SET result_json = input_json");
        let stored = process.trace(accepted.trace_id).await.result_json.unwrap();
        let input: Value = serde_json::from_str(&stored).unwrap();
        let expected =
            json!({ "data": { "do": "wait", "n": 1 }, "metadata": { "ip": "192.0.2.1" }, "bucket": 7 });
        assert_eq!(input, expected);
        let access = process.store.traces().access(&accepted.trace_id.to_string()).await.unwrap();
        let hash = access.unwrap().token_hash.unwrap();
        assert_eq!((accepted.trace_token.len(), hash.len()), (32, 64));
        assert!(!hash.contains(&accepted.trace_token));
        process.runner.open();
        let row = process.ends(accepted.trace_id, "completed").await;
        assert_eq!(row.result_json.as_deref(), Some(r#"{"ran":{"do":"wait","n":1}}"#));
        assert!(row.row.duration_ms == Some(3.0) && row.row.completed_at.is_some());
        assert_eq!(process.runner.runs_of(accepted.trace_id), 1);
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
        process.comes_to("trace_queue_depth", 0.0).await;
    });
}

#[test]
fn full_queue_refuses_at_once_and_leaves_no_row() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.buffer_size = 2;
            })
            .await;
        process.submit(json!({ "do": "wait" })).await.unwrap();
        wait_until(async || process.runner.count() == 1).await;
        for _ in 0..2 {
            process.submit(json!({ "do": "wait" })).await.unwrap();
        }
        let refused = process.submit(json!({})).await.unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (503, Some(1)));
        assert_eq!(process.metric(r#"trace_queue_rejected_total{reason="full"}"#), 1.0);
        assert_eq!(process.metric("trace_queue_depth"), 2.0);
        for _ in 0..600 {
            process.submit(json!({})).await.unwrap_err();
        }
        assert_eq!(process.metric(r#"trace_queue_rejected_total{reason="full"}"#), 601.0);
        assert_eq!(process.metric("trace_persistence_queue_depth"), 0.0);
        process.runner.open();
        wait_until(async || process.count("completed").await == 3).await;
        assert_eq!(process.count("failed").await, 0);
        process.submit(json!({})).await.expect("there is room again");
    });
}

#[test]
fn batch_is_accepted_whole_or_not_at_all() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.buffer_size = 3;
            })
            .await;
        let submit = async |count: usize| {
            let jobs =
                (0..count).map(|n| BatchedJob { job: job(json!({ "do": "wait", "n": n })), terms: None });
            process.traces.submit_batch(jobs.collect(), None).await.map_err(ServiceError::from)
        };
        assert_eq!(submit(4).await.unwrap_err().status(), 413, "more than the queue ever has places for");
        let accepted = submit(2).await.unwrap();
        wait_until(async || process.runner.count() == 1).await;
        assert_eq!(submit(3).await.unwrap_err().status(), 503);
        assert_eq!(process.metric("trace_queue_depth"), 1.0, "its places are given back");
        assert!(submit(0).await.unwrap().is_empty());
        process.runner.open();
        for job in &accepted {
            process.ends(job.trace_id, "completed").await;
        }
        assert_eq!((accepted.len(), process.count("completed").await), (2, 2));
    });
}

#[test]
fn sequential_clients_are_slowed_down_not_refused() {
    run(async |world| {
        let process = world
            .start(|settings| {
                settings.queue.workers = 4;
                settings.queue.buffer_size = 1000;
            })
            .await;
        let answered = Cell::new(0);
        let clients = join_all((0..50).map(async |_| {
            for _ in 0..30 {
                process.submit(json!({ "do": "wait" })).await.unwrap();
                answered.set(answered.get() + 1);
            }
        }));
        let workers = async {
            // No job runs: half of the queue fills, and then every client waits for its answer.
            let (mut known, mut looks) = (0, 0);
            wait_until(async || {
                let quiet = process.metric("trace_queue_depth") >= 550.0 && answered.get() == known;
                (known, looks) = (answered.get(), if quiet { looks + 1 } else { 0 });
                looks == 10
            })
            .await;
            process.runner.open();
        };
        tokio::join!(clients, workers);
        wait_until(async || process.count("completed").await == 1500).await;
    });
}

#[test]
fn the_bytes_of_what_waits_or_runs_are_bounded() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.max_memory_bytes = 30_000).await;
        let large = json!({ "do": "wait", "text": "x".repeat(10_000) });
        process.submit(large.clone()).await.unwrap();
        process.submit(large.clone()).await.unwrap();
        let refused = process.submit(large.clone()).await.unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (503, Some(1)));
        assert_eq!(process.metric(r#"trace_queue_rejected_total{reason="memory"}"#), 1.0);
        let bytes = process.metric("trace_queue_memory_bytes");
        assert!((20_000.0..30_000.0).contains(&bytes), "{bytes}");
        process.submit(json!({})).await.expect("a small one has room");
        process.runner.open();
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
        process.submit(large).await.expect("there is room again");
    });
}

#[test]
fn brackets_count_with_the_memory_they_take() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.max_memory_bytes = 100_000).await;
        process.submit(json!({ "do": "wait" })).await.unwrap();
        // 200 times three lists with room for four values each, of a text of two kilobytes.
        let nested = serde_json::from_str(&format!("[{}[]]", "[[[[]]]],".repeat(200))).unwrap();
        assert_eq!(process.submit(nested).await.unwrap_err().status(), 503);
        process.runner.open();
    });
}

#[test]
fn a_queue_that_is_not_open_refuses_for_good() {
    run(async |world| {
        let process = world.boot(|_| {}).await;
        let refused = process.submit(json!({})).await.unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (503, None));
        process.begin().await;
        process.submit(json!({})).await.unwrap();
    });
}

#[test]
fn unwritten_job_is_refused_and_holds_no_place() {
    run_impatient(async |world| {
        let process = world.start(|_| {}).await;
        let lock = world.lock();
        let refused = process.submit(json!({})).await.unwrap_err();
        assert_eq!((refused.status(), refused.retry_after()), (503, Some(5)));
        assert_eq!(process.error_count("storage"), 1);
        process.comes_to("trace_queue_depth", 0.0).await;
        process.comes_to("trace_queue_memory_bytes", 0.0).await;
        drop(lock);
        wait_until(async || process.submit(json!({})).await.is_ok()).await;
        wait_until(async || process.count("completed").await == 1).await;
    });
}

#[test]
fn crash_of_the_writer_refuses_no_submission() {
    run(async |world| {
        let fault = PlannedFault {
            path: "store/writer".into(),
            message: "*".into(),
            nth: 20,
            kind: FaultKind::Panic,
        };
        let tree = Tree::builder("test").faults(vec![fault]).build();
        let process = world.boot_in(tree, |_| {}).await;
        process.begin().await;
        // Submissions do not pass the actor, which crashes with one of the checks.
        let submissions = join_all((0..40).map(|n| process.traces.submit(job(json!({ "n": n })), None)));
        let traces = process.store.traces();
        let checks = join_all((0..30).map(|_| traces.is_stored(Uuid::nil())));
        let (accepted, checks) = join(submissions, checks).await;
        assert!(checks.iter().any(Result::is_err), "{checks:?}");
        let accepted: Vec<_> = accepted.into_iter().map(|answer| answer.unwrap().trace_id).collect();
        wait_until(async || process.count("completed").await == 40).await;
        for id in accepted {
            assert_eq!(process.runner.runs_of(id), 1);
        }
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}
