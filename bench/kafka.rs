//! Records a second of Kafka ingress, beside a bare consumer that parses and commits.
//!
//! The brokers are librdkafka's mock cluster in this process: both sides pay for them alike. Every measurement
//! reads a topic of its own that was filled before, with a consumer group of its own, from the first commit or
//! record to the last: the time in which a group comes together does not count.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench measures real time, and its yardstick has no supervision"
)]

use std::io;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::Message;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;

use crate::BenchContext;
use crate::process::let_run;

/// Records of one measurement: as many as a partition of the mock cluster holds.
const RECORDS: i32 = 40_000;
/// Numbers of partitions.
const PARTITIONS: [i32; 2] = [1, 8];
/// Rounds of each side; the median counts.
const ROUNDS: usize = 3;
/// Records of the bare consumer between two commits.
const COMMIT_EVERY: i32 = 500;
/// Longest wait for the brokers.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time of one measurement.
const LONGEST: Duration = Duration::from_secs(180);

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// One side of the comparison.
#[derive(Clone, Copy)]
enum Side {
    Bare,
    /// The service with this mode of its traces.
    Service(&'static str),
}

const SIDES: [(&str, Side); 4] = [
    ("bare consumer", Side::Bare),
    ("traces off", Side::Service("off")),
    ("traces in batches", Side::Service("batch")),
    ("traces on disk before a commit", Side::Service("sync")),
];

/// Measures every side with each number of partitions.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    for partitions in PARTITIONS {
        let mut rates = vec![Vec::new(); SIDES.len()];
        for round in 0..ROUNDS {
            for ((index, (_, side)), rates) in SIDES.iter().enumerate().zip(&mut rates) {
                // A cluster of its own, so that no side meets what another has left.
                let cluster = Cluster::new(1).map_err(io_error)?;
                let topic = format!("orders-{partitions}-{round}-{index}");
                cluster.create_topic(&topic, partitions, 1).map_err(io_error)?;
                let brokers = cluster.bootstrap_servers();
                fill(&brokers, &topic, partitions)?;
                rates.push(match side {
                    Side::Bare => consume(&brokers, &topic)?,
                    Side::Service(traces) => serve(setting, &brokers, &topic, partitions, traces)?,
                });
            }
        }
        let medians: Vec<f64> = rates.into_iter().map(median).collect();
        println!("{RECORDS} records of {partitions} partitions, median of {ROUNDS} alternating rounds");
        println!("  {:<34} {:>10} {:>6}", "", "records/s", "ratio");
        for ((name, _), rate) in SIDES.iter().zip(&medians) {
            println!("  {name:<34} {rate:>10.0} {:>6.2}", rate / medians[0]);
        }
    }
    Ok(())
}

/// Writes the records, evenly over the partitions.
fn fill(brokers: &str, topic: &str, partitions: i32) -> io::Result<()> {
    let producer: ThreadedProducer<DefaultProducerContext> = client(brokers).create().map_err(io_error)?;
    for number in 0..RECORDS {
        let value = json!({"order_id": format!("A-{number}"), "qty": 3, "price": 50}).to_string();
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to(topic).partition(number % partitions).payload(&value);
        producer.send(record).map_err(|(error, _)| io_error(error))?;
    }
    producer.flush(PATIENCE).map_err(io_error)
}

/// Reads and parses every record, and commits; returns the records a second.
fn consume(brokers: &str, topic: &str) -> io::Result<f64> {
    let mut config = client(brokers);
    config.set("group.id", "bare").set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = config.create().map_err(io_error)?;
    consumer.subscribe(&[topic]).map_err(io_error)?;
    let (begin, mut read, mut first) = (Instant::now(), 0, Instant::now());
    while read < RECORDS {
        if begin.elapsed() > LONGEST {
            return Err(io_error("the bare consumer did not read every record in time"));
        }
        // A change of the assignment ends a poll early.
        let Some(record) = consumer.poll(PATIENCE) else { continue };
        let record = record.map_err(io_error)?;
        let value: Value = serde_json::from_slice(record.payload().unwrap_or_default())?;
        std::hint::black_box(value);
        if read == 0 {
            first = Instant::now();
        }
        read += 1;
        if read % COMMIT_EVERY == 0 {
            consumer.commit_consumer_state(CommitMode::Async).map_err(io_error)?;
        }
    }
    consumer.commit_consumer_state(CommitMode::Sync).or_else(ignore_nothing_to_commit)?;
    Ok(f64::from(RECORDS) / first.elapsed().as_secs_f64())
}

/// The last commit may have covered everything.
fn ignore_nothing_to_commit(error: rdkafka::error::KafkaError) -> io::Result<()> {
    use rdkafka::error::RDKafkaErrorCode::NoOffset;
    if error.rdkafka_error_code() == Some(NoOffset) { Ok(()) } else { Err(io_error(error)) }
}

/// Lets a server run every record; returns the records a second, by what is committed.
fn serve(
    setting: &BenchContext,
    brokers: &str,
    topic: &str,
    partitions: i32,
    traces: &str,
) -> io::Result<f64> {
    let server =
        setting.launch()?.env("SVC_KAFKA__ENABLED", "true").env("SVC_KAFKA__BROKERS", brokers).start()?;
    let mut client = server.client();
    let total = json!({"mappings": [{"path": "data.total", "logic":
        {"*": [{"var": "payload.qty"}, {"var": "payload.price"}]}}]});
    let workflow = json!({"workflow_id": "total", "name": "total", "tasks": [
        {"id": "total", "name": "Total", "function": {"name": "map", "input": total}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow)?;
    let channel = json!({"channel_id": "orders", "name": "orders", "channel_type": "async", "protocol": "kafka",
        "topic": topic, "workflow_id": "total", "config": {"tracing": {"mode": traces}}});
    create_and_activate(&mut client, "channels", "channel_id", &channel)?;
    let watcher: BaseConsumer = self::client(brokers).set("group.id", "svc").create().map_err(io_error)?;
    let mut first = None;
    let begin = Instant::now();
    while begin.elapsed() < LONGEST {
        let committed = committed_offsets(&watcher, topic, partitions)?;
        match first {
            None if committed > 0 => first = Some((Instant::now(), committed)),
            Some((at, before)) if committed == i64::from(RECORDS) => {
                let run = f64::from(RECORDS) - i32::try_from(before).map_or(0.0, f64::from);
                return Ok(run / at.elapsed().as_secs_f64());
            }
            _ => let_run(Duration::from_millis(5)),
        }
    }
    Err(io_error("the service did not run every record in time"))
}

/// Reads how many records of a topic are committed.
fn committed_offsets(watcher: &BaseConsumer, topic: &str, partitions: i32) -> io::Result<i64> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range(topic, 0, partitions - 1);
    let known = watcher.committed_offsets(asked, PATIENCE).map_err(io_error)?;
    Ok(known.elements().iter().map(|element| element.offset().to_raw().unwrap_or(0).max(0)).sum())
}

fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers);
    config
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn io_error(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}
