//! The nodes of a drill, the orders that they get, and their kills.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron;
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{DatabaseNodes, PATIENCE, now, pause, read_number};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::ServerCommand;
use svc_testkit::witness::RunWitness;

/// Nodes of the cluster.
pub(crate) const NODES: usize = 3;
/// Workers of each node.
pub(crate) const WORKERS: usize = 16;
/// Runs of one node that have begun and whose ends are not written: so many of each worker.
pub(crate) const IN_FLIGHT: usize = WORKERS * 64;
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
    nodes: DatabaseNodes,
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
        let launch = || -> io::Result<ServerCommand> {
            let launch = cron::node(ServerCommand::new(binary)?, database)
                .env("SVC_TRACE_QUEUE__WORKERS", &WORKERS.to_string());
            Ok(SETTINGS.iter().chain(settings).fold(launch, |launch, (name, value)| launch.env(name, value)))
        };
        let nodes = DatabaseNodes::start(NODES, launch)?;
        Ok(Self { nodes, witness: Arc::clone(witness), kills: Vec::new() })
    }

    /// Returns the address of every node. A node keeps it over its restarts.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.addresses().to_vec()
    }

    pub(crate) fn client(&self, node: usize) -> HttpClient {
        self.nodes.client(node)
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
        self.nodes.wait_until_served(database)
    }

    /// Returns the sum of the samples of a metric at each node, which serves its metrics.
    pub(crate) fn read_metric(&self, name: &str) -> io::Result<Vec<u64>> {
        let read = |address| -> io::Result<u64> {
            let page = HttpClient::new(address).get("/metrics")?;
            page.expect_status(200)?;
            Ok(sum_samples(&page.text(), name))
        };
        self.addresses().into_iter().map(read).collect()
    }

    /// Kills a node, like a power cut, starts it again, and waits until it is ready.
    pub(crate) fn kill(&mut self, node: usize) -> io::Result<()> {
        self.kills.push(self.witness.now());
        self.nodes.kill(node)
    }

    /// Stops a node as an operator does, starts it again, and waits until it is ready.
    pub(crate) fn restart(&mut self, node: usize) -> io::Result<()> {
        self.nodes.restart(node)
    }

    /// Returns the node with this id, if it runs.
    pub(crate) fn find_node(&self, id: &str) -> io::Result<Option<usize>> {
        let listed = self.read("nodes")?;
        let rows = listed["data"].as_array();
        let pid = rows.and_then(|rows| rows.iter().find(|row| row["id"] == id)?["pid"].as_u64());
        Ok(pid.and_then(|pid| self.nodes.find(u32::try_from(pid).ok()?)))
    }

    /// Returns the id of the process of a node.
    pub(crate) fn pid(&self, node: usize) -> io::Result<u32> {
        self.nodes.pid(node)
    }

    /// Returns the instants of the kills, by the clock of the witness.
    pub(crate) fn kills(&self) -> &[Duration] {
        &self.kills
    }
}

/// Returns the sum of the samples of a metric on a page of metrics.
fn sum_samples(page: &str, name: &str) -> u64 {
    let samples = page.lines().filter(|line| line.split([' ', '{']).next() == Some(name));
    samples.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_metric_are_summed() {
        let page = "# TYPE svc_kafka_rebalances counter\nsvc_kafka_rebalances_total 3\n\
            svc_kafka_lag{topic=\"a b\",partition=\"0\"} 4\nsvc_kafka_lag{topic=\"a b\",partition=\"1\"} 5\n";
        assert_eq!(sum_samples(page, "svc_kafka_rebalances_total"), 3);
        assert_eq!((sum_samples(page, "svc_kafka_lag"), sum_samples(page, "svc_kafka")), (9, 0));
    }
}
