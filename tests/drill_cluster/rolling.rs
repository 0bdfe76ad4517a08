//! `make drill-rolling`: three nodes behind a load balancer are restarted one after the other under load. No request may
//! fail, and no accepted work may be lost or run again.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::redis::Redis;
use svc_testkit::reporting::{serve_channel, serve_workflow};
use svc_testkit::server::wait_until;

use crate::balancer::{BackendPool, Balancer};
use crate::clients::JOBS;
use crate::nodes::{DrillCluster, NODES, Releases};
use crate::rolling_verdict::{FailedRequest, RecordedJob, RollingEvidence};
use crate::{PATIENCE, is_settled};

/// The channels: one that is submitted to, one that is called.
const CHANNELS: [&str; 2] = ["jobs", "echo"];
/// Clients, each with one request at a time.
const CLIENTS: u64 = 16;
/// Time for which a node that ends goes on serving: far longer than the balancer needs to notice.
const DRAIN: Duration = Duration::from_secs(2);
/// Load before the first restart and after each.
const CALM: Duration = Duration::from_secs(2);

/// The load of all clients together.
struct Load {
    rotation: BackendPool,
    /// Requests in a second.
    rate: u64,
    stop: AtomicBool,
    next: AtomicU64,
    begin: Instant,
}

/// The record of one client.
#[derive(Default)]
struct ClientRecord {
    answered: usize,
    accepted: Vec<String>,
    failures: Vec<FailedRequest>,
    latencies: Vec<Duration>,
}

/// Restarts every node in turn under `rate` requests in a second, half of them submissions. If the nodes began with the
/// release before, one goes back to it last.
pub(crate) fn drill(
    releases: Releases,
    database: &PostgresDatabase,
    redis: &Redis,
    rate: u64,
) -> io::Result<RollingEvidence> {
    let goes_back = releases.previous.is_some();
    let mut cluster = DrillCluster::start(releases, database, redis, DRAIN)?;
    store(&mut cluster.client(0))?;
    let balancer = Balancer::start(cluster.addresses());
    let rotation = balancer.rotation.clone();
    let is_whole = || Ok((0..NODES).all(|node| rotation.has(node) && serves(&cluster, node)));
    if !wait_until(PATIENCE, is_whole)? {
        return Err(io::Error::other("not every node serves the definitions"));
    }
    let load = Arc::new(Load {
        rotation: rotation.clone(),
        rate,
        stop: AtomicBool::new(false),
        next: AtomicU64::new(0),
        begin: now(),
    });
    let clients: Vec<JoinHandle<ClientRecord>> = (0..CLIENTS)
        .map(|client| {
            let load = Arc::clone(&load);
            thread::spawn(move || load.send(client))
        })
        .collect();
    pause(CALM);
    let mut restarts = Vec::new();
    for node in (0..NODES).chain(goes_back.then_some(0)) {
        restarts.push(cluster.restart(node)?);
        if !wait_until(PATIENCE, || Ok(rotation.has(node)))? {
            return Err(io::Error::other(format!("node {node} did not come back")));
        }
        pause(CALM);
    }
    load.stop.store(true, Ordering::Relaxed);
    let length = load.begin.elapsed();
    let mut record = ClientRecord::default();
    for client in clients {
        let told = client.join().map_err(|_| io::Error::other("a client panicked"))?;
        record.answered += told.answered;
        record.accepted.extend(told.accepted);
        record.failures.extend(told.failures);
        record.latencies.extend(told.latencies);
    }
    balancer.stop();
    // Work that does not come to its end is for the judge to see.
    wait_until(PATIENCE, || is_settled(database))?;
    record.latencies.sort();
    let ClientRecord { answered, accepted, failures, latencies } = record;
    Ok(RollingEvidence { length, answered, accepted, failures, latencies, restarts, jobs: jobs(database)? })
}

/// Stores the definitions: one channel that is called and one that is submitted to.
fn store(client: &mut HttpClient) -> io::Result<()> {
    let mapping = json!({"mappings": [{"path": "data.n", "logic": {"var": "payload.n"}}]});
    let tasks = json!([{"id": "t", "name": "t", "function": {"name": "map", "input": mapping}}]);
    for id in CHANNELS {
        serve_workflow(client, id, &tasks)?;
        serve_channel(client, id, &json!({}))?;
    }
    Ok(())
}

/// Returns true if a node serves every definition.
fn serves(cluster: &DrillCluster, node: usize) -> bool {
    CHANNELS.iter().all(|channel| {
        let path = format!("/api/v1/data/{channel}");
        let answer = cluster.client(node).json("POST", &path, &json!({"n": 0}));
        answer.is_ok_and(|answer| answer.status == 200)
    })
}

/// Returns the recorded end of each accepted job, by its trace.
fn jobs(database: &PostgresDatabase) -> io::Result<HashMap<String, RecordedJob>> {
    let rows = database.rows("SELECT id, status, recoveries FROM traces WHERE mode = 'async'");
    let job = |row: Vec<Option<String>>| {
        let mut columns = row.into_iter();
        let (id, status) = (columns.next()??, columns.next()??);
        Some((id, RecordedJob { status, recoveries: columns.next()??.parse().ok()? }))
    };
    Ok(rows.map_err(io::Error::other)?.into_iter().filter_map(job).collect())
}

impl Load {
    /// Sends the share of one client until the load ends. Nothing is sent a second time.
    fn send(&self, client: u64) -> ClientRecord {
        let mut record = ClientRecord::default();
        let mut connections: HashMap<SocketAddr, (usize, HttpClient)> = HashMap::new();
        let mut turn = client;
        while !self.stop.load(Ordering::Relaxed) {
            let due = self.begin + Duration::from_micros(turn * 1_000_000 / self.rate);
            pause(due.saturating_duration_since(now()));
            turn += CLIENTS;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(route) = self.rotation.route() else {
                record.failures.push(FailedRequest { node: None, reason: "no node is ready".to_owned() });
                continue;
            };
            let kept = connections.remove(&route.address).filter(|(since, _)| *since == route.departures);
            let mut connection =
                kept.map_or_else(|| HttpClient::new(route.address).keep_alive(), |(_, kept)| kept);
            let is_submission = number.is_multiple_of(2);
            let path = if is_submission { JOBS } else { "/api/v1/data/echo" };
            let sent = now();
            match connection.json("POST", path, &json!({"n": number})) {
                Ok(answer) if answer.status == if is_submission { 202 } else { 200 } => {
                    record.answered += 1;
                    record.latencies.push(sent.elapsed());
                    if is_submission {
                        record.accepted.push(trace(&answer.json()));
                    }
                    connections.insert(route.address, (route.departures, connection));
                }
                Ok(answer) => {
                    record.fail(route.node, format!("{path} answered {}: {}", answer.status, answer.text()))
                }
                Err(error) => record.fail(route.node, format!("{path}: {error}")),
            }
        }
        record
    }
}

impl ClientRecord {
    fn fail(&mut self, node: usize, reason: String) {
        self.failures.push(FailedRequest { node: Some(node), reason });
    }
}

fn trace(answer: &Value) -> String {
    answer["trace_id"].as_str().unwrap_or_default().to_owned()
}

/// Lets time pass between two requests, or under load.
fn pause(length: Duration) {
    thread::park_timeout(length);
}

#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
fn now() -> Instant {
    Instant::now()
}
