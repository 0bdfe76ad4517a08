//! A topic of brokers that librdkafka plays in this process: records that are written in order, and the order in which
//! their runs reached the witness.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use serde_json::{Value, json};
use svc_testkit::nodes::pause;
use svc_testkit::witness::WitnessedRun;

use crate::cluster::NODES;

/// The topic.
const TOPIC: &str = "drill";
/// Partitions: one for each node, so that the node that is killed reads one.
const PARTITIONS: i32 = NODES as i32;
/// Records that are written to each partition in a second.
const PACE: u64 = 100;
/// Longest wait for an answer of the brokers.
const ANSWER: Duration = Duration::from_secs(30);
/// Records of a partition that run again at most when another member reads it: those that were begun and are not known
/// to be committed. The brokers that librdkafka plays refuse every commit of a group that rebalances.
const REPEATED_BY_REBALANCE: usize = 512;
/// Kind of the names by which the runs of records report.
pub(crate) const RECORD: &str = "record";

/// The topic, with its brokers.
pub(crate) struct DrillTopic {
    brokers: MockCluster<'static, DefaultProducerContext>,
}

/// The thread that writes records.
pub(crate) struct RecordWriter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<i64>>,
}

/// The order in which the runs of records began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordOrder {
    /// Records that ran before one that precedes them.
    pub(crate) early: Vec<String>,
    /// Records that never ran.
    pub(crate) missing: Vec<String>,
    /// Runs that were no first ones.
    pub(crate) repeated: usize,
}

impl DrillTopic {
    pub(crate) fn create() -> io::Result<Self> {
        let brokers = MockCluster::new(1).map_err(io::Error::other)?;
        brokers.create_topic(TOPIC, PARTITIONS, 1).map_err(io::Error::other)?;
        Ok(Self { brokers })
    }

    /// Returns the addresses of the brokers.
    pub(crate) fn addresses(&self) -> String {
        self.brokers.bootstrap_servers()
    }

    /// Returns the channel that takes the records of the topic.
    pub(crate) fn channel(id: &str, workflow: &str) -> Value {
        json!({"channel_id": id, "name": id, "channel_type": "async", "protocol": "kafka", "topic": TOPIC,
            "workflow_id": workflow, "config": {"tracing": {"mode": "off"}}})
    }

    /// Returns the body by which a run reports its partition and its offset.
    pub(crate) fn body() -> Value {
        let [partition, offset] =
            ["kafka_partition", "kafka_offset"].map(|name| json!({"var": format!("metadata.{name}")}));
        json!({"occurrence_id": {"cat": [RECORD, "-", partition, "-", offset]}})
    }

    /// Starts a writer.
    pub(crate) fn start_writer(&self) -> RecordWriter {
        let stop = Arc::new(AtomicBool::new(false));
        let (is_over, brokers) = (Arc::clone(&stop), self.addresses());
        let thread = thread::spawn(move || write(&brokers, &is_over).map_err(io::Error::other));
        RecordWriter { stop, thread }
    }
}

/// Writes one record after the other to each partition, until it is to stop. Returns the records of each partition.
fn write(brokers: &str, is_over: &AtomicBool) -> Result<i64, rdkafka::error::KafkaError> {
    let producer: ThreadedProducer<DefaultProducerContext> =
        ClientConfig::new().set("bootstrap.servers", brokers).set("acks", "all").create()?;
    let mut written = 0;
    while !is_over.load(Ordering::Relaxed) {
        for partition in 0..PARTITIONS {
            let value = json!({"n": written}).to_string();
            let record: BaseRecord<'_, (), str> = BaseRecord::to(TOPIC).partition(partition).payload(&value);
            producer.send(record).map_err(|(error, _)| error)?;
        }
        written += 1;
        pause(Duration::from_micros(1_000_000 / PACE));
    }
    producer.flush(ANSWER)?;
    Ok(written)
}

impl RecordWriter {
    /// Ends the writer. Returns the number of records of each partition.
    pub(crate) fn stop(self) -> io::Result<BTreeMap<i32, i64>> {
        self.stop.store(true, Ordering::Relaxed);
        let written =
            self.thread.join().map_err(|_| io::Error::other("the writer of records panicked"))??;
        Ok((0..PARTITIONS).map(|partition| (partition, written)).collect())
    }
}

/// Returns the partition and the offset that a run reported.
fn parse(run: &WitnessedRun) -> Option<(i32, i64)> {
    let (partition, offset) = run.occurrence.strip_prefix(RECORD)?.strip_prefix('-')?.split_once('-')?;
    Some((partition.parse().ok()?, offset.parse().ok()?))
}

/// Returns the order of the runs, which are given as they began.
pub(crate) fn find_order(runs: &[WitnessedRun], written: &BTreeMap<i32, i64>) -> RecordOrder {
    let (mut order, mut next) = (RecordOrder::default(), BTreeMap::<i32, i64>::new());
    let mut seen = HashSet::new();
    for (partition, offset) in runs.iter().filter_map(parse) {
        if !seen.insert((partition, offset)) {
            order.repeated += 1;
            continue;
        }
        let due = next.entry(partition).or_default();
        if offset != *due {
            order.early.push(format!("partition {partition}: offset {offset} before {due}"));
        }
        *due = (*due).max(offset + 1);
    }
    let all = written.iter().flat_map(|(partition, count)| (0..*count).map(|offset| (*partition, offset)));
    let missing = all.filter(|record| !seen.contains(record));
    order.missing = missing.map(|(partition, offset)| format!("partition {partition}: {offset}")).collect();
    order
}

/// Returns the number of records that so many rebalances may have had run again.
pub(crate) const fn most_repeated(rebalances: usize) -> usize {
    rebalances * NODES * REPEATED_BY_REBALANCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetitions::answered_run;

    #[test]
    fn early_missing_and_repeated_records_are_found() {
        let names = ["record-0-0", "job-7", "record-0-1", "record-1-1", "record-0-1", "record-0-2"];
        let runs: Vec<_> = names.iter().map(|name| answered_run(name, Duration::ZERO)).collect();
        let order = find_order(&runs, &BTreeMap::from([(0, 3), (1, 2)]));
        assert_eq!(order.early, ["partition 1: offset 1 before 0"]);
        assert_eq!((order.missing, order.repeated), (vec!["partition 1: 0".to_owned()], 1));
    }
}
