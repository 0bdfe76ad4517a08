//! The metrics of Kafka ingress.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PartitionLabels {
    topic: String,
    partition: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    topic: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RetryLabels {
    topic: String,
    reason: &'static str,
}

/// The outcome of a record, counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettledAs {
    Completed,
    Duplicate,
    Tombstone,
    DeadLetter,
    Skipped,
}

impl SettledAs {
    const ALL: [Self; 5] =
        [Self::Completed, Self::Duplicate, Self::Tombstone, Self::DeadLetter, Self::Skipped];

    const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Duplicate => "duplicate",
            Self::Tombstone => "tombstone",
            Self::DeadLetter => "dead_letter",
            Self::Skipped => "skipped",
        }
    }
}

/// The reason of another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryReason {
    Failed,
    Deferred,
    DeadLetterWrite,
}

impl RetryReason {
    const ALL: [Self; 3] = [Self::Failed, Self::Deferred, Self::DeadLetterWrite];

    const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Deferred => "deferred",
            Self::DeadLetterWrite => "dead_letter_write",
        }
    }
}

/// The metric families. Cheap to clone; label values are topics of the configuration and of channels, and
/// fixed words.
#[derive(Clone, Debug, Default)]
pub struct KafkaMetrics {
    lag: Family<PartitionLabels, Gauge>,
    records: Family<OutcomeLabels, Counter>,
    retries: Family<RetryLabels, Counter>,
    /// The topics that have series of records and retries, which end when no channel takes their records any more.
    counted: Arc<Mutex<BTreeSet<String>>>,
    pub(crate) degraded: Gauge,
    pub(crate) assigned: Gauge,
    pub(crate) rebalances: Counter,
    pub(crate) failed_commits: Counter,
}

impl KafkaMetrics {
    /// Registers `kafka_…`; the prefix is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "kafka_consumer_lag_messages",
            "Records between the position of this node and the end of a partition",
            self.lag.clone(),
        );
        registry.register(
            "kafka_ingest_degraded",
            "1 while brokers, a consumer or a partition are in trouble",
            self.degraded.clone(),
        );
        registry.register("kafka_records", "Records by topic and outcome, once each", self.records.clone());
        registry.register(
            "kafka_record_retries",
            "Further attempts at records by topic and reason",
            self.retries.clone(),
        );
        registry.register(
            "kafka_assigned_partitions",
            "Partitions that this node reads",
            self.assigned.clone(),
        );
        registry.register("kafka_rebalances", "Changes of the assignment", self.rebalances.clone());
        registry.register(
            "kafka_commit_failures",
            "Commits that the brokers did not take; they are sent again",
            self.failed_commits.clone(),
        );
    }

    pub(crate) fn count_records(&self, topic: &str, settled: SettledAs, count: usize) {
        self.records.get_or_create(&outcome_labels(topic, settled)).inc_by(count as u64);
        self.remember(topic);
    }

    pub(crate) fn count_retry(&self, topic: &str, reason: RetryReason) {
        self.retries.get_or_create(&retry_labels(topic, reason)).inc();
        self.remember(topic);
    }

    pub(crate) fn record_lag(&self, topic: &str, partition: i32, lag: i64) {
        self.lag.get_or_create(&PartitionLabels { topic: topic.to_owned(), partition }).set(lag);
    }

    /// Shows every outcome of a topic that this node reads, so that its first dead letter is a rise.
    pub(crate) fn show_topic(&self, topic: &str) {
        for settled in SettledAs::ALL {
            self.count_records(topic, settled, 0);
        }
    }

    /// Drops the series of the topics that `is_kept` does not accept.
    pub(crate) fn retain_topics(&self, is_kept: impl Fn(&str) -> bool) {
        self.counted.lock().retain(|topic| {
            let is_kept = is_kept(topic);
            if !is_kept {
                for settled in SettledAs::ALL {
                    self.records.remove(&outcome_labels(topic, settled));
                }
                for reason in RetryReason::ALL {
                    self.retries.remove(&retry_labels(topic, reason));
                }
            }
            is_kept
        });
    }

    /// Remembers a topic once it has series.
    fn remember(&self, topic: &str) {
        let mut counted = self.counted.lock();
        if !counted.contains(topic) {
            counted.insert(topic.to_owned());
        }
    }

    /// Drops the series of a partition that this node does not read any more.
    pub(crate) fn forget_partition(&self, topic: &str, partition: i32) {
        self.lag.remove(&PartitionLabels { topic: topic.to_owned(), partition });
    }
}

fn outcome_labels(topic: &str, settled: SettledAs) -> OutcomeLabels {
    OutcomeLabels { topic: topic.to_owned(), outcome: settled.name() }
}

fn retry_labels(topic: &str, reason: RetryReason) -> RetryLabels {
    RetryLabels { topic: topic.to_owned(), reason: reason.name() }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn series_of_a_topic_end_with_its_route() {
        let metrics = KafkaMetrics::default();
        for topic in ["orders", "gone"] {
            metrics.count_records(topic, SettledAs::Completed, 1);
            metrics.count_retry(topic, RetryReason::Deferred);
        }
        metrics.retain_topics(|topic| topic == "orders");
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for family in ["kafka_records_total", "kafka_record_retries_total"] {
            assert!(text.contains(&format!("{family}{{topic=\"orders\"")), "{family}: {text}");
        }
        assert!(!text.contains("gone"), "{text}");
    }

    #[test]
    fn outcomes_are_shown_before_the_first_record() {
        let metrics = KafkaMetrics::default();
        metrics.count_records("orders", SettledAs::Completed, 2);
        metrics.show_topic("orders");
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for (outcome, count) in [("completed", 2), ("dead_letter", 0), ("skipped", 0)] {
            let sample = format!("kafka_records_total{{topic=\"orders\",outcome=\"{outcome}\"}} {count}");
            assert!(text.contains(&sample), "{sample}: {text}");
        }
    }
}
