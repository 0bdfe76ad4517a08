//! Several nodes on one PostgreSQL and one Redis: what they cost without work, what a unit of work costs, and the
//! throughput with each guard that they share. All of them share the machine with the load, so more nodes are not more
//! requests here; the figures show the cost of a guard.

use std::io;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::every_second;
use svc_testkit::example::{self, create_and_activate};
use svc_testkit::http::HttpClient;
use svc_testkit::redis::Redis;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};

use crate::load::{Load, Round, wrk};
use crate::population::expect;
use crate::process::{let_run, measure_time, processor_time};
use crate::statements::{CountingPostgres, CountingRedis, Counts, growth};
use crate::{BenchContext, CONNECTIONS, ROUND, credentials};

/// Nodes of the cluster.
const NODES: usize = 3;
/// After a start, before anything is counted.
const SETTLE: Duration = Duration::from_secs(10);
/// The period in which statements are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Requests, jobs and changes of which the cost is counted.
const UNITS: u64 = 100;
/// Schedules that are due every second.
const SCHEDULES: usize = 10;
/// Rounds of each side; the median counts.
const ROUNDS: usize = 3;
/// A rate that no round reaches.
const UNREACHED: u64 = 10_000_000;
/// Longest wait for work that was accepted.
const PATIENCE: Duration = Duration::from_secs(60);

/// The servers that the nodes share.
struct Peers {
    postgres: CountingPostgres,
    redis: Redis,
}

/// Measures the cost of nodes, of units of work, and of shared guards.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let (Some(postgres), Some(redis)) = (CountingPostgres::start()?, Redis::own()) else { return Ok(()) };
    let peers = Peers { postgres, redis };
    let mut nodes = Vec::new();
    for count in 1..=NODES {
        nodes.push(peers.node(setting)?.start()?);
        let idle = peers.count(|| {
            let_run(WINDOW);
            Ok(())
        })?;
        println!("{count} nodes without work, statements in a second: {:.2}", idle.total());
        for (purpose, count) in &idle.statements {
            println!("  {purpose:<34} {:>10.2}", *count as f64 / idle.took.as_secs_f64());
        }
        println!(
            "  commands of Redis in a second      {:>10.2}",
            idle.commands as f64 / idle.took.as_secs_f64()
        );
    }
    let (auth, header) = token()?;
    example::load(&mut nodes[0].client(), &setting.quickstart)?;
    define(&mut nodes[0].client(), &auth)?;
    units(&peers, &nodes, &header)?;
    throughput(&nodes, setting, &header)?;
    drop(nodes);
    leases(&peers, setting)
}

/// The statements and commands of a period.
struct Counted {
    statements: Counts,
    commands: u64,
    took: Duration,
}

impl Counted {
    /// Returns the statements in a second.
    fn total(&self) -> f64 {
        self.statements.values().sum::<u64>() as f64 / self.took.as_secs_f64()
    }
}

impl Peers {
    /// A node of the cluster, not yet started.
    fn node(&self, setting: &BenchContext) -> io::Result<ServerCommand> {
        Ok(setting
            .launch()?
            .env("SVC_STORAGE__URL", self.postgres.database.url())
            .env("SVC_STORAGE__MAX_CONNECTIONS", "20")
            .env("SVC_TRACE_STORAGE__MODE", "off")
            .env("SVC_CLUSTER__ENABLED", "true")
            .env("SVC_CLUSTER__REDIS_URL", self.redis.url()))
    }

    /// Counts while `work` is done. The counters settle before.
    fn count(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<Counted> {
        let_run(SETTLE);
        let (before, redis) = (self.postgres.read()?, CountingRedis::start(&self.redis)?);
        let ((), took) = measure_time(work)?;
        Ok(Counted { statements: growth(&before, &self.postgres.read()?), commands: redis.read(), took })
    }
}

/// The guards that are measured: name, configuration of the channel, and whether a request needs a key or a token.
fn guards() -> [(&'static str, Value, Needs); 6] {
    let rate = json!({"requests_per_second": UNREACHED});
    [
        ("no guard", json!({}), Needs::Nothing),
        ("rate_limit", json!({"rate_limit": rate}), Needs::Nothing),
        (
            "deduplication",
            json!({"deduplication": {"header": "Idempotency-Key", "window_secs": 60}}),
            Needs::Key,
        ),
        ("cache", json!({"cache": {"enabled": true}}), Needs::Nothing),
        ("token", json!({}), Needs::Token),
        (
            "token, principal_rate_limit",
            json!({"principal_rate_limit": {"requests_per_second": UNREACHED, "key_logic": {"var": "auth.claims.sub"}}}),
            Needs::Token,
        ),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// An idempotency key of its own.
    Key,
    Token,
}

fn channel_id(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn path(name: &str) -> String {
    format!("/api/v1/data/cluster/{}", channel_id(name))
}

/// The `auth` block and the header of tokens.
fn token() -> io::Result<(Value, String)> {
    let all = credentials::credentials("")?;
    let eddsa = all.into_iter().find(|(name, ..)| *name == "jwt EdDSA");
    let (_, auth, _, header) = eddsa.ok_or_else(|| io::Error::other("no credential is a token"))?;
    Ok((auth, header))
}

/// Stores a channel for each guard over the quickstart's workflow, and the workflow of the schedules. The tokens of `auth` are those of the requests.
fn define(client: &mut HttpClient, auth: &Value) -> io::Result<()> {
    let mapping =
        json!({"mappings": [{"path": "data.at", "logic": {"var": "metadata.trigger.scheduled_for"}}]});
    let workflow = json!({"workflow_id": "note", "name": "note", "tasks": [
        {"id": "note", "name": "Note", "function": {"name": "map", "input": mapping}}]});
    create_and_activate(client, "workflows", "workflow_id", &workflow)?;
    for (name, mut config, needs) in guards() {
        if needs == Needs::Token {
            config["auth"] = auth.clone();
        }
        let id = channel_id(name);
        let channel = json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": format!("/cluster/{id}"), "workflow_id": "order-intake",
            "config": config});
        create_and_activate(client, "channels", "channel_id", &channel)?;
    }
    Ok(())
}

/// The cost of one unit of work, beyond that of the same nodes without work.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn units(peers: &Peers, nodes: &[ServerProcess], token: &str) -> io::Result<()> {
    settle(nodes, &path("no guard"))?;
    let idle = peers.count(|| {
        let_run(WINDOW);
        Ok(())
    })?;
    println!("{} nodes, cost of one unit of work beyond that of nodes without work", nodes.len());
    println!("  {:<34} {:>10} {:>10}", "", "statements", "commands");
    let report = |name: &str, units: u64, counted: &Counted| {
        let seconds = counted.took.as_secs_f64();
        let statements = (counted.total() - idle.total()) * seconds / units as f64;
        let of_idle = idle.commands as f64 / idle.took.as_secs_f64() * seconds;
        println!(
            "  {name:<34} {statements:>10.2} {:>10.2}",
            (counted.commands as f64 - of_idle) / units as f64
        );
    };
    for (name, _, needs) in guards() {
        let counted = peers.count(|| {
            (0..UNITS).try_for_each(|number| {
                let mut client = nodes[number as usize % nodes.len()].client();
                let key = format!("unit-{number}");
                let mut headers = vec![("content-type", "application/json")];
                match needs {
                    Needs::Key => headers.push(("idempotency-key", &key)),
                    Needs::Token => headers.push(("authorization", token)),
                    Needs::Nothing => {}
                }
                let body = json!({"order_id": key, "qty": 3, "price": 50}).to_string();
                expect(client.send("POST", &path(name), &headers, body.as_bytes())?, 200).map(drop)
            })
        })?;
        report(&format!("request, {name}"), UNITS, &counted);
    }
    let jobs = peers.count(|| {
        for number in 0..UNITS {
            let mut client = nodes[number as usize % nodes.len()].client();
            let body = json!({"order_id": "a", "qty": 3, "price": 50});
            expect(client.json("POST", &format!("{}/async", path("no guard")), &body)?, 202)?;
        }
        let open = "SELECT 1 FROM traces WHERE mode = 'async' AND status IN ('pending', 'running') LIMIT 1";
        let is_done = || Ok(peers.postgres.database.rows(open).map_err(io::Error::other)?.is_empty());
        wait_until(PATIENCE, is_done).map(drop)
    })?;
    report("job", UNITS, &jobs);
    let changes = peers.count(|| {
        for number in 0..UNITS / 10 {
            let mut client = nodes[number as usize % nodes.len()].client();
            expect(client.json("POST", "/api/v1/admin/workflows/note/versions", &json!({}))?, 201)?;
            let active = json!({"status": "active"});
            expect(client.json("PATCH", "/api/v1/admin/workflows/note/status", &active)?, 200)?;
        }
        let_run(Duration::from_secs(5));
        Ok(())
    })?;
    report("new version of a workflow", UNITS / 10, &changes);
    schedule(nodes)?;
    let counted = peers.count(|| {
        let_run(WINDOW);
        Ok(())
    })?;
    report("instant of a schedule", WINDOW.as_secs() * SCHEDULES as u64, &counted);
    for schedule in 0..SCHEDULES {
        let archived = json!({"status": "archived"});
        let path = format!("/api/v1/admin/channels/due{schedule}/status");
        expect(nodes[0].client().json("PATCH", &path, &archived)?, 200)?;
    }
    Ok(())
}

/// Serves channels that are due every second.
fn schedule(nodes: &[ServerProcess]) -> io::Result<()> {
    let mut client = nodes[0].client();
    for number in 0..SCHEDULES {
        let channel = every_second(&format!("due{number}"), "note", json!({}));
        create_and_activate(&mut client, "channels", "channel_id", &channel)?;
    }
    Ok(())
}

/// Waits until every node serves a channel.
fn settle(nodes: &[ServerProcess], path: &str) -> io::Result<()> {
    let order = json!({"order_id": "a", "qty": 3, "price": 50});
    for node in nodes {
        let serves = || Ok(node.client().json("POST", path, &order)?.status == 200);
        if !wait_until(PATIENCE, serves)? {
            return Err(io::Error::other(format!("a node does not serve {path}")));
        }
    }
    Ok(())
}

/// The throughput of one, two and three nodes together with each guard.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn throughput(nodes: &[ServerProcess], setting: &BenchContext, token: &str) -> io::Result<()> {
    let order = setting.order()?;
    println!("Requests a second with each guard over Redis, {CONNECTIONS} connections on all nodes together");
    println!("  {:<34} {:>10} {:>10} {:>10} {:>11}", "", "1 node", "2 nodes", "3 nodes", "p99 of 1");
    for (name, _, needs) in guards() {
        let mut load = Load { path: path(name), ..order.clone() };
        match needs {
            Needs::Key => load = load.with_numbered_header("idempotency-key"),
            Needs::Token => load = load.with_header("authorization", token),
            Needs::Nothing => {}
        }
        let mut medians = Vec::new();
        for count in 1..=NODES {
            let rounds: io::Result<Vec<Round>> = (0..ROUNDS).map(|_| round(&nodes[..count], &load)).collect();
            medians.push(Round::median(rounds?));
        }
        let rates: Vec<_> =
            medians.iter().map(|round| format!("{:>10.0}", round.requests_per_second)).collect();
        println!("  {name:<34} {} {:>8.2} ms", rates.join(" "), medians[0].p99);
    }
    Ok(())
}

/// Loads all nodes at the same time; the sum of their rates, and the worst of their latencies.
fn round(nodes: &[ServerProcess], load: &Load) -> io::Result<Round> {
    let connections = CONNECTIONS / nodes.len();
    let rounds: Vec<io::Result<Round>> = thread::scope(|scope| {
        let loads: Vec<_> = nodes
            .iter()
            .map(|node| scope.spawn(move || wrk(node.address(), load, connections, ROUND)?.clean()))
            .collect();
        let failed = || Err(io::Error::other("a load panicked"));
        loads.into_iter().map(|load| load.join().unwrap_or_else(|_| failed())).collect()
    });
    let rounds = rounds.into_iter().collect::<io::Result<Vec<_>>>()?;
    let sum = Round { requests: 0, refused: 0, requests_per_second: 0.0, p50: 0.0, p99: 0.0, processor: None };
    Ok(rounds.into_iter().fold(sum, |sum, round| Round {
        requests: sum.requests + round.requests,
        refused: 0,
        requests_per_second: sum.requests_per_second + round.requests_per_second,
        p50: sum.p50.max(round.p50),
        p99: sum.p99.max(round.p99),
        processor: None,
    }))
}

/// The overhead of a node's lease, and of cluster mode without a guard: one node, the shortest lease and the longest.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn leases(peers: &Peers, setting: &BenchContext) -> io::Result<()> {
    let order = setting.order()?;
    println!("One node on PostgreSQL, the quickstart order without a guard");
    println!("  {:<34} {:>10} {:>11} {:>11} {:>10}", "", "requests/s", "p50", "p99", "idle, cpu");
    let alone = |lease: &str| -> io::Result<ServerCommand> {
        Ok(peers
            .node(setting)?
            .env("SVC_CLUSTER__ENABLED", "false")
            .env("SVC_CLUSTER__NODE_LEASE_SECS", lease))
    };
    let cluster = peers.node(setting)?;
    for (name, node) in [
        ("lease of 300 s", alone("300")?),
        ("lease of 15 s", alone("15")?),
        ("lease of 3 s", alone("3")?),
        ("lease of 15 s, cluster.enabled", cluster),
    ] {
        let node = node.start()?;
        let_run(SETTLE);
        let before = processor_time(node.pid())?;
        let ((), took) = measure_time(|| {
            let_run(SETTLE);
            Ok(())
        })?;
        let idle = (processor_time(node.pid())? - before).as_secs_f64() / took.as_secs_f64();
        let rounds: io::Result<Vec<Round>> =
            (0..ROUNDS).map(|_| wrk(node.address(), &order, CONNECTIONS, ROUND)?.clean()).collect();
        println!("  {name:<34} {} {:>8.2} %", Round::median(rounds?), idle * 100.0);
    }
    Ok(())
}
