//! Submissions that begin before their row is on disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join;
use serde_json::json;
use svc_model::Code;
use svc_model::id::new_ordered_id;
use svc_store::{NewTrace, TraceMode, TraceStatus};
use svc_testkit::state::wait_until;
use svc_traces::SubmitError;
use uuid::Uuid;

use crate::kit::{Process, TracesFixture, job, run, run_impatient};

/// Starts a process and shows it that the database accepts rows.
async fn begin(world: &TracesFixture) -> Process {
    let process = world.start(|_| {}).await;
    let first = process.submit(json!({})).await.unwrap();
    process.ends(first, "completed").await;
    process
}

#[test]
fn run_that_ends_before_its_row_is_one_write() {
    run(async |world| {
        let process = begin(&world).await;
        let lock = world.lock();
        let ran = async {
            wait_until(async || process.runner.count() == 2).await;
            drop(lock);
        };
        let (accepted, ()) = join(process.traces.submit_early(job(json!({"n": 1})), None), ran).await;
        let row = process.trace(accepted.unwrap().trace_id).await;
        assert_eq!(row.row.status, "completed", "nothing is left to write after the answer");
        assert_eq!(row.result_json.as_deref(), Some(r#"{"ran":{"n":1}}"#));
        assert_eq!(row.row.duration_ms, Some(3.0));
        assert!(row.row.started_at <= row.row.completed_at && row.row.completed_at.is_some());
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn end_after_the_row_is_written_to_it() {
    run(async |world| {
        let process = begin(&world).await;
        for (order, status) in [("wait", "completed"), ("wait, then fail for good", "failed")] {
            let accepted = process.traces.submit_early(job(json!({ "do": order })), None).await.unwrap();
            assert!(["pending", "running"].contains(&&*process.trace(accepted.trace_id).await.row.status));
            process.runner.gate.add_permits(1);
            process.ends(accepted.trace_id, status).await;
        }
        assert_eq!(process.letters().await.len(), 1);
    });
}

#[test]
fn failure_before_the_row_becomes_a_dead_letter() {
    run(async |world| {
        let process = begin(&world).await;
        let lock = world.lock();
        let ran = async {
            wait_until(async || process.runner.count() == 2).await;
            drop(lock);
        };
        let submission = process.traces.submit_early(job(json!({"do": "fail for good"})), None);
        let (accepted, ()) = join(submission, ran).await;
        let row = process.ends(accepted.unwrap().trace_id, "failed").await;
        assert_eq!(row.row.error_message.as_deref(), Some("it is wrong (not retried)"));
        assert_eq!(process.letters().await.len(), 1);
    });
}

#[test]
fn refused_row_of_begun_job_is_uncertain_once() {
    run(async |world| {
        let process = begin(&world).await;
        world.execute(
            "CREATE TRIGGER refusal BEFORE INSERT ON traces BEGIN SELECT RAISE(ABORT, 'refused'); END",
        );
        let lock = world.lock();
        let ran = async {
            wait_until(async || process.runner.count() == 2).await;
            drop(lock);
        };
        let (refused, ()) = join(process.traces.submit_early(job(json!({})), None), ran).await;
        let Err(SubmitError::Uncertain(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.code(), error.status()), (Code::SubmissionUncertain, 503));
        assert_eq!(error.retry_after(), None);
        assert_eq!(error.body(None)["error"]["details"], json!({"began": true}));
        assert_eq!(process.metric("trace_uncertain_total"), 1.0);
        let refused = process.traces.submit_early(job(json!({})), None).await;
        assert!(matches!(refused, Err(SubmitError::Unwritten(_))), "{refused:?}");
        assert_eq!(process.runner.count(), 2, "the next one waits for its row");
        assert_eq!(process.count("").await, 1);
    });
}

#[test]
fn dropped_submission_leaves_its_job_to_the_worker() {
    run(async |world| {
        let process = begin(&world).await;
        for (order, runs) in [("well", 2), ("wait", 3)] {
            let lock = world.lock();
            let submission = process.traces.submit_early(job(json!({ "do": order })), None);
            tokio::select! {
                biased;
                answer = submission => panic!("{answer:?}"),
                () = wait_until(async || process.runner.count() == runs) => {}
            }
            drop(lock);
            process.runner.open();
            wait_until(async || process.count("completed").await == i64::try_from(runs).unwrap()).await;
        }
    });
}

#[test]
fn early_start_can_be_turned_off() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.early_start = false).await;
        let first = process.submit(json!({})).await.unwrap();
        process.ends(first, "completed").await;
        world.execute(
            "CREATE TRIGGER refusal BEFORE INSERT ON traces BEGIN SELECT RAISE(ABORT, 'refused'); END",
        );
        let refused = process.traces.submit_early(job(json!({})), None).await;
        assert!(matches!(refused, Err(SubmitError::Unwritten(_))), "{refused:?}");
        assert_eq!(process.runner.count(), 1);
    });
}

/// Submits a job whose run ends before its row is written, and returns its id.
async fn ended_with_row(world: &TracesFixture, process: &Process) -> Uuid {
    let runs = process.runner.count();
    let lock = world.lock();
    let ran = async {
        wait_until(async || process.runner.count() == runs + 1).await;
        drop(lock);
    };
    let (accepted, ()) = join(process.traces.submit_early(job(json!({"n": runs})), None), ran).await;
    accepted.unwrap().trace_id
}

#[test]
fn job_without_permit_runs_once_later() {
    run(async |world| {
        let process = begin(&world).await;
        let accepted = process.traces.submit_early(job(json!({"do": "be busy"})), None).await.unwrap();
        process.ends(accepted.trace_id, "completed").await;
        assert_eq!(process.runner.runs_of(accepted.trace_id), 4, "three times its channel had no permit");
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn job_put_back_is_withdrawn_with_its_row() {
    run_impatient(async |world| {
        let process = begin(&world).await;
        let lock = world.lock();
        let refused = process.traces.submit_early(job(json!({"do": "stay busy"})), None).await;
        let runs = process.runner.count();
        assert!(matches!(refused, Err(SubmitError::Unwritten(_))), "it never ran: {refused:?}");
        assert!(runs >= 2, "a worker had it");
        drop(lock);
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
        assert_eq!(process.runner.count(), runs, "it is not begun again");
        assert_eq!((process.count("").await, process.metric("trace_uncertain_total")), (1, 0.0));
    });
}

#[test]
fn dropped_submission_behind_many_rows_is_settled() {
    run(async |world| {
        let process = begin(&world).await;
        // More rows than two transactions take.
        let row = || NewTrace::new(new_ordered_id(), "bulk".into(), TraceMode::Sync, TraceStatus::Completed);
        let rows: Vec<_> = (0..3000).map(|_| row()).collect();
        let traces = process.store.traces();
        let submission = process.traces.submit_early(job(json!({"do": "fail for good"})), None);
        let dropped = async {
            tokio::select! {
                biased;
                answer = submission => drop(answer.unwrap()),
                () = wait_until(async || process.runner.count() == 2) => {}
            }
        };
        let (written, ()) = join(traces.insert_all(rows), dropped).await;
        written.unwrap();
        wait_until(async || process.count("failed").await == 1).await;
        assert_eq!(process.letters().await.len(), 1);
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn ended_job_is_not_run_by_next_process() {
    run(async |world| {
        let first = begin(&world).await;
        let ended = ended_with_row(&world, &first).await;
        let open = first.traces.submit_early(job(json!({"do": "wait"})), None).await.unwrap().trace_id;
        wait_until(async || first.runner.runs_of(open) == 1).await;
        first.crash().await;
        let second = world.start(|_| {}).await;
        second.runner.open();
        second.ends(open, "completed").await;
        assert_eq!((second.runner.runs_of(open), second.runner.runs_of(ended)), (1, 0));
        assert_eq!(second.trace(ended).await.row.status, "completed");
    });
}

#[test]
fn stop_leaves_open_job_to_next_process() {
    run(async |world| {
        let first = begin(&world).await;
        let open = first.traces.submit_early(job(json!({"do": "wait"})), None).await.unwrap().trace_id;
        wait_until(async || first.runner.runs_of(open) == 1).await;
        first.traces.stop(Duration::ZERO).await;
        // No worker is idle any more: it is accepted for another process.
        let later = first.traces.submit_early(job(json!({"n": 2})), None).await.unwrap().trace_id;
        assert_eq!(first.runner.runs_of(later), 0);
        first.crash().await;
        let second = world.start(|_| {}).await;
        second.runner.open();
        for id in [open, later] {
            second.ends(id, "completed").await;
            assert_eq!(second.runner.runs_of(id), 1);
        }
    });
}

#[test]
fn job_that_meets_a_pause_waits_in_its_row() {
    run(async |world| {
        let process = begin(&world).await;
        process.runner.paused.store(true, Ordering::Release);
        let accepted = process.traces.submit_early(job(json!({"n": 1})), None).await.unwrap();
        process.rests(accepted.trace_id).await;
        process.runner.paused.store(false, Ordering::Release);
        process.ends(accepted.trace_id, "completed").await;
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn outage_lets_no_second_job_act() {
    run_impatient(async |world| {
        let process = begin(&world).await;
        let lock = world.lock();
        let first = process.traces.submit_early(job(json!({"n": 1})), None).await;
        assert!(matches!(first, Err(SubmitError::Uncertain(_))), "{first:?}");
        let second = process.traces.submit_early(job(json!({"n": 2})), None).await;
        assert!(matches!(second, Err(SubmitError::Unwritten(_))), "{second:?}");
        assert_eq!((process.runner.count(), process.metric("trace_uncertain_total")), (2, 1.0));
        drop(lock);
        wait_until(async || process.submit(json!({"n": 3})).await.is_ok()).await;
        let last = process.traces.submit_early(job(json!({"n": 4})), None).await.unwrap();
        process.ends(last.trace_id, "completed").await;
    });
}

#[test]
fn refused_failure_leaves_no_letter_and_no_report() {
    run_impatient(async |world| {
        let process = begin(&world).await;
        process.report_failures();
        let lock = world.lock();
        let refused = process.traces.submit_early(job(json!({"do": "fail for good"})), None).await;
        assert!(matches!(refused, Err(SubmitError::Uncertain(_))), "{refused:?}");
        drop(lock);
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
        let next = process.submit(json!({"n": 2})).await.unwrap();
        process.ends(next, "completed").await;
        assert_eq!((process.count("").await, process.letters().await.len()), (2, 0));
        let channels: Vec<_> =
            process.runner.runs.lock().iter().map(|run| Arc::clone(&run.channel)).collect();
        assert!(channels.iter().all(|channel| &**channel == "orders"), "{channels:?}");
        assert!(process.runner.failures.lock().is_empty());
    });
}
