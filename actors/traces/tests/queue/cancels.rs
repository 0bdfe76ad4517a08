//! Cancellation of accepted work, and reruns.

use std::sync::atomic::Ordering;

use serde_json::json;
use svc_model::id::new_ordered_id;
use svc_store::{AuditEntry, AuditReceipt, CancelEffect, Mutation, RerunOrder, RerunVersion, StoreError};
use svc_testkit::state::wait_until;
use svc_traces::{DueTime, JobTerms, RERUN};
use uuid::Uuid;

use crate::kit::{HOUR, Process, job, run};

fn mutation(action: &str) -> Mutation {
    Mutation::new(AuditEntry {
        principal: "ops".into(),
        action: action.into(),
        resource_type: "trace".into(),
        resource_id: String::new(),
        details: None,
        receipt: AuditReceipt::default(),
    })
}

async fn cancel(process: &Process, id: Uuid, reports: bool) -> Result<CancelEffect, StoreError> {
    process.traces.cancel(&id.to_string(), "ops", reports, mutation("cancel")).await
}

#[test]
fn queued_and_running_jobs_are_cancelled() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 1).await;
        let first = process.submit(json!({ "do": "wait", "n": 1 })).await.unwrap();
        process.ends(first, "running").await;
        let queued = process.submit(json!({ "do": "wait", "n": 2 })).await.unwrap();
        for id in [queued, first] {
            assert!(matches!(cancel(&process, id, false).await.unwrap(), CancelEffect::Requested { .. }));
            let ended = process.ends(id, "cancelled").await;
            assert_eq!((ended.row.attempt, ended.cancelled_by.as_deref()), (1, Some("ops")));
        }
        assert_eq!((process.runner.runs_of(queued), process.letters().await.len()), (0, 0));
        process.runner.open();
        let next = process.submit(json!({ "n": 3 })).await.unwrap();
        process.ends(next, "completed").await;
        assert!(cancel(&process, next, false).await.is_err(), "it has ended");
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn job_that_began_early_is_cancelled() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let first = process.submit(json!({})).await.unwrap();
        process.ends(first, "completed").await;
        let early = process.traces.submit_early(job(json!({ "do": "wait" })), None).await.unwrap().trace_id;
        assert!(matches!(cancel(&process, early, false).await.unwrap(), CancelEffect::Requested { .. }));
        process.ends(early, "cancelled").await;
        assert_eq!((process.runner.runs_of(early), process.letters().await.len()), (1, 0));
        wait_until(async || process.metric("trace_queue_memory_bytes") == 0.0).await;
    });
}

#[test]
fn run_that_lingers_is_cancelled_once_gone() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let lingering = process.submit(json!({ "do": "linger" })).await.unwrap();
        process.ends(lingering, "running").await;
        cancel(&process, lingering, false).await.unwrap();
        // The worker takes other jobs meanwhile.
        for n in 0..3 {
            let other = process.submit(json!({ "n": n })).await.unwrap();
            process.ends(other, "completed").await;
        }
        let asked = process.trace(lingering).await;
        assert_eq!((&*asked.row.status, asked.cancel_requested_at.is_some()), ("running", true));
        process.runner.open();
        process.ends(lingering, "cancelled").await;
    });
}

#[test]
fn paused_work_is_cancelled_at_once() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.retry_enabled = false).await;
        let terms = JobTerms { due: None, share: None, is_paused: true, max_waiting: 10 };
        process.runner.paused.store(true, Ordering::Release);
        let waiting = process.submit_waiting(json!({ "n": 1 }), terms).await.unwrap();
        assert_eq!(cancel(&process, waiting, false).await.unwrap(), CancelEffect::Ended);
        assert_eq!(process.trace(waiting).await.row.status, "cancelled");
        assert_eq!(process.runner.runs_of(waiting), 0);
    });
}

#[test]
fn order_that_fails_holds_up_no_other() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.retry_enabled = false).await;
        let terms =
            || JobTerms { due: Some(DueTime::After(HOUR)), share: None, is_paused: false, max_waiting: 10 };
        let first = process.submit_waiting(json!({ "n": 1 }), terms()).await.unwrap();
        let second = process.submit_waiting(json!({ "n": 2 }), terms()).await.unwrap();
        // Orders on record that no run carries out any more.
        world.execute("UPDATE traces SET cancel_requested_at = created_at, cancelled_by = 'ops'");
        world.execute(&format!(
            "CREATE TRIGGER refusal BEFORE UPDATE ON traces WHEN OLD.id = '{first}'
             BEGIN SELECT RAISE(ABORT, 'refused'); END"
        ));
        let running = process.submit(json!({ "do": "wait" })).await.unwrap();
        process.ends(running, "running").await;
        cancel(&process, running, false).await.unwrap();
        process.ends(running, "cancelled").await;
        process.ends(second, "cancelled").await;
        assert_eq!(process.trace(first).await.row.status, "scheduled");
    });
}

#[test]
fn work_between_retries_ends_with_its_letter() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let failing = process.submit(json!({ "do": "fail" })).await.unwrap();
        process.ends(failing, "retrying").await;
        cancel(&process, failing, false).await.unwrap();
        process.ends(failing, "cancelled").await;
        wait_until(async || process.letters().await.is_empty()).await;
        let runs = process.runner.count();
        let other = process.submit(json!({})).await.unwrap();
        process.ends(other, "completed").await;
        assert_eq!(process.runner.count(), runs + 1, "it is not tried again");
    });
}

#[test]
fn cancelled_job_is_reported_only_on_request() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.retry_enabled = false).await;
        process.report_failures();
        let silent = process.submit(json!({ "do": "wait", "n": 1 })).await.unwrap();
        process.ends(silent, "running").await;
        cancel(&process, silent, false).await.unwrap();
        process.ends(silent, "cancelled").await;
        assert_eq!((process.letters().await.len(), process.runner.count()), (0, 1));
        let told = process.submit(json!({ "do": "wait", "n": 2 })).await.unwrap();
        process.ends(told, "running").await;
        cancel(&process, told, true).await.unwrap();
        process.ends(told, "cancelled").await;
        let letters = process.letters().await;
        assert_eq!((letters.len(), &*letters[0].trace_id), (1, &*told.to_string()));
        wait_until(async || process.runner.runs.lock().iter().any(|job| &*job.channel == "alerts")).await;
    });
}

fn order_rerun(former: Uuid) -> RerunOrder {
    let (id, rerun, version) = (former.to_string(), new_ordered_id(), RerunVersion::Current);
    RerunOrder { id, rerun, version, payload: None }
}

#[test]
fn rerun_without_room_is_refused() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.max_waiting = 1).await;
        let former = process.submit(json!({ "n": 1 })).await.unwrap();
        process.ends(former, "completed").await;
        let due = Some(DueTime::After(HOUR));
        let terms = JobTerms { due, share: None, is_paused: false, max_waiting: 10 };
        let waiting = process.submit_waiting(json!({}), terms).await.unwrap();
        let refused = process.traces.rerun(order_rerun(former), mutation("rerun")).await.unwrap_err();
        let StoreError::Refused(refused) = refused else { panic!("{refused:?}") };
        assert_eq!((refused.status(), refused.retry_after()), (503, Some(1)));
        let unknown = process.traces.rerun(order_rerun(new_ordered_id()), mutation("rerun")).await;
        assert!(matches!(unknown, Err(StoreError::Refused(refused)) if refused.status() == 404));
        cancel(&process, waiting, false).await.unwrap();
        let accepts = async || process.traces.rerun(order_rerun(former), mutation("rerun")).await.is_ok();
        wait_until(accepts).await;
    });
}

#[test]
fn rerun_runs_stored_input_under_own_key() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let former = process.submit(json!({ "n": 1 })).await.unwrap();
        process.ends(former, "completed").await;
        let accepted = process.traces.rerun(order_rerun(former), mutation("rerun")).await.unwrap();
        process.ends(accepted.trace_id, "completed").await;
        let runs = process.runner.runs.lock();
        let job = runs.iter().find(|job| job.trace_id == accepted.trace_id).unwrap();
        assert_eq!((&job.payload, job.bucket), (&json!({ "n": 1 }), Some(7)));
        assert_eq!(job.metadata["run"]["key"], accepted.trace_id.to_string());
        assert_eq!(
            (&job.metadata["ip"], &job.metadata[RERUN]["of"]),
            (&json!("192.0.2.1"), &json!(former.to_string()))
        );
    });
}
