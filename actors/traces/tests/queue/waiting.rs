//! Accepted work that waits in the database.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::state::wait_until;
use svc_traces::{BatchedJob, DueTime, JobTerms};

use crate::kit::{HOUR, Process, job, run};

const SECOND: Duration = Duration::from_secs(1);

fn terms(due: Option<DueTime>, share: Option<&str>) -> JobTerms {
    JobTerms { due, share: share.map(str::to_owned), is_paused: false, max_waiting: 1000 }
}

/// Makes every row due that waits for an instant.
const MAKE_DUE: &str = "UPDATE traces SET waits_until = '2026-01-01 00:00:00' WHERE waits_until IS NOT NULL";

/// Returns the number of runs that have begun and not ended.
async fn running(process: &Process) -> usize {
    let completed = usize::try_from(process.count("completed").await).unwrap();
    process.runner.count() - completed
}

#[test]
fn delayed_job_takes_no_place_until_due() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.buffer_size = 1).await;
        let mut ids = Vec::new();
        for n in 0..5 {
            let due = Some(DueTime::After(HOUR));
            ids.push(process.submit_waiting(json!({ "n": n }), terms(due, None)).await.unwrap());
        }
        assert_eq!(process.metric("trace_queue_depth"), 0.0);
        assert_eq!(process.metric("trace_queue_memory_bytes"), 0.0);
        wait_until(async || process.metric("trace_waiting{reason=\"scheduled\"}") == 5.0).await;
        let other = process.submit(json!({ "other": 1 })).await.unwrap();
        process.ends(other, "completed").await;
        assert_eq!(process.trace(ids[0]).await.row.status, "scheduled");
        assert_eq!(process.runner.count(), 1, "no other job is due");
        world.execute(MAKE_DUE);
        for id in &ids {
            process.ends(*id, "completed").await;
        }
        assert_eq!(process.runner.count(), 6);
        wait_until(async || process.metric("trace_waiting{reason=\"scheduled\"}") == 0.0).await;
    });
}

#[test]
fn due_job_counts_with_the_memory_it_takes() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        // 200 times three lists with room for four values each, of a text of two kilobytes.
        let nested: Value = serde_json::from_str(&format!("[{}[]]", "[[[[]]]],".repeat(200))).unwrap();
        let payload = json!({ "do": "wait", "nested": nested });
        let id = process.submit_waiting(payload, terms(Some(DueTime::After(HOUR)), None)).await.unwrap();
        world.execute(MAKE_DUE);
        wait_until(async || process.metric("trace_queue_memory_bytes") > 150_000.0).await;
        process.runner.open();
        process.ends(id, "completed").await;
    });
}

#[test]
fn waiting_batch_takes_room_for_each_job() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let submit = async |count: usize| {
            let terms = JobTerms { max_waiting: 3, ..terms(Some(DueTime::After(HOUR)), None) };
            let jobs =
                (0..count).map(|n| BatchedJob { job: job(json!({ "n": n })), terms: Some(terms.clone()) });
            process.traces.submit_batch(jobs.collect(), None).await
        };
        let accepted = submit(2).await.unwrap();
        assert!(submit(2).await.is_err(), "one of the two has no room");
        // The room of the other is given back. A row that is written during a count is counted twice until the next one.
        wait_until(async || submit(1).await.is_ok()).await;
        assert_eq!(process.count("scheduled").await, 3);
        world.execute(MAKE_DUE);
        for job in &accepted {
            process.ends(job.trace_id, "completed").await;
        }
    });
}

#[test]
fn delay_ends_by_itself_and_never_early() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        let due = Some(DueTime::After(SECOND));
        let id = process.submit_waiting(json!({}), terms(due, None)).await.unwrap();
        let ended = process.ends(id, "completed").await;
        let (deliver_at, began) = (ended.row.deliver_at.unwrap(), ended.row.started_at.unwrap());
        assert!(deliver_at.naive() - ended.row.created_at.naive() >= chrono::Duration::milliseconds(999));
        // The start is the end less the duration that the runner reports.
        let early = deliver_at.naive() - began.naive();
        assert!(early <= chrono::Duration::milliseconds(10), "{early}");
    });
}

#[test]
fn waiting_work_is_run_by_another_process() {
    run(async |world| {
        let first = world.start(|_| {}).await;
        *first.runner.shares.lock() = (Some(1), None);
        let due = Some(DueTime::After(HOUR));
        let delayed = first.submit_waiting(json!({ "do": "wait" }), terms(due, None)).await.unwrap();
        let mut shared = Vec::new();
        for n in 0..3 {
            let job = json!({ "do": "wait", "n": n });
            shared.push(first.submit_waiting(job, terms(None, Some("t1"))).await.unwrap());
        }
        wait_until(async || first.count("running").await == 1).await;
        first.crash().await;

        world.execute(MAKE_DUE);
        let second = world.boot(|_| {}).await;
        *second.runner.shares.lock() = (Some(1), None);
        second.begin().await;
        wait_until(async || second.runner.runs_of(delayed) == 1).await;
        wait_until(async || second.runner.runs_of(shared[0]) == 1).await;
        second.runner.open();
        for id in shared.iter().chain([&delayed]) {
            second.ends(*id, "completed").await;
            assert_eq!(second.runner.runs_of(*id), 1);
        }
    });
}

#[test]
fn runs_of_a_key_stay_within_its_share() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 8).await;
        *process.runner.shares.lock() = (Some(2), Some(3));
        let mut ids = Vec::new();
        for n in 0..6 {
            for key in ["flood", "small"] {
                let job = json!({ "do": "wait", "n": n, "key": key });
                ids.push(process.submit_waiting(job, terms(None, Some(key))).await.unwrap());
            }
        }
        for ended in 0..ids.len() {
            wait_until(async || running(&process).await == 3.min(ids.len() - ended)).await;
            let runs = process.runner.runs.lock().len();
            assert!(runs <= ended + 3, "{runs} have begun, {ended} have ended");
            process.runner.gate.add_permits(1);
        }
        for id in ids {
            process.ends(id, "completed").await;
            assert_eq!(process.runner.runs_of(id), 1);
        }
    });
}

#[test]
fn small_tenant_does_not_wait_behind_flood() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 1).await;
        *process.runner.shares.lock() = (None, Some(1));
        for n in 0..20 {
            let job = json!({ "do": "wait", "n": n });
            process.submit_waiting(job, terms(None, Some("flood"))).await.unwrap();
        }
        let small =
            process.submit_waiting(json!({ "do": "wait" }), terms(None, Some("small"))).await.unwrap();
        process.runner.gate.add_permits(2);
        process.ends(small, "completed").await;
        assert!(process.runner.count() <= 3, "{} ran before it", process.runner.count());
    });
}

#[test]
fn work_beyond_the_bounds_is_refused() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.max_waiting = 3).await;
        let due = Some(DueTime::After(HOUR));
        let of_channel = JobTerms { max_waiting: 2, ..terms(due, None) };
        for _ in 0..2 {
            // A row that is written during a count is counted twice until the next one.
            wait_until(async || process.submit_waiting(json!({}), of_channel.clone()).await.is_ok()).await;
        }
        let refuse = async |terms| {
            let refused = process.submit_waiting(json!({}), terms).await.unwrap_err();
            assert_eq!((refused.status(), refused.retry_after()), (503, Some(1)));
        };
        refuse(of_channel.clone()).await;
        wait_until(async || process.submit_waiting(json!({}), terms(due, None)).await.is_ok()).await;
        refuse(terms(due, None)).await;
        assert!(process.metric("trace_queue_rejected_total{reason=\"waiting\"}") >= 2.0);
        assert_eq!(process.count("").await, 3, "a refused submission leaves no row");
        let now = process.submit(json!({})).await.unwrap();
        process.ends(now, "completed").await;
        world.execute(MAKE_DUE);
        wait_until(async || process.submit_waiting(json!({}), of_channel.clone()).await.is_ok()).await;
    });
}

#[test]
fn paused_work_waits_for_its_resume() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.runner.paused.store(true, Ordering::Release);
        let paused = JobTerms { is_paused: true, ..terms(None, None) };
        let kept = process.submit_waiting(json!({ "n": 1 }), paused).await.unwrap();
        let queued = process.submit(json!({ "n": 2 })).await.unwrap();
        for id in [kept, queued] {
            process.ends(id, "waiting").await;
        }
        world.execute(MAKE_DUE);
        wait_until(async || process.metric("trace_waiting{reason=\"paused\"}") == 2.0).await;
        process.comes_to("trace_queue_depth", 0.0).await;
        process.runner.paused.store(false, Ordering::Release);
        process.traces.look_for_waiting_work();
        for id in [kept, queued] {
            let ended = process.ends(id, "completed").await;
            assert_eq!(ended.row.attempt, 1);
        }
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn report_to_paused_channel_waits_without_attempts() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.report_failures();
        let id = process.submit(json!({ "do": "wait, then fail for good" })).await.unwrap();
        process.ends(id, "running").await;
        process.runner.paused.store(true, Ordering::Release);
        process.runner.gate.add_permits(1);
        wait_until(async || process.runner.count() == 2).await;
        let report = process.runner.runs.lock()[1].trace_id;
        let waits = process.ends(report, "waiting").await;
        assert_eq!(waits.row.channel_id.as_deref(), Some("alerts-id"), "by which it is found again");
        world.execute(MAKE_DUE);
        wait_until(async || process.metric("trace_waiting{reason=\"paused\"}") == 1.0).await;
        assert_eq!(process.runner.count(), 2, "it is not tried meanwhile");
        process.runner.paused.store(false, Ordering::Release);
        process.traces.look_for_waiting_work();
        process.ends(report, "completed").await;
    });
}

#[test]
fn work_of_unserved_channel_is_left_to_others() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.runner.serves_less.store(true, Ordering::Release);
        let now = Some(DueTime::After(Duration::ZERO));
        let paused = JobTerms { is_paused: true, ..terms(None, None) };
        let mut left = Vec::new();
        for (n, terms) in [terms(now, None), terms(None, Some("t1")), paused].into_iter().enumerate() {
            left.push(process.submit_elsewhere(json!({ "n": n }), terms).await);
        }
        for n in 0..3 {
            let own = process.submit_waiting(json!({ "own": n }), terms(now, None)).await.unwrap();
            process.ends(own, "completed").await;
        }
        assert_eq!(process.runner.count(), 3);
        process.runner.serves_less.store(false, Ordering::Release);
        for id in left {
            process.ends(id, "completed").await;
        }
    });
}

#[test]
fn job_without_permit_waits_in_the_database() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 1).await;
        let now = Some(DueTime::After(Duration::ZERO));
        let busy = process.submit_waiting(json!({ "do": "be busy" }), terms(now, None)).await.unwrap();
        process.ends(busy, "waiting").await;
        let other = process.submit(json!({ "n": 1 })).await.unwrap();
        process.ends(other, "completed").await;
        process.ends(busy, "completed").await;
        assert_eq!(process.runner.runs_of(busy), 4);
    });
}

#[test]
fn work_without_permit_is_not_claimed() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.runner.permits.store(0, Ordering::Release);
        let now = Some(DueTime::After(Duration::ZERO));
        let paused = JobTerms { is_paused: true, ..terms(None, None) };
        let mut held = Vec::new();
        for (n, terms) in [terms(now, None), terms(None, Some("t1")), paused].into_iter().enumerate() {
            held.push(process.submit_waiting(json!({ "n": n }), terms).await.unwrap());
        }
        wait_until(async || process.metric("trace_waiting{reason=\"paused\"}") == 1.0).await;
        let other = process.submit(json!({ "other": 1 })).await.unwrap();
        process.ends(other, "completed").await;
        assert_eq!(process.runner.count(), 1);
        for id in &held {
            process.ends(*id, "waiting").await;
        }
        process.runner.permits.store(1, Ordering::Release);
        for id in held {
            process.ends(id, "completed").await;
            assert_eq!(process.runner.runs_of(id), 1);
        }
    });
}

#[test]
fn retry_of_shared_work_waits_for_its_share() {
    run(async |world| {
        let process = world.start(|settings| settings.queue.workers = 4).await;
        *process.runner.shares.lock() = (Some(1), None);
        let failing = json!({ "do": "fail once" });
        let id = process.submit_waiting(failing, terms(None, Some("t1"))).await.unwrap();
        let waits = json!({ "do": "wait", "n": 1 });
        let other = process.submit_waiting(waits, terms(None, Some("t1"))).await.unwrap();
        wait_until(async || process.runner.runs_of(other) == 1).await;
        wait_until(async || process.trace(id).await.row.attempt == 2).await;
        assert_eq!(process.runner.count(), 2, "the share is taken");
        process.runner.open();
        process.ends(other, "completed").await;
        process.ends(id, "completed").await;
    });
}
