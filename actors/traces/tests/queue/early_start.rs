//! Submissions that begin before their row is on disk.

use futures_util::future::join;
use serde_json::json;
use svc_model::Code;
use svc_testkit::state::wait_until;
use svc_traces::SubmitError;

use crate::kit::{Process, TracesFixture, job, run};

/// Starts a process and shows it that the database accepts rows.
async fn begun(world: &TracesFixture) -> Process {
    let process = world.start(|_| {}).await;
    let first = process.submit(json!({})).await.unwrap();
    process.ends(first, "completed").await;
    process
}

#[test]
fn run_that_ends_before_its_row_is_one_write() {
    run(async |world| {
        let process = begun(&world).await;
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
        let process = begun(&world).await;
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
        let process = begun(&world).await;
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
        let process = begun(&world).await;
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
        let process = begun(&world).await;
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
fn early_start_is_off_where_the_service_says_so() {
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
