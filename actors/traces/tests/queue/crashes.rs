//! Ends of the process, orderly and by a crash.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use svc_model::ServiceError;
use svc_testkit::state::wait_until;

use crate::kit::{HOUR, run};

#[test]
fn next_process_finishes_jobs_of_crashed_one() {
    run(async |world| {
        let first = world.start(|_| {}).await;
        let mut ids = Vec::new();
        for n in 0..60 {
            ids.push(first.submit(json!({ "do": "wait", "n": n })).await.unwrap());
        }
        first.runner.gate.add_permits(10);
        wait_until(async || first.count("completed").await == 10).await;
        wait_until(async || first.count("running").await == 2).await;
        first.crash().await;

        let second = world
            .start(|settings| {
                settings.queue.workers = 2;
                settings.queue.buffer_size = 5;
            })
            .await;
        wait_until(async || second.runner.count() == 2).await;
        assert!(second.metric("trace_queue_depth") <= 5.0, "never more than may wait");
        second.runner.open();
        wait_until(async || second.count("completed").await == 60).await;
        let mut runs: HashMap<_, usize> = HashMap::new();
        second.runner.runs.lock().iter().for_each(|job| *runs.entry(job.trace_id).or_default() += 1);
        assert!(runs.len() == 50 && runs.values().all(|runs| *runs == 1), "{runs:?}");
        let jobs = second.runner.runs.lock();
        assert!(jobs.is_sorted_by_key(|job| job.trace_id), "oldest first");
        assert_eq!((jobs[0].bucket, jobs[0].channel_id.as_deref()), (Some(7), Some("orders-id")));
        assert_eq!(jobs[0].metadata["ip"], "192.0.2.1");
    });
}

#[test]
fn new_work_is_accepted_during_takeover() {
    run(async |world| {
        let first = world.start(|settings| settings.queue.workers = 1).await;
        for n in 0..20 {
            first.submit(json!({ "do": "wait", "n": n })).await.unwrap();
        }
        first.crash().await;
        let second = world
            .start(|settings| {
                settings.queue.workers = 1;
                settings.queue.buffer_size = 4;
            })
            .await;
        second.runner.open();
        wait_until(async || match second.submit(json!({ "new": true })).await {
            Ok(_) => true,
            Err(refused) => {
                assert_eq!(refused.retry_after(), Some(1));
                false
            }
        })
        .await;
        wait_until(async || second.count("completed").await == 21).await;
        assert_eq!(second.runner.count(), 21);
    });
}

#[test]
fn orderly_stop_finishes_running_jobs_keeps_waiting_ones() {
    run(async |world| {
        let first = world.start(|settings| settings.queue.workers = 1).await;
        let running = first.submit(json!({ "do": "wait", "n": 0 })).await.unwrap();
        let waiting = first.submit(json!({ "do": "wait", "n": 1 })).await.unwrap();
        wait_until(async || first.runner.runs_of(running) == 1).await;
        let (tree, traces, runner) = (first.tree.clone(), first.traces.clone(), first.runner.clone());
        let ending = actix_rt::spawn(async move { tree.shutdown(Duration::from_secs(30)).await });
        wait_until(async || {
            let refused = traces.submit(crate::kit::job(json!({})), None).await.map_err(ServiceError::from);
            refused.is_err_and(|refused| (refused.status(), refused.retry_after()) == (503, None))
        })
        .await;
        runner.open();
        ending.await.unwrap();
        assert_eq!((runner.runs_of(running), runner.runs_of(waiting)), (1, 0));

        let second = world.boot(|_| {}).await;
        assert_eq!(second.trace(running).await.row.status, "completed");
        assert_eq!(second.trace(waiting).await.row.status, "pending");
        second.runner.open();
        second.begin().await;
        second.ends(waiting, "completed").await;
        assert_eq!(second.runner.runs_of(running), 0);
    });
}

#[test]
fn overlong_stop_leaves_the_job_to_next_start() {
    run(async |world| {
        let change = |settings: &mut svc_traces::Settings| {
            settings.queue.shutdown_timeout = Duration::from_millis(50);
        };
        let first = world.start(change).await;
        let id = first.submit(json!({ "do": "wait" })).await.unwrap();
        first.ends(id, "running").await;
        first.tree.shutdown(Duration::from_secs(30)).await;
        let second = world.start(change).await;
        second.runner.open();
        second.ends(id, "completed").await;
    });
}

#[test]
fn unrunnable_row_becomes_exhausted_dead_letter() {
    run(async |world| {
        let first = world.start(|settings| settings.queue.workers = 1).await;
        let broken = first.submit(json!({ "do": "wait" })).await.unwrap();
        let sound = first.submit(json!({ "do": "wait" })).await.unwrap();
        first.crash().await;
        world.execute(&format!("UPDATE traces SET input_json = '{{' WHERE id = '{broken}'"));
        let second = world.start(|_| {}).await;
        second.runner.open();
        second.ends(sound, "completed").await;
        second.ends(broken, "failed").await;
        let letters = second.letters().await;
        assert_eq!((letters.len(), letters[0].retry_count), (1, letters[0].max_retries));
        wait_until(async || second.error_count("dlq_exhausted") == 1).await;
    });
}

#[test]
fn node_killing_run_counts_as_exhausted_failure() {
    run(async |world| {
        let first = world.start(|_| {}).await;
        let id = first.submit(json!({ "do": "wait" })).await.unwrap();
        first.ends(id, "running").await;
        first.crash().await;
        let second = world
            .start(|settings| {
                settings.queue.max_recoveries = 0;
                // The gauge changes only because it is told of the letter.
                settings.dead_letters.poll_interval = HOUR;
            })
            .await;
        let ended = second.ends(id, "failed").await;
        assert!(ended.row.error_message.unwrap().starts_with("attempts_exhausted:"));
        wait_until(async || second.error_count("dlq_exhausted") == 1).await;
        wait_until(async || second.metric(r#"trace_dlq_depth{state="exhausted"}"#) == 1.0).await;
        assert_eq!((second.letters().await.len(), second.runner.count()), (1, 0));
        wait_until(async || second.runner.failures.lock().len() == 1).await;
    });
}

#[test]
fn next_process_runs_jobs_cut_by_stop() {
    run(async |world| {
        let first = world.start(|_| {}).await;
        let cut = first.submit(json!({ "do": "wait" })).await.unwrap();
        first.ends(cut, "running").await;
        first.traces.stop(Duration::ZERO).await;
        assert_eq!(first.metric("trace_workers_active"), 0.0, "nothing of it goes on");
        let late = first.submit(json!({})).await.unwrap();
        first.crash().await;
        let second = world.start(|_| {}).await;
        second.runner.open();
        second.ends(cut, "completed").await;
        second.ends(late, "completed").await;
        assert!(second.letters().await.is_empty());
    });
}
