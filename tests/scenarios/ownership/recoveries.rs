//! Work that ends its process is begun again so often and no more, and delays no other meanwhile.

use std::time::Duration;

use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{database, node, owner, runs, runs_of, serve_jobs, status, submit};
use crate::support::{eventually, launch};

/// The number of the job that is running when its process is killed.
const POISON: usize = 0;
const MAX_RECOVERIES: usize = 5;

#[test]
fn always_killed_job_ends_exhausted_others_run() {
    let witness = Upstream::start(|asked| match asked.target.as_str() {
        "/0" => UpstreamReply::Held,
        _ => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let mut server: ServerProcess = launch().env("SVC_TRACE_QUEUE__WORKERS", "2").start().unwrap();
    serve_jobs(&mut server.client(), &witness);
    let poison = submit(&mut server.client(), POISON);
    for life in 1..=10 {
        let begins = life.min(MAX_RECOVERIES + 1);
        eventually(|| runs_of(&witness, POISON) == begins);
        // What comes behind it is served by every life.
        let behind = submit(&mut server.client(), life);
        eventually(|| status(&mut server.client(), &behind) == "completed");
        server = server.crash_and_restart().unwrap();
    }
    assert_eq!(runs_of(&witness, POISON), MAX_RECOVERIES + 1, "the first run and its recoveries");
    let mut client = server.client();
    eventually(|| status(&mut client, &poison) == "failed");
    let letters = client.get("/api/v1/admin/trace-dlq?exhausted=true").unwrap().json();
    let letter = &letters["data"][0];
    assert_eq!((letters["total"].as_i64(), letter["trace_id"].as_str()), (Some(1), Some(&*poison)));
    assert!(letter["error_message"].as_str().unwrap().starts_with("attempts_exhausted:"), "{letter}");
    assert!((1..=10).all(|n| runs_of(&witness, n) == 1), "nothing else ran twice");
}

#[test]
fn orderly_stop_counts_no_recovery() {
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let mut server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_TRACE_QUEUE__MAX_RECOVERIES", "1")
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_TRACE_QUEUE__SHUTDOWN_TIMEOUT_SECS", "1")
        .env("SVC_CRON__SHUTDOWN_TIMEOUT_SECS", "1")
        .env("SVC_SERVER__SHUTDOWN_FORCE_TIMEOUT_SECS", "1")
        .start()
        .unwrap();
    serve_jobs(&mut server.client(), &witness);
    let id = submit(&mut server.client(), 1);
    for life in 1..=4 {
        eventually(|| runs_of(&witness, 1) == life);
        server.signal("TERM").unwrap();
        server.wait(Duration::from_secs(60)).unwrap();
        server = server.crash_and_restart().unwrap();
    }
    eventually(|| runs_of(&witness, 1) == 5);
    witness.open();
    eventually(|| status(&mut server.client(), &id) == "completed");
    let metrics = server.client().get("/metrics").unwrap().text();
    assert!(metrics.contains("svc_trace_recoveries_total 0"), "{metrics}");
    assert_eq!(runs_of(&witness, 1), 5);
}

#[test]
fn node_killing_job_is_given_up() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|asked| match asked.target.as_str() {
        "/0" => UpstreamReply::Held,
        _ => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let mut servers: Vec<_> = (0..3)
        .map(|number| {
            let server =
                node(&database).env("SVC_CLUSTER__INSTANCE_ID", &format!("n{number}")).start().unwrap();
            if number == 0 {
                serve_jobs(&mut server.client(), &witness);
            }
            server
        })
        .collect();
    let poison = submit(&mut servers[0].client(), POISON);
    for begins in 1..=MAX_RECOVERIES + 1 {
        eventually(|| runs_of(&witness, POISON) == begins);
        let (holder, _) = owner(&database, &poison);
        let holder: usize = holder[1..2].parse().unwrap();
        let killed = servers.remove(holder);
        killed.signal("KILL").unwrap();
        for (number, other) in servers.iter().enumerate() {
            let behind = submit(&mut other.client(), begins * 10 + number);
            eventually(|| status(&mut other.client(), &behind) == "completed");
        }
        servers.insert(holder, killed.crash_and_restart().unwrap());
    }
    eventually(|| status(&mut servers[0].client(), &poison) == "failed");
    assert_eq!(runs_of(&witness, POISON), MAX_RECOVERIES + 1, "the first run and its recoveries");
    let letters = servers[1].client().get("/api/v1/admin/trace-dlq?exhausted=true").unwrap().json();
    let letter = &letters["data"][0];
    assert_eq!((letters["total"].as_i64(), letter["trace_id"].as_str()), (Some(1), Some(&*poison)));
    assert!(letter["error_message"].as_str().unwrap().starts_with("attempts_exhausted:"), "{letter}");
    assert!(
        runs(&witness).iter().all(|(number, runs)| *number == POISON || *runs == 1),
        "nothing else ran twice"
    );
    for server in &servers {
        let behind = submit(&mut server.client(), 100);
        eventually(|| status(&mut server.client(), &behind) == "completed");
    }
}
