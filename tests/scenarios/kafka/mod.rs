//! Kafka ingress: the real binary against a cluster that librdkafka plays in this process.

mod broker;
mod control;
mod groups;
mod hostile;
mod outcomes;
mod partitions;
mod refusals;
mod spans;
mod wire;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Deref;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{eventually, launch};

const ADMIN: &str = "/api/v1/admin";
/// Longest wait for an answer of the cluster.
const PATIENCE: Duration = Duration::from_secs(30);
/// The topic of dead letters.
const DEAD: &str = "svc-dlq";

/// A client of a cluster: writes records, reads them back, and looks at what is committed.
struct ClusterClient {
    config: ClientConfig,
    producer: ThreadedProducer<DefaultProducerContext>,
    /// Reads the committed offsets of groups, by their names; a member of none.
    watchers: RefCell<HashMap<String, BaseConsumer>>,
}

/// A cluster of one broker, and a client of it.
struct Cluster {
    mock: MockCluster<'static, DefaultProducerContext>,
    client: ClusterClient,
}

impl Deref for Cluster {
    type Target = ClusterClient;

    fn deref(&self) -> &ClusterClient {
        &self.client
    }
}

/// A record as it is read back.
#[derive(Debug)]
struct ReadRecord {
    key: Option<String>,
    value: Value,
    headers: Vec<(String, String)>,
}

impl Cluster {
    /// Starts a cluster with these topics and their numbers of partitions, and the topic of dead letters.
    fn start(topics: &[(&str, i32)]) -> Self {
        let mock = MockCluster::new(1).unwrap();
        for (topic, partitions) in topics.iter().chain(&[(DEAD, 1)]) {
            mock.create_topic(topic, *partitions, 1).unwrap();
        }
        let client = ClusterClient::new(&mock.bootstrap_servers(), &[]);
        Self { mock, client }
    }
}

impl ClusterClient {
    fn new(brokers: &str, properties: &[(&str, &str)]) -> Self {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", brokers);
        for (name, value) in properties {
            config.set(*name, *value);
        }
        let producer = config.clone().set("message.max.bytes", "20000000").create().unwrap();
        Self { config, producer, watchers: RefCell::default() }
    }

    /// Writes a record to partition 0.
    fn send(&self, topic: &str, value: &str) {
        self.send_to(topic, 0, None, Some(value.as_bytes()), &[]);
    }

    fn send_to(
        &self,
        topic: &str,
        partition: i32,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&str, &[u8])],
    ) {
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).partition(partition);
        (record.key, record.payload) = (key, value);
        let headers = headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
            headers.insert(Header { key, value: Some(*value) })
        });
        self.producer.send(record.headers(headers)).map_err(|(error, _)| error).unwrap();
        self.producer.flush(PATIENCE).unwrap();
    }

    fn reader(&self, group: &str) -> BaseConsumer {
        self.config.clone().set("group.id", group).create().unwrap()
    }

    /// Reads the committed offset of a partition in the group of the service; 0 without one.
    fn committed_offset(&self, topic: &str, partition: i32) -> i64 {
        self.committed_by("svc", topic, partition)
    }

    fn committed_by(&self, group: &str, topic: &str, partition: i32) -> i64 {
        let mut partitions = TopicPartitionList::new();
        partitions.add_partition(topic, partition);
        let mut watchers = self.watchers.borrow_mut();
        let watcher = watchers.entry(group.to_owned()).or_insert_with(|| self.reader(group));
        let offsets = watcher.committed_offsets(partitions, PATIENCE).unwrap();
        offsets.find_partition(topic, partition).and_then(|found| found.offset().to_raw()).unwrap_or(0).max(0)
    }

    /// Commits an offset for a group without members.
    fn commit(&self, group: &str, topic: &str, partition: i32, offset: i64) {
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(topic, partition, Offset::Offset(offset)).unwrap();
        self.reader(group).commit(&offsets, CommitMode::Sync).unwrap();
    }

    /// Waits until the offset of a partition is committed.
    fn wait_committed(&self, topic: &str, partition: i32, offset: i64) {
        eventually(|| self.committed_offset(topic, partition) >= offset);
        assert_eq!(self.committed_offset(topic, partition), offset);
    }

    /// Reads the first records of partition 0 of a topic.
    fn read(&self, topic: &str, count: usize) -> Vec<ReadRecord> {
        let reader = self.reader("test-reader");
        let mut from = TopicPartitionList::new();
        from.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
        reader.assign(&from).unwrap();
        let mut read = Vec::new();
        while read.len() < count {
            let record = reader.poll(PATIENCE).expect("a record comes in time").unwrap();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let headers = record.headers().map(|headers| {
                let texts = headers.iter().map(|header| (header.key.to_owned(), text(header.value.unwrap())));
                texts.collect()
            });
            read.push(ReadRecord {
                key: record.key().map(text),
                value: serde_json::from_slice(record.payload().unwrap()).unwrap(),
                headers: headers.unwrap_or_default(),
            });
        }
        read
    }
}

/// A server that reads this cluster, not yet started.
fn launch_at(cluster: &ClusterClient) -> ServerCommand {
    launch()
        .env("SVC_KAFKA__ENABLED", "true")
        .env("SVC_KAFKA__BROKERS", cluster.config.get("bootstrap.servers").unwrap())
        .env("SVC_KAFKA__SESSION_TIMEOUT_MS", "6000")
        .env("SVC_KAFKA__LAG_POLL_INTERVAL_SECS", "1")
        .env("SVC_METRICS__ENABLED", "true")
}

fn with_dead_letters(launch: ServerCommand) -> ServerCommand {
    launch.env("SVC_KAFKA__DLQ__ENABLED", "true")
}

/// Sets properties of the client.
fn with_properties(launch: ServerCommand, properties: &[(&str, &str)]) -> ServerCommand {
    let path = launch.directory().join("svc.toml");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "[kafka.extra_config]").unwrap();
    for (name, value) in properties {
        writeln!(file, "\"{name}\" = \"{value}\"").unwrap();
    }
    let path = path.to_str().unwrap().to_owned();
    launch.args(&["-c", &path])
}

/// A channel that takes the records of a topic.
fn topic_channel(id: &str, topic: &str, workflow: &str, config: Value) -> Value {
    json!({"channel_id": id, "name": id, "channel_type": "async", "protocol": "kafka", "topic": topic,
        "workflow_id": workflow, "config": config})
}

fn activate(client: &mut HttpClient, kind: &str, id_key: &str, document: &Value) {
    create_and_activate(client, kind, id_key, document).expect("it is served");
}

/// Serves a workflow of these tasks behind a channel of the same id that takes the records of a topic.
fn serve_topic(client: &mut HttpClient, id: &str, topic: &str, config: Value, tasks: Value) {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
    activate(client, "workflows", "workflow_id", &workflow);
    activate(client, "channels", "channel_id", &topic_channel(id, topic, id, config));
}

/// A task that sends an upstream its metadata and its payload.
fn tell() -> Value {
    json!([{"id": "tell", "name": "Tell", "function": {"name": "http_call", "input": {"connector": "sink",
        "method": "POST", "body_logic": {"merge": [[{"var": "metadata"}], [{"var": "payload"}]]}}}}])
}

/// A task that fails for a payload without a number `n`.
fn multiply() -> Value {
    json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.n", "logic": {"*": [{"var": "payload.n"}, 2]}}]}}}])
}

/// Stores the connector of [`tell`].
fn connect_sink(client: &mut HttpClient, sink: &Upstream) {
    let config = json!({"url": sink.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "sink", "name": "sink", "connector_type": "http", "config": config});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn sink() -> Upstream {
    Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap()
}

/// Returns the metadata and the payload that each run sent, in the order of arrival.
fn reported_runs(sink: &Upstream) -> Vec<(Value, Value)> {
    let requests = sink.requests();
    requests
        .iter()
        .map(|request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            (body[0].clone(), body[1].clone())
        })
        .collect()
}

fn run_keys(sink: &Upstream) -> Vec<String> {
    reported_runs(sink)
        .iter()
        .map(|(metadata, _)| metadata["run"]["key"].as_str().unwrap().to_owned())
        .collect()
}

fn partitions(client: &mut HttpClient) -> Vec<Value> {
    let listed = client.get(&format!("{ADMIN}/kafka/partitions")).unwrap();
    assert_eq!(listed.status, 200, "{}", listed.text());
    listed.json()["data"].as_array().unwrap().clone()
}

/// Waits until a partition shows a state, and returns it.
fn wait_state(client: &mut HttpClient, partition: i64, state: &str) -> Value {
    let mut value = Value::Null;
    eventually(|| {
        let listed = partitions(client);
        value = listed.into_iter().find(|row| row["partition"] == partition).unwrap_or_default();
        value["state"] == state
    });
    value
}

fn traces(client: &mut HttpClient, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{ADMIN}/traces?{query}")).unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["data"].as_array().unwrap().clone()
}

/// Returns the value of a series.
fn metric(client: &mut HttpClient, series: &str) -> Option<f64> {
    let text = client.get("/metrics").unwrap().text();
    text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

/// Returns the number of log lines that contain a text.
fn lines_with(server: &ServerProcess, text: &str) -> usize {
    server.log_text().lines().filter(|line| line.contains(text)).count()
}

/// Checks that one line of the log contains a text, once the line is written.
#[track_caller]
fn logged_once(server: &ServerProcess, text: &str) {
    server.wait_for_log(&[text]).unwrap();
    assert_eq!(lines_with(server, text), 1, "{text}");
}

/// Ends a server in order.
fn end(mut server: ServerProcess) {
    server.signal("TERM").unwrap();
    assert!(server.wait(PATIENCE).unwrap().success());
}
