//! Reports of runs that failed for good.

use std::time::Duration;

use serde_json::json;
use svc_testkit::state::wait_until;

use crate::kit::run;

#[test]
fn exhausted_letter_is_reported_once_as_work() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.report_failures();
        let payload = json!({"do": "fail for good"});
        let id = process.submit(payload.clone()).await.unwrap();
        wait_until(async || process.count("completed").await == 1).await;
        let report = process.runner.runs.lock()[1].trace_id;
        let row = process.trace(report).await;
        assert_eq!((&*row.row.channel, &*row.row.mode, &*row.row.status), ("alerts", "async", "completed"));
        let (told, metadata) = {
            let runs = process.runner.runs.lock();
            (runs[1].payload.clone(), runs[1].metadata.clone())
        };
        let error = process.trace(id).await.row.error_message.unwrap();
        let expected =
            json!({"trace_id": id.to_string(), "channel": "orders", "error": error, "data": payload});
        assert_eq!(told, expected);
        assert_eq!(metadata["_svc_failure_of"], id.to_string());
        assert_eq!(process.runner.count(), 2);
    });
}

#[test]
fn retried_failure_is_reported_after_last_retry() {
    run(async |world| {
        let process = world.start(|settings| settings.dead_letters.max_retries = 1).await;
        process.report_failures();
        let id = process.submit(json!({"do": "fail"})).await.unwrap();
        wait_until(async || process.count("completed").await == 1).await;
        let runs = process.runner.runs.lock();
        let channels: Vec<_> = runs.iter().map(|run| run.channel.to_string()).collect();
        assert_eq!(channels, ["orders", "orders", "alerts"]);
        let (second, report) = (&runs[1], &runs[2]);
        assert_ne!(second.trace_id, id, "the last attempt has a trace of its own");
        assert_eq!(report.payload["trace_id"], id.to_string(), "the submitter knows this one");
        assert_eq!(report.metadata["_svc_failure_of"], id.to_string());
    });
}

#[test]
fn report_that_fails_leads_to_no_other_one() {
    run(async |world| {
        let process = world.start(|_| {}).await;
        process.report_failures();
        process.submit(json!({"do": "fail for good", "then": "fail for good"})).await.unwrap();
        wait_until(async || process.letters().await.len() == 2).await;
        wait_until(async || process.error_count("dlq_exhausted") == 2).await;
        assert_eq!((process.runner.count(), process.count("pending").await), (2, 0));
    });
}

#[test]
fn report_outlives_the_process_that_accepted_it() {
    run(async |world| {
        let first = world.start(|settings| settings.queue.workers = 1).await;
        first.report_failures();
        first.submit(json!({"do": "fail for good", "then": "wait"})).await.unwrap();
        wait_until(async || first.runner.count() == 2).await;
        first.crash().await;
        let second = world.start(|settings| settings.queue.shutdown_timeout = Duration::ZERO).await;
        second.runner.open();
        wait_until(async || second.count("completed").await == 1).await;
        assert_eq!(&*second.runner.runs.lock()[0].channel, "alerts");
    });
}

#[test]
fn run_that_was_recovered_too_often_is_reported() {
    run(async |world| {
        let first = world.start(|_| {}).await;
        let id = first.submit(json!({"do": "wait"})).await.unwrap();
        first.ends(id, "running").await;
        first.crash().await;
        let second = world.boot(|settings| settings.queue.max_recoveries = 0).await;
        second.report_failures();
        second.begin().await;
        wait_until(async || second.count("completed").await == 1).await;
        let report = second.runner.runs.lock()[0].payload.clone();
        assert_eq!(
            (&report["trace_id"], &report["channel"]),
            (&json!(id.to_string()), &json!("orders")),
            "{report}"
        );
        assert!(report["error"].as_str().unwrap().starts_with("attempts_exhausted:"), "{report}");
    });
}
