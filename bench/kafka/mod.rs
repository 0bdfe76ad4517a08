//! Kafka ingress compared with a bare consumer that parses and commits: records a second, latency at half load; and
//! publishing compared with a bare producer.
//!
//! The brokers are librdkafka's mock cluster in this process: both sides pay for them alike. Every measurement
//! has a cluster of its own, so that no side meets what another has left.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench measures real time, and its yardstick has no supervision"
)]

mod backlog;
mod latency;
mod publishing;
pub(crate) mod soak;

use std::io;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{DefaultProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::BenchContext;

/// Numbers of partitions.
const PARTITIONS: [i32; 2] = [1, 8];
/// Longest wait for the brokers.
const PATIENCE: Duration = Duration::from_secs(30);
/// Records of the bare consumer between two commits.
const COMMIT_EVERY: i32 = 500;

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// One side of the comparison.
#[derive(Clone, Copy)]
enum Side {
    Bare,
    /// The service with this mode of its traces.
    Service(&'static str),
}

/// The sides, their names in the report, and the aim of each: a ratio to the bare consumer.
const SIDES: [(&str, Side, Option<&str>); 4] = [
    ("bare consumer", Side::Bare, None),
    ("traces off", Side::Service("off"), Some("0.6")),
    ("traces in batches", Side::Service("batch"), Some("0.35")),
    ("traces on disk before a commit", Side::Service("sync"), Some("0.35")),
];

/// Measures every side with each number of partitions, then publishing.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    for partitions in PARTITIONS {
        let rates = backlog::measure(setting, partitions)?;
        latency::measure(setting, partitions, &rates)?;
    }
    publishing::measure(setting)
}

/// A cluster of one broker with a topic `orders`.
fn start_cluster(partitions: i32) -> io::Result<(Cluster, String)> {
    let cluster = Cluster::new(1).map_err(io_error)?;
    cluster.create_topic("orders", partitions, 1).map_err(io_error)?;
    let brokers = cluster.bootstrap_servers();
    Ok((cluster, brokers))
}

/// The value of a record.
fn order(number: i32) -> String {
    json!({"order_id": format!("A-{number}"), "qty": 3, "price": 50}).to_string()
}

/// A server of these brokers, not yet started.
fn launch(setting: &BenchContext, brokers: &str) -> io::Result<ServerCommand> {
    Ok(setting.launch()?.env("SVC_KAFKA__ENABLED", "true").env("SVC_KAFKA__BROKERS", brokers))
}

/// A server that takes the records of `orders` through a small workflow.
fn serve(setting: &BenchContext, brokers: &str, traces: &str) -> io::Result<ServerProcess> {
    let server = launch(setting, brokers)?.start()?;
    let total = json!({"mappings": [{"path": "data.total", "logic":
        {"*": [{"var": "payload.qty"}, {"var": "payload.price"}]}}]});
    let tasks = json!([{"id": "total", "name": "Total", "function": {"name": "map", "input": total}}]);
    create_channel(&mut server.client(), "orders", "kafka", traces, &tasks)?;
    Ok(server)
}

/// Creates a workflow and a channel of this name; one of `kafka` takes the records of the topic of its name.
fn create_channel(
    client: &mut HttpClient,
    name: &str,
    protocol: &str,
    traces: &str,
    tasks: &Value,
) -> io::Result<()> {
    let workflow = json!({"workflow_id": name, "name": name, "tasks": tasks});
    create_and_activate(client, "workflows", "workflow_id", &workflow)?;
    let kind = if protocol == "kafka" { "async" } else { "sync" };
    let mut channel = json!({"channel_id": name, "name": name, "channel_type": kind, "protocol": protocol,
        "workflow_id": name, "config": {"tracing": {"mode": traces}}});
    if protocol == "kafka" {
        channel["topic"] = name.into();
    } else {
        channel["methods"] = json!(["POST"]);
        channel["route_pattern"] = format!("/{name}").into();
    }
    create_and_activate(client, "channels", "channel_id", &channel).map(drop)
}

/// A bare consumer of `orders`.
fn bare_consumer(brokers: &str) -> io::Result<BaseConsumer> {
    let mut config = client(brokers);
    config.set("group.id", "svc").set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = config.create().map_err(io_error)?;
    consumer.subscribe(&["orders"]).map_err(io_error)?;
    Ok(consumer)
}

fn commit(consumer: &BaseConsumer, mode: CommitMode) -> io::Result<()> {
    use rdkafka::error::RDKafkaErrorCode::NoOffset;
    match consumer.commit_consumer_state(mode) {
        // An earlier commit covered everything.
        Err(error) if error.rdkafka_error_code() != Some(NoOffset) => Err(io_error(error)),
        _ => Ok(()),
    }
}

/// Reads what a group has committed.
struct CommitWatcher {
    consumer: BaseConsumer,
    partitions: i32,
}

impl CommitWatcher {
    fn new(brokers: &str, partitions: i32) -> io::Result<Self> {
        let consumer = client(brokers).set("group.id", "svc").create().map_err(io_error)?;
        Ok(Self { consumer, partitions })
    }

    /// Returns the committed offset of each partition.
    fn offsets(&self) -> io::Result<Vec<i64>> {
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range("orders", 0, self.partitions - 1);
        let known = self.consumer.committed_offsets(asked, PATIENCE).map_err(io_error)?;
        Ok(known.elements().iter().map(|element| element.offset().to_raw().unwrap_or(0).max(0)).collect())
    }

    fn total(&self) -> io::Result<i64> {
        Ok(self.offsets()?.iter().sum())
    }
}

fn producer(brokers: &str, linger_ms: &str) -> io::Result<ThreadedProducer<DefaultProducerContext>> {
    client(brokers).set("linger.ms", linger_ms).create().map_err(io_error)
}

fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config
}

fn io_error(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}
