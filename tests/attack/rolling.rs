//! A second process that starts on the database of a first one under load, and takes over from it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, wait_until};

use crate::Attack;
use crate::target::{AttackTarget, expect_soon, serve};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "rolling",
        text: "a second process starts under 5,000 submissions a second on PostgreSQL, the first one stops: nothing runs \
               twice, nothing is lost",
        before: "14 of 14 and 100 of 100 open jobs ran twice",
    },
    attack,
);

/// Submissions offered in a second.
const RATE: u64 = 5_000;
const CLIENTS: u64 = 32;
/// Longest wait for the runs that are left at the end.
const SETTLED: Duration = Duration::from_secs(120);

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let Some(postgres) = Postgres::own() else { return Ok(AttackOutcome::not_run("PostgreSQL is missing")) };
    let (store, witness) = (database(&postgres)?, database(&postgres)?);
    ask(&witness, "CREATE TABLE runs (n bigint NOT NULL)")?;
    let node = || -> io::Result<ServerCommand> {
        Ok(target.launch()?.env("SVC_STORAGE__URL", store.url()).env("SVC_CLUSTER__NODE_LEASE_SECS", "60"))
    };
    let mut first = node()?.start()?;
    serve_writes(&mut first.client(), witness.url())?;
    let phase = Duration::from_secs(target.pick_size(2, 5));
    let load =
        Load { stop: AtomicBool::new(false), next: AtomicU64::new(0), accepted: Mutex::new(Vec::new()) };
    let (second, took) = thread::scope(|scope| -> io::Result<_> {
        let begin = now();
        let address = first.address();
        for client in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.submit(address, client, begin));
        }
        pause(phase);
        let second = node()?.start();
        pause(phase);
        // The clients of the first one end with its listener; as many begin at the second one.
        if let Ok(second) = &second {
            let address = second.address();
            first.signal("TERM")?;
            let begin = now();
            for client in 0..CLIENTS {
                let load = &load;
                scope.spawn(move || load.submit(address, client, begin));
            }
            pause(phase);
        }
        load.stop.store(true, Ordering::Relaxed);
        Ok((second?, begin.elapsed()))
    })?;
    first.wait(Duration::from_secs(60))?;
    let open = "SELECT count(*) FROM traces WHERE status IN ('pending', 'running')";
    wait_until(SETTLED, || Ok(number(&ask(&store, open)?) == 0))?;
    let left = number(&ask(&store, open)?);
    drop(second);
    let runs: BTreeMap<u64, u64> = ask(&witness, "SELECT n, count(*) FROM runs GROUP BY n")?
        .iter()
        .filter_map(|row| Some((row[0].as_ref()?.parse().ok()?, row[1].as_ref()?.parse().ok()?)))
        .collect();
    let twice = runs.values().filter(|runs| **runs > 1).count();
    let accepted = load.accepted.into_inner();
    let lost = accepted.iter().filter(|number| !runs.contains_key(number)).count();
    let pace = accepted.len() as f64 / took.as_secs_f64();
    let figure = format!(
        "{} accepted, {pace:.0}/s of {RATE}/s offered; {twice} twice, {lost} lost, {left} open",
        accepted.len()
    );
    Ok(AttackOutcome::new(twice == 0 && lost == 0 && left == 0 && !accepted.is_empty(), figure))
}

/// Clients that submit at one pace together.
struct Load {
    stop: AtomicBool,
    next: AtomicU64,
    /// Numbers whose submission was answered with 202.
    accepted: Mutex<Vec<u64>>,
}

impl Load {
    /// Submits at its share of the rate until the load or the server ends.
    fn submit(&self, address: SocketAddr, client: u64, begin: Instant) {
        let mut connection = HttpClient::new(address).keep_alive();
        let mut accepted = Vec::new();
        let mut turn = client;
        while !self.stop.load(Ordering::Relaxed) {
            let due = begin + Duration::from_micros(turn * 1_000_000 / RATE);
            pause(due.saturating_duration_since(now()));
            turn += CLIENTS;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            match connection.json("POST", "/api/v1/data/jobs/async", &json!({"n": number})) {
                Ok(answer) if answer.status == 202 => accepted.push(number),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.accepted.lock().append(&mut accepted);
    }
}

/// Serves `jobs`, whose runs write their number.
fn serve_writes(client: &mut HttpClient, url: &str) -> io::Result<()> {
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "db",
        "config": {"connection_string": url, "allow_private_urls": true, "max_connections": 4}});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector)?;
    if answer.status != 201 {
        return Err(io::Error::other(format!("connector answered {}: {}", answer.status, answer.text())));
    }
    let input = json!({"connector": "witness", "query": "INSERT INTO runs (n) VALUES ($1)", "params": [{"var": "payload.n"}]});
    let tasks = json!([{"id": "write", "name": "Write", "function": {"name": "db_write", "input": input}}]);
    serve(client, "jobs", &json!({}), &tasks)?;
    expect_soon("the channel serves", || {
        Ok(client.json("POST", "/api/v1/data/jobs", &json!({"n": -1}))?.status == 200)
    })
}

fn database(postgres: &Postgres) -> io::Result<PostgresDatabase> {
    postgres.database().map_err(io::Error::other)
}

fn ask(database: &PostgresDatabase, sql: &str) -> io::Result<Vec<Vec<Option<String>>>> {
    database.rows(sql).map_err(io::Error::other)
}

/// The number in the only field of the only row.
fn number(rows: &[Vec<Option<String>>]) -> u64 {
    rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
fn pause(length: Duration) {
    thread::sleep(length);
}

#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
fn now() -> Instant {
    Instant::now()
}
