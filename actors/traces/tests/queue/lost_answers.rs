//! Rows and ends of runs whose commits get no answer.

use futures_util::future::{join, join_all};
use serde_json::json;
use svc_model::id::new_ordered_id;
use svc_store::{NewTrace, TraceMode, TraceStatus};
use svc_testkit::commit_proxy::CommitProxy;
use svc_testkit::postgres::Postgres;
use svc_testkit::state::wait_until;
use svc_traces::{RecordPolicy, SubmitError};

use crate::kit::{job, recording, run_on_server};

#[test]
fn unacknowledged_end_is_kept_and_nothing_repeats() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let process = world.start(|_| {}).await;
        process.report_failures();
        let orders =
            [("wait", "completed", "\"ran\""), ("wait, then fail for good", "failed", "it is wrong")];
        for (n, (order, status, text)) in orders.into_iter().enumerate() {
            let id = process.submit(json!({"do": order, "then": "well"})).await.unwrap();
            process.ends(id, "running").await;
            proxy.lose_commit_of(text);
            process.runner.gate.add_permits(1);
            process.ends(id, status).await;
            wait_until(async || proxy.lost() == n + 1).await;
            assert_eq!(process.runner.runs_of(id), 1, "{order}");
        }
        wait_until(async || process.error_count("trace_status_write") >= 2).await;
        // The report was committed with the end, and is run by this process.
        wait_until(async || process.count("completed").await == 2).await;
        let last = process.submit(json!({})).await.unwrap();
        process.ends(last, "completed").await;
        let channels: Vec<_> = process.runner.runs.lock().iter().map(|run| run.channel.to_string()).collect();
        assert_eq!(channels, ["orders", "orders", "alerts", "orders"]);
        assert_eq!(process.letters().await.len(), 1);
        // It counts for a channel that pauses itself.
        wait_until(async || process.runner.failures.lock().len() == 1).await;
    });
}

#[test]
fn unacknowledged_row_of_begun_job_is_accepted() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let process = world.start(|_| {}).await;
        for (n, order) in ["wait", "well"].into_iter().enumerate() {
            let first = process.submit(json!({"n": n})).await.unwrap();
            process.ends(first, "completed").await;
            proxy.lose_commit_of("lost row");
            let lost = job(json!({"do": order, "text": "lost row"}));
            let accepted = process.traces.submit_early(lost, None).await.unwrap();
            assert_eq!(proxy.lost(), n + 1);
            process.runner.open();
            process.ends(accepted.trace_id, "completed").await;
            assert_eq!(process.runner.runs_of(accepted.trace_id), 1, "{order}");
        }
        assert_eq!(process.metric("trace_uncertain_total"), 0.0);
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn begun_jobs_of_unknown_rows_end_once() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let process = world.start(|_| {}).await;
        let first = process.submit(json!({})).await.unwrap();
        process.ends(first, "completed").await;
        // Two workers: the third job waits when the answer is lost. The row before them makes theirs one transaction.
        let before = NewTrace::new(new_ordered_id(), "bulk".into(), TraceMode::Sync, TraceStatus::Completed);
        let jobs: Vec<_> = (0..3).map(|n| job(json!({"do": "wait", "n": n, "text": "lost row"}))).collect();
        let ids: Vec<_> = jobs.iter().map(|job| job.trace_id).collect();
        proxy.lose_commit_and_close("lost row");
        let traces = process.store.traces();
        let submissions = join_all(jobs.into_iter().map(|job| process.traces.submit_early(job, None)));
        let (_before, answers) = join(traces.insert(before), submissions).await;
        assert_eq!(proxy.lost(), 1);
        proxy.open();
        process.runner.open();
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
        for (id, answer) in ids.into_iter().zip(answers) {
            let row = traces.get(&id.to_string()).await.unwrap().map(|trace| trace.row.status);
            let is_completed = row.as_deref() == Some("completed");
            assert!(row.is_none() || is_completed, "{row:?}");
            let runs = process.runner.runs_of(id);
            match answer {
                Err(SubmitError::Uncertain(_)) => assert_eq!(runs, 1),
                Err(SubmitError::Failed(_)) => assert_eq!(runs, usize::from(is_completed)),
                Err(SubmitError::Unwritten(_)) => assert_eq!((runs, row), (0, None)),
                answer => panic!("{answer:?}"),
            }
        }
    });
}

#[test]
fn end_that_server_cut_off_is_written_again() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    run_on_server(database.url(), async |world| {
        let process = world.start(|_| {}).await;
        let id = process.submit(json!({"do": "wait"})).await.unwrap();
        process.ends(id, "running").await;
        // As the server ends the transaction of a process that was stopped in it.
        database
            .rows(
                "CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'cut off' USING ERRCODE = '25P03'; END $$; \
                 CREATE TRIGGER cut_off BEFORE UPDATE ON traces FOR EACH ROW EXECUTE FUNCTION cut_off()",
            )
            .unwrap();
        process.runner.open();
        wait_until(async || process.error_count("trace_status_write") >= 1).await;
        database.rows("DROP TRIGGER cut_off ON traces").unwrap();
        process.ends(id, "completed").await;
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn recording_of_lost_answer_is_stored_once() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let process = world.boot(|_| {}).await;
        proxy.lose_commit_of("lost recording");
        let lost = recording(r#"{"payload":"lost recording"}"#);
        process.traces.keep_recording(&RecordPolicy::default(), lost);
        let stored = "trace_recordings_total{outcome=\"stored\"}";
        wait_until(async || proxy.lost() == 1 && process.metric(stored) == 1.0).await;
        assert_eq!(process.store.recordings().count_today("orders-id").await.unwrap(), 1);
    });
}
