//! Kafka ingress of this process. A build without the Kafka driver has none: there nothing is consumed.

#[cfg(not(feature = "kafka"))]
use std::convert::Infallible;
use std::time::Duration;

use serde_json::Value;
use svc_api::SkippedRecord;
use svc_model::{ServiceError, Timestamp};

#[cfg(feature = "kafka")]
use svc_kafka::{KafkaHandle, KafkaMetrics, KafkaServices, Settings, SkipError, SkippedOffsets};

/// The failure of a record that is held back: its channel, the message for operators, and the time since which it is held.
pub(crate) type HeldFailure = (String, String, Timestamp);

/// The consumers of this process, as handlers see them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct KafkaIngress {
    #[cfg(feature = "kafka")]
    handle: KafkaHandle,
    #[cfg(not(feature = "kafka"))]
    never: Infallible,
}

#[cfg(not(feature = "kafka"))]
impl KafkaIngress {
    pub(crate) async fn stop(&self, _: Duration) {
        match self.never {}
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        match self.never {}
    }

    pub(crate) fn show_degraded(&self, _: bool) {
        match self.never {}
    }

    pub(crate) fn partitions(&self) -> Vec<Value> {
        match self.never {}
    }

    pub(crate) fn untraced_failures(&self) -> Vec<HeldFailure> {
        match self.never {}
    }

    pub(crate) fn check_skip(&self, _: &str, _: i32, _: Option<i64>) -> Result<(), ServiceError> {
        match self.never {}
    }

    pub(crate) async fn skip(&self, _: &str, _: i32, _: Option<i64>) -> Result<SkippedRecord, ServiceError> {
        match self.never {}
    }
}

#[cfg(feature = "kafka")]
impl KafkaIngress {
    /// Checks the settings and starts the consumers on a thread of their own; `None` if Kafka is off.
    ///
    /// # Errors
    /// [`ServiceStartError::Config`] for settings that make no consumer, [`ServiceStartError::Tree`] for an
    /// actor that cannot be placed.
    pub(crate) async fn start(parts: IngressParts<'_>) -> Result<Option<Self>, ServiceStartError> {
        let IngressParts { assembly, config, environment, registry, io, metrics, spans, errors, jobs } =
            parts;
        let Some(cluster) = settings::kafka_cluster(config, environment) else { return Ok(None) };
        let settings = ingress_settings(config, cluster, errors, jobs);
        KafkaHandle::check(&settings).await.map_err(ServiceStartError::Config)?;
        let families = KafkaMetrics::default();
        families.register(metrics.registry_mut());
        let services = KafkaServices {
            registry: registry.clone(),
            settings,
            metrics: families,
            spans,
            log: assembly.log.clone(),
            needs: KAFKA_RECONCILER.need_paths(),
        };
        let thread = io.start_arbiter()?;
        let started = KafkaHandle::supervise(&assembly.tree, KAFKA.path, thread, services).await;
        let handle = started.map_err(|error| ServiceStartError::Tree(error.to_string()))?;
        Ok(Some(Self { handle }))
    }

    /// Ends the consumers; records in progress have `limit`.
    pub(crate) async fn stop(&self, limit: Duration) {
        self.handle.stop(limit).await;
    }

    /// Returns the troubles of consumers and partitions.
    pub(crate) fn troubles(&self) -> Vec<String> {
        self.handle.troubles()
    }

    /// Sets the gauge that shows trouble.
    pub(crate) fn show_degraded(&self, is_degraded: bool) {
        self.handle.show_degraded(is_degraded);
    }

    /// Returns the partitions that this process reads, as operators see them.
    pub(crate) fn partitions(&self) -> Vec<Value> {
        self.handle.partitions().iter().map(|partition| serde_json::json!(partition)).collect()
    }

    /// Returns the failures of the records that partitions hold back, but for those that are in traces.
    pub(crate) fn untraced_failures(&self) -> Vec<HeldFailure> {
        let failures = self.handle.partitions().into_iter().filter(|partition| !partition.is_failure_traced);
        let failures = failures.filter_map(|partition| {
            Some((partition.channel?, partition.last_error?, partition.retry_since?))
        });
        failures.collect()
    }

    /// Checks that a partition holds a record back that can be skipped; `offset` names the record that is meant.
    ///
    /// # Errors
    /// 404 for a partition that this process does not read, 409 otherwise.
    pub(crate) fn check_skip(
        &self,
        topic: &str,
        partition: i32,
        offset: Option<i64>,
    ) -> Result<(), ServiceError> {
        self.handle.check_skip(topic, partition, offset).map_err(to_service_error)
    }

    /// Gives up the record that a partition holds back; returns its offset.
    ///
    /// # Errors
    /// 404 for a partition that this process does not read, 503 if the dead letter is not written, 409
    /// otherwise.
    pub(crate) async fn skip(
        &self,
        topic: &str,
        partition: i32,
        offset: Option<i64>,
    ) -> Result<SkippedRecord, ServiceError> {
        let skipped = self.handle.skip(topic, partition, offset).await.map_err(to_service_error)?;
        let SkippedOffsets { first, next } = skipped;
        Ok(SkippedRecord { topic: topic.to_owned(), partition, skipped_offset: first, next_offset: next })
    }
}

#[cfg(feature = "kafka")]
use {
    crate::assembly::parts::Assembly,
    crate::assembly::tree::{KAFKA, KAFKA_RECONCILER},
    crate::config::Config,
    crate::error::ServiceStartError,
    crate::http::Metrics,
    crate::process::io_runtime::IoRuntime,
    crate::settings,
    std::sync::Arc,
    svc_channels::ChannelMetrics,
    svc_connectors::KafkaCluster,
    svc_housekeeping::JobMetrics,
    svc_registry::Registry,
    svc_spans::Spans,
};

/// The parts that the consumers are started from.
#[cfg(feature = "kafka")]
pub(crate) struct IngressParts<'s> {
    pub(crate) assembly: &'s Assembly,
    pub(crate) config: &'s Config,
    pub(crate) environment: &'s [(String, String)],
    pub(crate) registry: &'s Registry,
    pub(crate) io: &'s IoRuntime,
    pub(crate) metrics: &'s mut Metrics,
    pub(crate) spans: Spans,
    pub(crate) errors: ChannelMetrics,
    pub(crate) jobs: JobMetrics,
}

/// Longest random delay with which the nodes of a cluster change their subscriptions.
#[cfg(feature = "kafka")]
const REJOIN_JITTER: Duration = Duration::from_secs(5);

#[cfg(feature = "kafka")]
fn ingress_settings(
    config: &Config,
    cluster: KafkaCluster,
    errors: ChannelMetrics,
    jobs: JobMetrics,
) -> Settings {
    let (kafka, nodes) = (&config.kafka, &config.cluster);
    let topics = kafka.topics.iter().map(|mapping| (mapping.topic.clone(), mapping.channel.clone()));
    Settings {
        cluster,
        group_id: kafka.group_id.clone(),
        topics: topics.collect(),
        processing_timeout: Duration::from_millis(kafka.processing_timeout_ms),
        lag_interval: match kafka.lag_poll_interval_secs {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        },
        session_timeout: Duration::from_millis(kafka.session_timeout_ms),
        dead_letter_topic: kafka.dlq.enabled.then(|| kafka.dlq.topic.clone()),
        // A name that changes with every start would keep its partitions from everybody after each.
        instance_id: (nodes.enabled && !nodes.instance_id.is_empty()).then(|| nodes.instance_id.clone()),
        max_parallel_partitions: kafka.max_parallel_partitions,
        rejoin_jitter: if nodes.enabled { REJOIN_JITTER } else { Duration::ZERO },
        shutdown_timeout: Duration::from_millis(kafka.processing_timeout_ms),
        errors: Arc::new(move |reason| errors.count_error(reason)),
        jobs: Arc::new(move |job| jobs.record_success(job)),
    }
}

#[cfg(feature = "kafka")]
fn to_service_error(error: SkipError) -> ServiceError {
    let message = error.to_string();
    match error {
        SkipError::NotAssigned => ServiceError::not_found(message),
        SkipError::NotWritten(_) | SkipError::NotRead(_) => ServiceError::unavailable(message),
        SkipError::NoDeadLetterTopic
        | SkipError::DeadLetter
        | SkipError::NothingHeld
        | SkipError::OtherOffset { .. }
        | SkipError::Busy
        | SkipError::InProgress => ServiceError::conflict(message),
    }
}
