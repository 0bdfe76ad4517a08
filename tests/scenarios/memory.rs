//! Memory while the database stalls: what requests hold is counted in bytes, and what does not fit is
//! refused.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerProcess, wait_until};

use crate::support::{echo, eventually, launch};

/// Requests at the same time, each with a body of a mebibyte.
const CLIENTS: usize = 150;
/// The bound, in bytes.
const BOUND: u32 = 64 << 20;
/// Growth of memory that is allowed, in KiB: the bound, read buffers of the connections, what the allocator
/// keeps. Without a bound these requests take a GiB.
const GROWTH: u64 = 256 << 10;

/// The most memory a process ever had, in KiB.
fn peak_kib(server: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn metric(client: &mut HttpClient, name: &str) -> f64 {
    let page = client.get("/metrics").unwrap().text();
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

/// Holds the table of traces, so that no row can be written, until the order to give it back.
pub(crate) fn stall(database: &PostgresDatabase) -> impl FnOnce() + use<> {
    hold_table(database, "traces")
}

/// Holds a table, so that its rows can be read but neither locked nor written, until the order to give it back.
pub(crate) fn hold_table(database: &PostgresDatabase, table: &'static str) -> impl FnOnce() + use<> {
    let (holder, releasing) = (database.clone(), database.clone());
    let held = std::thread::spawn(move || {
        // Ends with an error when its session is terminated.
        drop(holder.rows(&format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE; SELECT pg_sleep(60)")));
    });
    let locks = format!(
        "SELECT pid FROM pg_locks WHERE relation = '{table}'::regclass AND mode = 'ExclusiveLock' AND granted"
    );
    let is_locked = wait_until(Duration::from_secs(20), || Ok(!database.rows(&locks).unwrap().is_empty()));
    assert!(is_locked.unwrap(), "the table is locked");
    move || {
        releasing.rows(&format!("SELECT pg_terminate_backend(pid) FROM ({locks}) AS holders")).unwrap();
        held.join().unwrap();
    }
}

#[test]
fn memory_stays_within_the_bound_while_the_database_stalls() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let server = launch()
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_SERVER__MAX_IN_FLIGHT_BYTES", &BOUND.to_string())
        .start()
        .unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    let before = peak_kib(&server);
    let release = stall(&database);
    let body = Arc::new(json!({"text": "x".repeat((1 << 20) - 4096)}));
    let requests: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (mut client, body) = (server.client(), Arc::clone(&body));
            let path = if number % 2 == 0 { "/api/v1/data/orders" } else { "/api/v1/data/orders/async" };
            // A request that is refused while its body is on its way may find its connection closed.
            std::thread::spawn(move || client.json("POST", path, &body).ok())
        })
        .collect();
    let is_full =
        wait_until(
            Duration::from_secs(60),
            || Ok(metric(&mut client, "svc_in_flight_rejected_total") > 50.0),
        );
    assert!(is_full.unwrap(), "requests beyond the bound are refused while the others wait");
    assert!(metric(&mut client, "svc_in_flight_bytes") <= f64::from(BOUND));
    assert_eq!(client.get("/healthz").unwrap().status, 200);
    release();
    let answers: Vec<HttpResponse> =
        requests.into_iter().filter_map(|request| request.join().unwrap()).collect();
    for answer in answers.iter().filter(|answer| answer.status == 503) {
        assert_eq!(answer.header("retry-after"), Some("1"), "{}", answer.text());
    }
    assert!(answers.iter().all(|answer| answer.status != 500), "nothing fails");
    assert!(answers.iter().any(|answer| answer.status == 200), "what was taken in is answered");
    let grown = peak_kib(&server).saturating_sub(before);
    assert!(grown < GROWTH, "memory grew by {grown} KiB");
    let is_idle =
        wait_until(Duration::from_secs(60), || Ok(metric(&mut client, "svc_in_flight_bytes") == 0.0));
    assert!(is_idle.unwrap(), "everything is given back");
    assert_eq!(client.json("POST", "/api/v1/data/orders", &json!({"a": 1})).unwrap().status, 200);
}

#[test]
fn cleanup_of_local_caches_runs_again_and_again() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let mut removed =
        || metric(&mut client, "svc_job_last_success_timestamp_seconds{job=\"local_cache_cleanup\"}");
    eventually(|| removed() > 0.0);
    let first = removed();
    eventually(|| removed() > first);
}
