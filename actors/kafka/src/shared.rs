//! The state that the actors of this crate share; it outlives each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use slog::Logger;
use svc_channels::{BatchProgress, RecordBatch, RecordResult, RecordRun, TopicRecord};
use svc_connectors::KafkaProducer;
use svc_registry::{LoadedChannel, Registry, Snapshot};
use svc_spans::{SpanDraft, Spans, TraceContext};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::dead_letter::RecordLetter;
use crate::metrics::KafkaMetrics;
use crate::partition::handle::PartitionHandle;
use crate::partition::trace_shares::TraceShares;
use crate::settings::Settings;
use crate::topic_map::{TopicMap, TopicRoute};

/// The topic of dead letters and its producer, which nothing else uses.
pub(crate) struct DeadLetterTopic {
    pub(crate) topic: String,
    pub(crate) producer: KafkaProducer,
}

/// Shared by every actor of a node.
pub(crate) struct KafkaShared {
    pub(crate) registry: Registry,
    pub(crate) settings: Settings,
    pub(crate) metrics: KafkaMetrics,
    pub(crate) spans: Spans,
    pub(crate) log: Logger,
    pub(crate) dead_letters: Option<DeadLetterTopic>,
    pub(crate) routes: ArcSwap<TopicMap>,
    permits: Semaphore,
    pub(crate) trace_shares: TraceShares,
    groups: Mutex<BTreeMap<Arc<str>, Arc<GroupHandle>>>,
}

impl KafkaShared {
    pub(crate) fn new(
        registry: Registry,
        settings: Settings,
        metrics: KafkaMetrics,
        (spans, log): (Spans, Logger),
    ) -> Self {
        let dead_letters = settings.dead_letter_topic.clone().map(|topic| DeadLetterTopic {
            topic,
            producer: KafkaProducer::new(&settings.cluster, log.clone()),
        });
        Self {
            permits: Semaphore::new(settings.max_parallel_partitions.clamp(1, Semaphore::MAX_PERMITS)),
            registry,
            settings,
            metrics,
            spans,
            log,
            dead_letters,
            routes: ArcSwap::default(),
            trace_shares: TraceShares::default(),
            groups: Mutex::default(),
        }
    }

    /// Runs consecutive records of a partition through the channel of their topic, when it is the partition's
    /// turn, and those that are added to `progress` meanwhile. Their results go to `progress`; returns the
    /// result of the first record instead if no channel can take it.
    pub(crate) async fn run_records(
        &self,
        records: &[Arc<TopicRecord>],
        is_failure_traced: bool,
        progress: &Arc<BatchProgress>,
    ) -> Option<RecordResult> {
        // It is never closed.
        let _turn = self.permits.acquire().await;
        let topic = &*records.first()?.topic;
        let routes = self.routes.load_full();
        let Some(route) = routes.route(topic) else {
            // The consumer is about to give it up.
            let reason = format!("no active channel takes the records of topic '{topic}'");
            return Some(RecordResult::deferred(reason));
        };
        let snapshot = Arc::clone(&self.registry.snapshot());
        match find_channel(&snapshot, route) {
            Some(channel) => {
                let runs = self.record_runs(records, is_failure_traced);
                let batch = RecordBatch::new(runs, Arc::clone(progress));
                self.registry.run_records(channel, batch).await
            }
            None if route.is_configured => Some(RecordResult::failed(format!(
                "channel_unavailable: kafka.topics maps topic '{topic}' to '{}', which is no active channel",
                route.channel
            ))),
            None => {
                let reason = format!("channel '{}' is not active any more", route.channel);
                Some(RecordResult::deferred(reason))
            }
        }
    }

    /// Returns `true` while the channel of a topic is paused.
    pub(crate) fn is_paused(&self, topic: &str) -> bool {
        let snapshot = self.registry.snapshot();
        if !snapshot.has_pauses() {
            return false;
        }
        let routes = self.routes.load();
        let channel = routes.route(topic).and_then(|route| find_channel(&snapshot, route));
        channel.is_some_and(|channel| channel.pause().is_some())
    }

    /// Returns `true` while the channel with this id is paused.
    pub(crate) fn is_paused_id(&self, id: &str) -> bool {
        self.registry.snapshot().pause_of(id).is_some()
    }

    /// Counts a record that is held for the channel of its topic, which may pause itself after several.
    pub(crate) async fn note_held_record(&self, record: &TopicRecord) {
        let TopicRecord { topic, partition, offset, .. } = record;
        let channel = {
            let (routes, snapshot) = (self.routes.load(), self.registry.snapshot());
            routes.route(topic).and_then(|route| find_channel(&snapshot, route)).cloned()
        };
        if let Some(channel) = channel {
            let failure = format!("{topic}/{partition}/{offset}");
            self.registry.note_channel_failure(&channel, &failure).await;
        }
    }

    pub(crate) fn record_runs<'r>(
        &'r self,
        records: &'r [Arc<TopicRecord>],
        is_failure_traced: bool,
    ) -> impl Iterator<Item = RecordRun> + 'r {
        records.iter().map(move |record| RecordRun {
            record: Arc::clone(record),
            limit: self.settings.processing_timeout,
            is_failure_traced,
            trace_context: self.trace_context(record),
        })
    }

    /// Returns the place in a distributed trace that the headers of a record name.
    pub(crate) fn trace_context(&self, record: &TopicRecord) -> TraceContext {
        let headers = record.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        self.spans.extract(headers)
    }

    /// Returns `true` if a record of the topic that fails becomes a dead letter. One of the topic of dead letters
    /// does not: it would come back and fail for ever, each time in one more letter.
    pub(crate) fn writes_letters_of(&self, topic: &str) -> bool {
        self.dead_letters.as_ref().is_some_and(|letters| letters.topic != topic)
    }

    /// Writes a dead letter. Its headers pass `trace_context` on.
    pub(crate) async fn write_letter(
        &self,
        letter: &RecordLetter,
        trace_context: &TraceContext,
    ) -> Result<(), String> {
        let Some(DeadLetterTopic { topic, producer }) = &self.dead_letters else {
            return Err("kafka.dlq.enabled is false".to_owned());
        };
        let mut span = trace_context.begin(|| SpanDraft::publication(Some(topic), None));
        let written = letter.write(producer, topic, span.context()).await;
        if written.is_err() {
            span.fail("not_acknowledged");
        }
        written
    }

    /// Counts a record that is finished and that no channel accounted for, for the channel of its topic.
    pub(crate) fn count_lost_record(&self, topic: &str) {
        let (routes, snapshot) = (self.routes.load(), self.registry.snapshot());
        let channel = routes.route(topic).and_then(|route| find_channel(&snapshot, route));
        self.registry.count_lost_record(channel.map(|channel| channel.name()));
    }

    pub(crate) fn groups(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<GroupHandle>>> {
        self.groups.lock()
    }

    /// Returns the partitions that this node reads, by topic and number.
    pub(crate) fn partitions(&self) -> Vec<Arc<PartitionHandle>> {
        let groups: Vec<_> = self.groups().values().cloned().collect();
        let mut partitions: Vec<_> = groups
            .iter()
            .flat_map(|group| group.partitions().values().cloned().collect::<Vec<_>>())
            .collect();
        partitions.sort_by(|one, other| (&one.topic, one.partition).cmp(&(&other.topic, other.partition)));
        partitions
    }

    /// Returns the troubles of consumers and partitions, and updates the gauge that shows them.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let groups: Vec<_> = self.groups().values().cloned().collect();
        let mut troubles: Vec<String> = groups.iter().flat_map(|group| group.troubles()).collect();
        let now = Instant::now();
        for handle in self.partitions() {
            troubles.extend(handle.unreadable_records().map(|records| {
                let place = format!("topic '{}', partition {}", handle.topic, handle.partition);
                format!(
                    "{place}: the records at offset {} cannot be unpacked: {}",
                    records.offset, records.reason
                )
            }));
            troubles.extend(handle.read(|state, _| {
                let (held, lasting) = state.trouble(now)?;
                Some(format!(
                    "topic '{}', partition {}: the record at offset {} failed {} times in {} seconds: {}",
                    handle.topic,
                    handle.partition,
                    held.offset,
                    held.failures,
                    lasting.as_secs(),
                    held.last_error
                ))
            }));
        }
        troubles
    }
}

/// Returns the active channel that a route leads to.
fn find_channel<'s>(snapshot: &'s Snapshot, route: &TopicRoute) -> Option<&'s Arc<LoadedChannel>> {
    snapshot.channel_by_name(&route.channel).filter(|channel| !channel.is_cron())
}

/// The stage of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupStage {
    /// It consumes.
    Running,
    /// It is to end; records in progress have this long.
    Stopping(Duration),
    /// It has ended. The next instance of its actor consumes again, unless the group is closed.
    Ended,
}

impl GroupStage {
    /// Begins the end of a consumer that runs; returns `false` if it is to end already.
    fn stop(&mut self, limit: Duration) -> bool {
        let begins = *self == Self::Running;
        if begins {
            *self = Self::Stopping(limit);
        }
        begins
    }
}

/// The partitions of a consumer, by topic and number.
type PartitionTable = BTreeMap<(Arc<str>, i32), Arc<PartitionHandle>>;

/// A consumer group: the orders to its consumer, and what others see of it.
pub(crate) struct GroupHandle {
    pub(crate) name: Arc<str>,
    /// The topics to subscribe to.
    pub(crate) topics: watch::Sender<BTreeSet<Arc<str>>>,
    stage: watch::Sender<GroupStage>,
    /// Set once no instance of the consumer may consume any more. Changes with the stage locked.
    is_closed: AtomicBool,
    partitions: Mutex<PartitionTable>,
    /// The reason why the consumer receives nothing.
    trouble: Mutex<Option<String>>,
    /// Topics that cannot be read, with their reasons.
    unreadable: Mutex<Vec<(Arc<str>, String)>>,
}

impl GroupHandle {
    pub(crate) fn new(name: Arc<str>, topics: BTreeSet<Arc<str>>) -> Self {
        Self {
            name,
            topics: watch::Sender::new(topics),
            stage: watch::Sender::new(GroupStage::Running),
            is_closed: AtomicBool::new(false),
            partitions: Mutex::default(),
            trouble: Mutex::default(),
            unreadable: Mutex::default(),
        }
    }

    pub(crate) fn partitions(&self) -> MutexGuard<'_, PartitionTable> {
        self.partitions.lock()
    }

    /// Lets an instance of the consumer run; returns `false` if the group is closed.
    pub(crate) fn open(&self) -> bool {
        self.stage.send_if_modified(|stage| {
            let opens = !self.is_closed.load(Ordering::Acquire);
            if opens {
                *stage = GroupStage::Running;
            }
            opens
        })
    }

    /// Orders this instance of the consumer to end. An earlier order is kept.
    pub(crate) fn stop(&self, limit: Duration) {
        self.stage.send_if_modified(|stage| stage.stop(limit));
    }

    /// Orders the consumer to end for good. An earlier time limit is kept.
    pub(crate) fn close(&self, limit: Duration) {
        self.stage.send_if_modified(|stage| {
            self.is_closed.store(true, Ordering::Release);
            stage.stop(limit)
        });
    }

    /// Notes that the consumer has ended.
    pub(crate) fn end(&self) {
        self.stage.send_replace(GroupStage::Ended);
    }

    /// Waits for the order to end; returns the time that records in progress have.
    pub(crate) async fn wait_until_stopping(&self) -> Duration {
        let mut stages = self.stage.subscribe();
        // The sender is this very value: it cannot be gone.
        let stage = stages.wait_for(|stage| *stage != GroupStage::Running).await;
        match stage.as_deref() {
            Ok(GroupStage::Stopping(limit)) => *limit,
            _ => Duration::ZERO,
        }
    }

    /// Waits until the consumer has ended.
    pub(crate) async fn wait_until_ended(&self) {
        let mut stages = self.stage.subscribe();
        let _ = stages.wait_for(|stage| *stage == GroupStage::Ended).await;
    }

    /// Notes the reason why the consumer receives nothing; returns `true` if it is news.
    pub(crate) fn set_trouble(&self, reason: Option<String>) -> bool {
        let mut trouble = self.trouble.lock();
        let is_news = *trouble != reason;
        *trouble = reason;
        is_news
    }

    /// Notes the topics that cannot be read; returns those that are news.
    pub(crate) fn set_unreadable(&self, topics: Vec<(Arc<str>, String)>) -> Vec<(Arc<str>, String)> {
        let mut unreadable = self.unreadable.lock();
        let news = topics.iter().filter(|topic| !unreadable.contains(topic)).cloned().collect();
        *unreadable = topics;
        news
    }

    fn troubles(&self) -> Vec<String> {
        let trouble = self.trouble.lock().clone();
        let unreadable = self.unreadable.lock().clone();
        let trouble = trouble.map(|reason| format!("consumer group '{}': {reason}", self.name));
        let unreadable = unreadable.into_iter().map(|(topic, reason)| format!("topic '{topic}': {reason}"));
        trouble.into_iter().chain(unreadable).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn group() -> GroupHandle {
        GroupHandle::new("svc".into(), BTreeSet::new())
    }

    #[test]
    fn stopped_group_opens_for_the_next_instance() {
        let group = group();
        assert!(group.open());
        group.stop(LIMIT);
        assert_eq!(group.wait_until_stopping().now_or_never(), Some(LIMIT));
        group.end();
        assert!(group.wait_until_ended().now_or_never().is_some());
        assert!(group.open());
        assert!(group.wait_until_stopping().now_or_never().is_none());
        assert!(group.wait_until_ended().now_or_never().is_none());
    }

    #[test]
    fn closed_group_never_opens_again() {
        let group = group();
        group.stop(LIMIT);
        group.close(Duration::ZERO);
        assert_eq!(group.wait_until_stopping().now_or_never(), Some(LIMIT), "the earlier order is kept");
        group.end();
        assert!(!group.open());
        assert!(group.wait_until_ended().now_or_never().is_some());
    }
}
