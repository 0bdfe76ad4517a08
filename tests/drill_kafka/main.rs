//! `make drill-kafka`: Kafka ingress under faults. Three processes of one consumer group read eight
//! partitions; with every thousand records two of them are killed or stopped, now and then for longer than a
//! session lasts, and the brokers answer with errors. Every record notifies a witness outside; its log is compared
//! with what was written and with what was committed.
//!
//! The verdict is one JSON document on standard output and in a file; the exit code is 1 if anything was
//! found.

mod broker_front;
mod faults;
mod verdict;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{ClientConfig, TopicPartitionList};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use broker_front::start_front;
use faults::{ProcessFault, ProcessFaultPlan};
use verdict::{CommitReading, DrillEvidence, Effect, judge};

const NODES: usize = 3;
const PARTITIONS: i32 = 8;
const TOPIC: &str = "drill";
const GROUP: &str = "svc";
/// Time after which the group gives a silent member up. The brokers wait almost as long in each rebalance.
const SESSION_MS: &str = "3000";
/// Properties of the client of each node. A member learns of a rebalance with its next sign of life.
const PROPERTIES: &str = "[kafka.extra_config]\n\"heartbeat.interval.ms\" = \"300\"\n";
/// Longest time without any progress.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest wait for an answer of the brokers.
const ANSWER: Duration = Duration::from_secs(30);

type AnyError = Box<dyn Error>;
type Effects = Arc<Mutex<Vec<Effect>>>;

fn main() -> Result<ExitCode, AnyError> {
    let mut args = std::env::args_os().skip(1);
    let binary = args.next().map(PathBuf::from);
    let records = args.next().and_then(|count| count.to_str()?.parse().ok());
    let (Some(binary), Some(records), Some(file)) = (binary, records, args.next()) else {
        return Err("usage: drill-kafka SVC_SERVER_BINARY RECORDS VERDICT_FILE".into());
    };
    let evidence = drill(&binary, records)?;
    let verdict = judge(&evidence, 3);
    Ok(verdict.publish(&file)?)
}

#[expect(clippy::disallowed_methods, reason = "the drill moves no clock, and runs beside no actor")]
fn drill(binary: &Path, records: i64) -> Result<DrillEvidence, AnyError> {
    let cluster: MockCluster<'_, DefaultProducerContext> = MockCluster::new(3)?;
    cluster.create_topic(TOPIC, PARTITIONS, 3)?;
    let brokers = cluster.bootstrap_servers();
    let front = start_front(&brokers)?;
    let written = write(&brokers, records)?;
    let effects = Effects::default();
    let witness = witness(&effects)?;
    let mut nodes: Vec<Option<ServerProcess>> =
        (0..NODES).map(|_| start(binary, &front, &witness).map(Some)).collect::<Result<_, _>>()?;
    let watcher = watcher(&brokers)?;
    let mut evidence = DrillEvidence { written, ..DrillEvidence::default() };
    let mut plan = ProcessFaultPlan::new(NODES, Instant::now());
    let (mut progress_at, mut progress) = (Instant::now(), 0);
    let mut committed = 0;
    while committed < records {
        if let Some(known) = read_commits(&watcher, &effects, &mut evidence)? {
            committed = known;
        }
        let effect_count = count(&effects);
        if effect_count != progress {
            (progress, progress_at) = (effect_count, Instant::now());
        }
        if progress_at.elapsed() > PATIENCE {
            // What is missing is for the judge to see.
            break;
        }
        while let Some(fault) = plan.take_due(Instant::now(), committed) {
            carry_out(fault, &mut nodes, &mut evidence)?;
            if !matches!(fault, ProcessFault::Continue(_)) {
                inject_errors(&cluster, evidence.kills + evidence.pauses, &mut evidence);
            }
        }
        wait_until(Duration::from_millis(100), || Ok(false))?;
    }
    for node in plan.stopped_nodes() {
        signal(&nodes, node, "CONT")?;
    }
    drop(nodes);
    evidence.effects = effects.lock().clone();
    Ok(evidence)
}

/// Kills, stops or continues a process.
fn carry_out(
    fault: ProcessFault,
    nodes: &mut [Option<ServerProcess>],
    evidence: &mut DrillEvidence,
) -> io::Result<()> {
    match fault {
        ProcessFault::Kill(index) => {
            if let Some(node) = nodes[index].take() {
                nodes[index] = Some(node.crash_and_restart()?);
                evidence.kills += 1;
            }
            Ok(())
        }
        ProcessFault::Stop(index) => {
            evidence.pauses += 1;
            signal(nodes, index, "STOP")
        }
        ProcessFault::Continue(index) => signal(nodes, index, "CONT"),
    }
}

/// Writes the records, evenly over the partitions.
fn write(brokers: &str, records: i64) -> Result<BTreeMap<i32, i64>, AnyError> {
    let producer: ThreadedProducer<DefaultProducerContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).set("acks", "all").create()?;
    let mut written = BTreeMap::new();
    for number in 0..records {
        let partition = i32::try_from(number % i64::from(PARTITIONS))?;
        let value = json!({"n": number}).to_string();
        let record: BaseRecord<'_, (), str> = BaseRecord::to(TOPIC).partition(partition).payload(&value);
        producer.send(record).map_err(|(error, _)| error)?;
        *written.entry(partition).or_default() += 1;
        if number % 1000 == 0 {
            producer.flush(ANSWER)?;
        }
    }
    producer.flush(ANSWER)?;
    Ok(written)
}

/// Starts the witness: each request is an effect.
fn witness(effects: &Effects) -> io::Result<Upstream> {
    let effects = Arc::clone(effects);
    Upstream::start(move |request| {
        let record: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let partition = record["kafka_partition"].as_i64().and_then(|number| i32::try_from(number).ok());
        if let (Some(partition), Some(offset)) = (partition, record["kafka_offset"].as_i64()) {
            effects.lock().push(Effect { partition, offset });
        }
        UpstreamReply::new(200, "{}")
    })
}

/// Starts a process of the group that notifies the witness of every record.
fn start(binary: &Path, brokers: &str, witness: &Upstream) -> Result<ServerProcess, AnyError> {
    let launch = ServerCommand::new(binary)?;
    let file = launch.directory().join("svc.toml");
    fs::write(&file, PROPERTIES)?;
    let server = launch
        .args(&["-c", &file.display().to_string()])
        .env("RUST_LOG", "warn")
        .env("SVC_KAFKA__ENABLED", "true")
        .env("SVC_KAFKA__BROKERS", brokers)
        .env("SVC_KAFKA__SESSION_TIMEOUT_MS", SESSION_MS)
        .start()?;
    let mut client = server.client();
    let config = json!({"url": witness.url(""), "allow_private_urls": true, "retry": {"max_retries": 2}});
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "http", "config": config});
    client.json("POST", "/api/v1/admin/connectors", &connector)?;
    let call = json!({"connector": "witness", "method": "POST", "body_logic": {"var": "metadata"}});
    let workflow = json!({"workflow_id": "tell", "name": "tell", "tasks": [
        {"id": "tell", "name": "Tell", "function": {"name": "http_call", "input": call}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow)?;
    let channel = json!({"channel_id": "drill", "name": "drill", "channel_type": "async", "protocol": "kafka",
        "topic": TOPIC, "workflow_id": "tell", "config": {"tracing": {"mode": "off"}}});
    create_and_activate(&mut client, "channels", "channel_id", &channel)?;
    Ok(server)
}

fn watcher(brokers: &str) -> Result<BaseConsumer, AnyError> {
    Ok(ClientConfig::new().set("bootstrap.servers", brokers).set("group.id", GROUP).create()?)
}

/// Reads the committed offsets, then the number of effects; returns the number of committed records, if the brokers
/// answer.
fn read_commits(
    watcher: &BaseConsumer,
    effects: &Effects,
    evidence: &mut DrillEvidence,
) -> Result<Option<i64>, AnyError> {
    let mut partitions = TopicPartitionList::new();
    partitions.add_partition_range(TOPIC, 0, PARTITIONS - 1);
    // Brokers that were told to fail answer the next time.
    let Ok(known) = watcher.committed_offsets(partitions, ANSWER) else { return Ok(None) };
    let effect_count = count(effects);
    let mut records = 0;
    for element in known.elements() {
        let (partition, committed) = (element.partition(), element.offset().to_raw().unwrap_or(0).max(0));
        records += committed.min(evidence.written.get(&partition).copied().unwrap_or_default());
        evidence.readings.push(CommitReading { partition, committed, effects: effect_count });
    }
    Ok(Some(records))
}

fn count(effects: &Effects) -> usize {
    effects.lock().len()
}

fn signal(nodes: &[Option<ServerProcess>], index: usize, name: &str) -> io::Result<()> {
    nodes[index].as_ref().map_or(Ok(()), |node| node.signal(name))
}

/// Lets the brokers answer the next requests of one kind with an error that passes.
fn inject_errors(
    cluster: &MockCluster<'_, DefaultProducerContext>,
    round: usize,
    evidence: &mut DrillEvidence,
) {
    let (key, error) = match round % 3 {
        0 => (RDKafkaApiKey::OffsetCommit, RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT),
        1 => (RDKafkaApiKey::Fetch, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION),
        _ => (RDKafkaApiKey::Heartbeat, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_COORDINATOR),
    };
    cluster.request_errors(key, &[error; 3]);
    evidence.broker_errors += 3;
}
