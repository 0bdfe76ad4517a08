//! The handle of Kafka ingress.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use futures_util::future::join_all;
use slog::{Logger, info};
use svc_registry::Registry;
use svc_spans::{Spans, TraceContext};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::consumer::{self, LEAVING, find_readable};
use crate::dead_letter::RecordLetter;
use crate::error::SkipError;
use crate::metrics::{KafkaMetrics, SettledAs};
use crate::partition::handle::{PartitionHandle, SkipTarget, SkippedOffsets};
use crate::partition::state::UnreadableRecords;
use crate::reconciler::GroupReconciler;
use crate::settings::Settings;
use crate::shared::KafkaShared;
use crate::view::PartitionView;

/// Longest time that a request to skip waits for its dead letter.
const SKIPPING: Duration = Duration::from_secs(35);

/// The services that Kafka ingress needs.
pub struct KafkaServices {
    /// Registry of the channels, which runs the records.
    pub registry: Registry,
    /// Settings of the ingress.
    pub settings: Settings,
    /// Metrics of the ingress.
    pub metrics: KafkaMetrics,
    /// Spans of the records.
    pub spans: Spans,
    /// Logger of the actors.
    pub log: Logger,
    /// Paths of the nodes that runs use: started before the consumers and drained after them.
    pub needs: Vec<String>,
}

/// The handle of the consumers of a node, usable from any thread. Cheap to clone.
#[derive(Clone)]
pub struct KafkaHandle {
    shared: Arc<KafkaShared>,
}

impl KafkaHandle {
    /// Path of the group of consumer groups below that of [`supervise`](Self::supervise).
    pub const GROUPS: &'static str = "groups";

    /// Checks that these settings make a consumer and a producer. Asks no broker.
    ///
    /// # Errors
    /// The setting that cannot be used, without its value.
    pub async fn check(settings: &Settings) -> Result<(), String> {
        let settings = settings.clone();
        let checked = spawn_blocking(move || consumer::check(&settings)).await;
        checked.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Adds the reconciler of the consumers to the group `path`, which exists, and with it everything below
    /// [`GROUPS`](Self::GROUPS), on the thread `at`. The runtime of that thread must run blocking tasks.
    ///
    /// # Errors
    /// [`SpawnError`] when a path is taken, the place is gone, or a needed node is missing.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        parts: KafkaServices,
    ) -> Result<Self, SpawnError> {
        let KafkaServices { registry, settings, metrics, spans, log, needs } = parts;
        let shared = Arc::new(KafkaShared::new(registry, settings, metrics, (spans, log)));
        let groups = format!("{path}/{}", Self::GROUPS);
        tree.add_group(&groups, GroupSpec::new()).await?;
        let needs: Arc<[String]> = needs.into();
        let spec = ChildSpec::new().mailbox(1).needs(needs.iter());
        let reconciler = GroupReconciler {
            shared: Arc::clone(&shared),
            tree: tree.clone(),
            path: groups.into(),
            at: at.clone(),
            needs,
        };
        let factory = move |_| std::future::ready(Ok(reconciler.clone()));
        tree.spawn(&format!("{path}/reconciler"), spec, at, factory).await?;
        Ok(Self { shared })
    }

    /// Ends every consumer for good. Records in progress run on for `limit`, or for the configured shutdown
    /// time if that is shorter; then they are dropped, and delivered again to whoever reads their partition
    /// next. What is done is committed.
    pub async fn stop(&self, limit: Duration) {
        let limit = limit.min(self.shared.settings.shutdown_timeout);
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let ended = groups.iter().map(|group| async move {
            group.close(limit);
            group.wait_until_ended().await;
        });
        // A consumer whose actor is gone does not answer.
        let _late = timeout(limit + LEAVING * 2, join_all(ended)).await;
    }

    /// Returns the troubles of consumers and partitions; empty if everything is well. Reads levels, does
    /// no I/O.
    pub fn troubles(&self) -> Vec<String> {
        self.shared.troubles()
    }

    /// Shows in `kafka_ingest_degraded` whether brokers, a consumer or a partition are in trouble.
    pub fn show_degraded(&self, is_degraded: bool) {
        self.shared.metrics.degraded.set(i64::from(is_degraded));
    }

    /// Returns the partitions that this node reads, by topic and number.
    pub fn partitions(&self) -> Vec<PartitionView> {
        let routes = self.shared.routes.load();
        self.shared
            .partitions()
            .iter()
            .map(|handle| {
                let is_paused = self.shared.is_paused(&handle.topic);
                PartitionView::new(handle, routes.route(&handle.topic), is_paused)
            })
            .collect()
    }

    /// Checks that a partition holds a record back that can be skipped.
    ///
    /// # Errors
    /// [`SkipError`] with the reason why none can.
    pub fn check_skip(&self, topic: &str, partition: i32, target: SkipTarget) -> Result<(), SkipError> {
        let handle = self.find(topic, partition)?;
        if self.shared.dead_letters.is_none() {
            return Err(SkipError::NoDeadLetterTopic);
        }
        if !self.shared.writes_letters_of(topic) {
            return Err(SkipError::DeadLetter);
        }
        match handle.unreadable_records() {
            Some(records) => handle.check_passing(target.offset.unwrap_or(records.offset)),
            None => handle.check_skip(target),
        }
    }

    fn find(&self, topic: &str, partition: i32) -> Result<Arc<PartitionHandle>, SkipError> {
        let partitions = self.shared.partitions().into_iter();
        let mut matching =
            partitions.filter(|handle| &*handle.topic == topic && handle.partition == partition);
        matching.next().ok_or(SkipError::NotAssigned)
    }

    /// Gives up the record that a partition holds back: it is written to the topic of dead letters, then the
    /// partition goes on. With an end of the range, one attempt is made at each record that follows; what fails is
    /// written there too. Of records that cannot be unpacked, all up to the next that can are given up, with one
    /// letter.
    ///
    /// # Errors
    /// [`SkipError`] with the reason why the record stays. After [`SkipError::InProgress`] a range goes on.
    pub async fn skip(
        &self,
        topic: &str,
        partition: i32,
        target: SkipTarget,
    ) -> Result<SkippedOffsets, SkipError> {
        self.check_skip(topic, partition, target)?;
        let handle = self.find(topic, partition)?;
        if let Some(records) = handle.unreadable_records() {
            return self.skip_unreadable(&handle, records, target.offset).await;
        }
        match timeout(SKIPPING, handle.request_skip(target)?).await {
            Ok(Ok(skipped)) => skipped,
            Ok(Err(_)) => Err(SkipError::NotAssigned),
            Err(_) => {
                handle.withdraw_skip();
                Err(SkipError::InProgress)
            }
        }
    }

    async fn skip_unreadable(
        &self,
        handle: &Arc<PartitionHandle>,
        records: UnreadableRecords,
        named: Option<i64>,
    ) -> Result<SkippedOffsets, SkipError> {
        let UnreadableRecords { offset: first, reason, .. } = records;
        handle.check_passing(named.unwrap_or(first))?;
        let (settings, place) = (self.shared.settings.clone(), Arc::clone(handle));
        let search = move || find_readable(&settings, &place.group, (&place.topic, place.partition), first);
        let next = spawn_blocking(search).await.map_err(|error| SkipError::NotRead(error.to_string()))??;
        let last = next - 1;
        let error =
            format!("skipped by an operator: the offsets {first} to {last} cannot be unpacked: {reason}");
        let letter = RecordLetter::without_payload(&handle.topic, (handle.partition, first), &error);
        let written = self.shared.write_letter(&letter, &TraceContext::default()).await;
        written.map_err(SkipError::NotWritten)?;
        handle.pass_unreadable(first, next)?;
        info!(self.shared.log, "records that cannot be unpacked were skipped"; "topic" => &*handle.topic,
            "partition" => handle.partition, "offset" => first, "next" => next);
        self.shared.metrics.count_records(&handle.topic, SettledAs::Skipped, 1);
        Ok(SkippedOffsets { first, next, letters: 1 })
    }
}

impl fmt::Debug for KafkaHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaHandle").field("troubles", &self.troubles()).finish_non_exhaustive()
    }
}
