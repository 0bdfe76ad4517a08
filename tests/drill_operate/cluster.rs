//! The nodes of a drill, the orders that they get, and their kills.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::cron;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};
use svc_testkit::witness::RunWitness;

/// Nodes of the cluster.
pub(crate) const NODES: usize = 3;
/// Workers of each node.
pub(crate) const WORKERS: usize = 16;
/// Runs of one node that have begun and whose ends are not written: so many of each worker.
pub(crate) const IN_FLIGHT: usize = WORKERS * 64;
/// Longest wait for a state, and for any progress towards it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two looks at a state that is long in coming.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time after which a node that was busy or away is asked again.
const ANOTHER_TRY: Duration = Duration::from_millis(200);
/// Number of times that a node is asked.
const TRIES: usize = 60;

/// Settings of every node: room for all submissions of a drill, quick retries, a lease that a busy machine does not
/// break, and schedules whose instants are missed soon.
const SETTINGS: [(&str, &str); 10] = [
    ("RUST_LOG", "warn"),
    ("SVC_CLUSTER__NODE_LEASE_SECS", "10"),
    ("SVC_CRON__MISFIRE_GRACE_SECS", "5"),
    ("SVC_STORAGE__MAX_CONNECTIONS", "20"),
    ("SVC_TRACE_QUEUE__BUFFER_SIZE", "400000"),
    ("SVC_TRACE_QUEUE__MAX_QUEUE_MEMORY_BYTES", "0"),
    ("SVC_TRACE_QUEUE__DLQ_BATCH_SIZE", "200"),
    ("SVC_TRACE_QUEUE__DLQ_EXHAUSTED_THRESHOLD", "0"),
    ("SVC_TRACE_QUEUE__DLQ_LEASE_SECS", "10"),
    ("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1"),
];

/// Nodes on one database.
pub(crate) struct OperateCluster {
    nodes: Vec<Option<ServerProcess>>,
    witness: Arc<RunWitness>,
    kills: Vec<Duration>,
}

impl OperateCluster {
    /// Starts the nodes, with more settings.
    pub(crate) fn start(
        binary: &Path,
        database: &PostgresDatabase,
        witness: &Arc<RunWitness>,
        settings: &[(&str, &str)],
    ) -> io::Result<Self> {
        let start = |_| {
            let launch = cron::node(ServerCommand::new(binary)?, database)
                .env("SVC_TRACE_QUEUE__WORKERS", &WORKERS.to_string());
            let settings = SETTINGS.iter().chain(settings);
            settings.fold(launch, |launch, (name, value)| launch.env(name, value)).start().map(Some)
        };
        let nodes = (0..NODES).map(start).collect::<io::Result<_>>()?;
        Ok(Self { nodes, witness: Arc::clone(witness), kills: Vec::new() })
    }

    /// Returns the address of every node. A node keeps it over its restarts.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().flatten().map(ServerProcess::address).collect()
    }

    pub(crate) fn client(&self, node: usize) -> HttpClient {
        HttpClient::new(self.addresses()[node])
    }

    /// Reads a path of the admin API from any node.
    pub(crate) fn read(&self, path: &str) -> io::Result<Value> {
        self.ask(path, None)
    }

    /// Sends a body to a path of the admin API of any node.
    pub(crate) fn order(&self, path: &str, body: &Value) -> io::Result<Value> {
        self.ask(path, Some(body))
    }

    /// Asks one node after the other until one has an answer. An order that may have been carried out is not repeated.
    fn ask(&self, path: &str, body: Option<&Value>) -> io::Result<Value> {
        let path = format!("/api/v1/admin/{path}");
        let mut failure = io::Error::other("no node is there");
        for address in self.addresses().into_iter().cycle().take(TRIES) {
            let mut client = HttpClient::new(address);
            let answer = match body {
                Some(body) => client.json("POST", &path, body),
                None => client.get(&path),
            };
            match answer {
                Ok(answer) if answer.status < 300 => return Ok(answer.json()),
                Ok(answer) => {
                    failure =
                        io::Error::other(format!("{path} answered {}: {}", answer.status, answer.text()));
                    if !matches!(answer.status, 429 | 503) {
                        break;
                    }
                }
                Err(error) => {
                    failure = error;
                    if body.is_some() {
                        break;
                    }
                }
            }
            pause(ANOTHER_TRY);
        }
        Err(failure)
    }

    /// Waits until every node serves what is stored.
    pub(crate) fn wait_until_served(&self, database: &PostgresDatabase) -> io::Result<()> {
        let stored = read_number(database, "SELECT epoch FROM config_epoch")?;
        let is_served = || -> io::Result<bool> {
            for node in 0..NODES {
                let health = self.client(node).get("/health")?.json();
                if health["epoch"]["applied"].as_i64().is_none_or(|applied| applied < stored) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        expect_soon("every node serves the definitions", is_served)
    }

    /// Kills a node, like a power cut, starts it again, and waits until it is ready.
    pub(crate) fn kill(&mut self, node: usize) -> io::Result<()> {
        let server = self.take(node)?;
        self.kills.push(self.witness.now());
        self.nodes[node] = Some(server.crash_and_restart()?);
        Ok(())
    }

    /// Stops a node as an operator does, starts it again, and waits until it is ready.
    pub(crate) fn restart(&mut self, node: usize) -> io::Result<()> {
        let mut server = self.take(node)?;
        server.signal("TERM")?;
        server.wait(PATIENCE)?;
        self.nodes[node] = Some(server.crash_and_restart()?);
        Ok(())
    }

    fn take(&mut self, node: usize) -> io::Result<ServerProcess> {
        self.nodes[node].take().ok_or_else(|| io::Error::other(format!("node {node} is gone")))
    }

    /// Returns the node with this id, if it runs.
    pub(crate) fn find_node(&self, id: &str) -> io::Result<Option<usize>> {
        let listed = self.read("nodes")?;
        let rows = listed["data"].as_array();
        let pid = rows.and_then(|rows| rows.iter().find(|row| row["id"] == id)?["pid"].as_u64());
        let is_it = |node: &ServerProcess| Some(u64::from(node.pid())) == pid;
        Ok(self.nodes.iter().position(|node| node.as_ref().is_some_and(is_it)))
    }

    /// Returns the id of the process of a node.
    pub(crate) fn pid(&self, node: usize) -> io::Result<u32> {
        let server = self.nodes[node].as_ref();
        server.map(ServerProcess::pid).ok_or_else(|| io::Error::other(format!("node {node} is gone")))
    }

    /// Returns the instants of the kills, by the clock of the witness.
    pub(crate) fn kills(&self) -> &[Duration] {
        &self.kills
    }
}

/// Waits for a state that the drill needs before it can go on.
pub(crate) fn expect_soon(state: &str, look: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    if wait_until(PATIENCE, look)? {
        return Ok(());
    }
    Err(io::Error::other(format!("it never came about that {state}")))
}

/// Waits until nothing is left, or until nothing has become less for long. Returns what is left, for the judge.
pub(crate) fn wait_until_none(mut count: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    let (mut least, mut since) = (usize::MAX, now());
    loop {
        let left = count()?;
        if left < least {
            (least, since) = (left, now());
        }
        if left == 0 || since.elapsed() > PATIENCE {
            return Ok(left);
        }
        pause(LOOK_EVERY);
    }
}

/// Returns the number that a query answers.
pub(crate) fn read_number(database: &PostgresDatabase, sql: &str) -> io::Result<i64> {
    let rows = database.rows(sql).map_err(io::Error::other)?;
    let number = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("no number answers {sql}")))
}

/// Counts the rows of a table that match a condition.
pub(crate) fn count(database: &PostgresDatabase, table: &str, condition: &str) -> io::Result<usize> {
    let number = read_number(database, &format!("SELECT count(*) FROM {table} WHERE {condition}"))?;
    usize::try_from(number).map_err(io::Error::other)
}

/// Counts the accepted work that has not ended.
pub(crate) fn count_open(database: &PostgresDatabase) -> io::Result<usize> {
    count(database, "traces", "mode = 'async' AND status NOT IN ('completed', 'failed', 'cancelled')")
}

/// Returns the whole milliseconds of a time, for the figures of a verdict.
pub(crate) fn millis(time: Option<Duration>) -> Value {
    time.map_or(Value::Null, |time| json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
}

/// Lets time pass under load, or between two requests.
pub(crate) fn pause(length: Duration) {
    let end = now() + length;
    loop {
        let left = end.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
