//! More work than is done: clients that wait for each answer are slowed down; what is several times more than
//! fits is refused, in bounded memory and at a bounded rate, and over when the load is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerProcess, wait_until};

use crate::support::{channel, launch};

const CLIENTS: usize = 64;
/// Refused requests after which the load has been seen.
const REFUSED_REQUESTS: usize = 1_500;
/// Refused submissions after which the load has been seen. They are few: most clients are slowed down instead.
const REFUSED_SUBMISSIONS: usize = 50;

/// A workflow that keeps a thread busy for some milliseconds.
fn busy(server: &ServerProcess, config: serde_json::Value) {
    let workflow = json!({
        "workflow_id": "busy", "name": "busy", "loop": {"counter": "i", "init": 0, "max": 300},
        "tasks": [{"id": "count", "name": "Count", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.n", "logic": {"+": [{"var": "temp_data.i"}, 1]}}
        ]}}}],
    });
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("busy", "busy", config)).unwrap();
}

/// Sends from many connections until `enough` were refused; returns how many were accepted.
fn flood(server: &ServerProcess, path: &'static str, accepted_as: u16, enough: usize) -> usize {
    let (stop, shed, accepted) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let shared = Arc::new((stop, shed, accepted));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (shared, mut client) = (Arc::clone(&shared), server.client().keep_alive());
            std::thread::spawn(move || {
                let (stop, shed, accepted) = &*shared;
                while !stop.load(Ordering::Relaxed) {
                    let answer = client.json("POST", path, &json!({"pad": "x".repeat(512)})).unwrap();
                    if answer.status == accepted_as {
                        accepted.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    assert_eq!(answer.status, 503, "{}", answer.text());
                    assert_eq!(answer.header("retry-after"), Some("1"), "{}", answer.text());
                    if shed.fetch_add(1, Ordering::Relaxed) > enough {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    // Health answers while the load goes on.
    let mut looks = 0;
    let mut client = server.client().keep_alive();
    while !shared.0.load(Ordering::Relaxed) && clients.iter().any(|client| !client.is_finished()) {
        assert_eq!(client.get("/health").unwrap().status, 200);
        looks += 1;
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert!(looks > 0);
    shared.2.load(Ordering::Relaxed)
}

fn resident_kib(server: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn fifty_sequential_clients_are_not_shed() {
    let server = launch().start().unwrap();
    busy(&server, json!({}));
    let clients: Vec<_> = (0..50)
        .map(|_| {
            let mut client = server.client().keep_alive();
            std::thread::spawn(move || {
                for _ in 0..30 {
                    let answer = client.json("POST", "/api/v1/data/busy/async", &json!({})).unwrap();
                    assert_eq!(answer.status, 202, "{}", answer.text());
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn submissions_beyond_queue_are_shed_and_queue_empties() {
    let server = launch()
        .env("SVC_TRACE_QUEUE__BUFFER_SIZE", "50")
        .env("SVC_TRACE_QUEUE__WORKERS", "1")
        .start()
        .unwrap();
    busy(&server, json!({}));
    let before = resident_kib(&server);
    let accepted = flood(&server, "/api/v1/data/busy/async", 202, REFUSED_SUBMISSIONS);
    assert!(accepted > 0);
    let grown = resident_kib(&server).saturating_sub(before);
    assert!(grown < 200 * 1024, "memory grew by {grown} KiB");
    let mut client: HttpClient = server.client().keep_alive();
    let recovered = wait_until(Duration::from_secs(60), || {
        let answer = client.json("POST", "/api/v1/data/busy/async", &json!({}))?;
        let waiting = client.get("/api/v1/admin/traces?status=pending&limit=1")?.json();
        Ok(answer.status == 202 && waiting["data"].as_array().is_some_and(Vec::is_empty))
    });
    assert!(recovered.unwrap(), "the queue runs empty");
}

#[test]
fn requests_beyond_permits_are_shed_then_served() {
    let server = launch().start().unwrap();
    busy(&server, json!({"backpressure": {"max_concurrent_per_node": 1}}));
    let accepted = flood(&server, "/api/v1/data/busy", 200, REFUSED_REQUESTS);
    assert!(accepted > 0);
    assert_eq!(server.client().json("POST", "/api/v1/data/busy", &json!({})).unwrap().status, 200);
}
