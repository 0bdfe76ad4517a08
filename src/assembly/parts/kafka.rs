//! Kafka ingress of this process. A build without the Kafka driver has none: there nothing is consumed.

#[cfg(not(feature = "kafka"))]
use std::convert::Infallible;
use std::time::Duration;

use actix_supervision::GroupSpec;
use serde_json::Value;
use svc_api::SkippedRecord;
use svc_connectors::{BrokerHealth, KafkaCluster};
use svc_model::{ServiceError, Timestamp};

use crate::assembly::context::Assembly;
use crate::assembly::parts::store::health_check_timeout;
use crate::assembly::row::{EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::config::{self, Config};
use crate::error::ServiceStartError;

#[cfg(feature = "kafka")]
use {
    std::sync::Arc,
    svc_kafka::{KafkaHandle, KafkaMetrics, KafkaServices, Settings, SkipError, SkipTarget, SkippedOffsets},
    svc_registry::Registry,
};

/// The group of Kafka; absent unless `kafka.enabled`.
pub(crate) static KAFKA: TreeRow = TreeRow::group("kafka");
/// The check of the Kafka brokers of the settings.
pub(crate) static KAFKA_BROKERS: TreeRow = TreeRow::actor("kafka/brokers", RunsOn::SharedThread);
/// The actor that makes the consumers match the topic map.
pub(crate) static KAFKA_RECONCILER: TreeRow =
    TreeRow::actor("kafka/reconciler", RunsOn::KafkaThread).needs(&["store", "registry", "channels"]);
/// The group of consumer groups.
static KAFKA_GROUPS: TreeRow = TreeRow::group("kafka/groups");
/// One consumer group.
static KAFKA_GROUP: TreeRow = TreeRow::group("kafka/groups/{group}");
/// Its consumer, which owns the client.
static KAFKA_CONSUMER: TreeRow = TreeRow::actor("kafka/groups/{group}/consumer", RunsOn::KafkaThread)
    .needs(&["store", "registry", "channels"])
    .drain_secs(16)
    .ended_by(EndedBy::KafkaStop);
/// The worker of an assigned partition.
static KAFKA_PARTITION: TreeRow = TreeRow::actor("kafka/groups/{group}/{partition}", RunsOn::KafkaThread)
    .needs(&["store", "registry", "channels"])
    .ended_by(EndedBy::KafkaStop);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[
        &KAFKA,
        &KAFKA_BROKERS,
        &KAFKA_RECONCILER,
        &KAFKA_GROUPS,
        &KAFKA_GROUP,
        &KAFKA_CONSUMER,
        &KAFKA_PARTITION,
    ],
    tasks: &[
        task("check of the Kafka settings", "actors/kafka", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task(
            "search for the record behind a batch that cannot be unpacked",
            "actors/kafka",
            1,
            RunsOn::BlockingPool,
            EndedBy::Caller,
        ),
        task("commit of offsets", "actors/kafka", 2, RunsOn::BlockingPool, EndedBy::Caller),
        task("measurement of the lag", "actors/kafka", 1, RunsOn::BlockingPool, EndedBy::Caller),
        task(
            "departure of a consumer from its group",
            "actors/kafka",
            1,
            RunsOn::OwnThread,
            EndedBy::OwnerDrop,
        ),
    ],
};

/// Adds the group of Kafka, and starts the check of the brokers of the settings; `None` if Kafka is off.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start_broker_check(
    assembly: &Assembly,
) -> Result<Option<BrokerHealth>, ServiceStartError> {
    let (tree, config) = (&assembly.tree, &assembly.config);
    let Some(cluster) = kafka_cluster(config, &assembly.environment) else { return Ok(None) };
    tree.add_group(KAFKA.path, GroupSpec::new()).await.map_err(ServiceStartError::tree)?;
    let (thread, limit) = (assembly.thread_of(&KAFKA_BROKERS)?, health_check_timeout(config));
    let log = assembly.log.clone();
    let started = BrokerHealth::supervise(tree, KAFKA_BROKERS.path, thread, &cluster, limit, log).await;
    started.map(Some).map_err(ServiceStartError::tree)
}

/// Returns the Kafka cluster for published records, with this service's credentials; `None` if Kafka is
/// disabled.
pub(crate) fn kafka_cluster(config: &Config, environment: &[(String, String)]) -> Option<KafkaCluster> {
    let config::KafkaSection { enabled, brokers, auth, extra_config, .. } = &config.kafka;
    let set = |name: &str| {
        let variable = environment.iter().find(|(known, value)| known == name && !value.is_empty());
        variable.map(|(_, value)| value.clone())
    };
    // The same trust anchors as everywhere else; by default the client uses the system's.
    let anchors = || set("SSL_CERT_FILE").or_else(|| set("SSL_CERT_DIR"));
    let authentication = [
        ("security.protocol", auth.security_protocol.map(|protocol| protocol.as_str().to_owned())),
        ("sasl.mechanism", auth.sasl_mechanism.map(|mechanism| mechanism.as_str().to_owned())),
        ("sasl.username", auth.sasl_username.clone()),
        ("sasl.password", auth.sasl_password.as_ref().map(|password| password.expose().to_owned())),
        ("ssl.ca.location", auth.ssl_ca_location.clone().or_else(anchors)),
    ];
    let authentication =
        authentication.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let extra = extra_config.0.iter().map(|(name, value)| (name.clone(), value.clone()));
    enabled
        .then(|| KafkaCluster { brokers: brokers.clone(), properties: authentication.chain(extra).collect() })
}

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

    pub(crate) fn check_skip(&self, _: &str, _: i32, _: [Option<i64>; 2]) -> Result<(), ServiceError> {
        match self.never {}
    }

    pub(crate) async fn skip(
        &self,
        _: &str,
        _: i32,
        _: [Option<i64>; 2],
    ) -> Result<SkippedRecord, ServiceError> {
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
    pub(crate) async fn start(
        assembly: &mut Assembly,
        registry: &Registry,
    ) -> Result<Option<Self>, ServiceStartError> {
        let Some(settings) = ingress_settings(assembly) else { return Ok(None) };
        KafkaHandle::check(&settings).await.map_err(ServiceStartError::Config)?;
        let families = KafkaMetrics::default();
        families.register(assembly.metrics.registry.registry_mut());
        let services = KafkaServices {
            registry: registry.clone(),
            settings,
            metrics: families,
            spans: assembly.spans.clone(),
            log: assembly.log.clone(),
            needs: KAFKA_RECONCILER.need_paths(),
        };
        let thread = assembly.thread_of(&KAFKA_RECONCILER)?;
        let started = KafkaHandle::supervise(&assembly.tree, KAFKA.path, thread, services).await;
        let handle = started.map_err(ServiceStartError::tree)?;
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
        let partitions = self.handle.partitions().into_iter();
        let untraced = partitions.filter(|partition| !partition.is_failure_traced);
        let failures = untraced.filter_map(|partition| {
            Some((partition.channel?, partition.last_error?, partition.retry_since?))
        });
        failures.collect()
    }

    /// Checks that a partition holds a record back that can be skipped; `offset` names the record that is meant, `until`
    /// the end of the range.
    ///
    /// # Errors
    /// 404 for a partition that this process does not read, 400 for a range that cannot be, 409 otherwise.
    pub(crate) fn check_skip(
        &self,
        topic: &str,
        partition: i32,
        [offset, until]: [Option<i64>; 2],
    ) -> Result<(), ServiceError> {
        let target = SkipTarget { offset, until };
        self.handle.check_skip(topic, partition, target).map_err(to_service_error)
    }

    /// Gives up the record that a partition holds back, and what fails up to the end of the range; returns the offsets.
    ///
    /// # Errors
    /// 404 for a partition that this process does not read, 400 for a range that cannot be, 503 if the dead letter is
    /// not written, 409 otherwise.
    pub(crate) async fn skip(
        &self,
        topic: &str,
        partition: i32,
        [offset, until]: [Option<i64>; 2],
    ) -> Result<SkippedRecord, ServiceError> {
        let target = SkipTarget { offset, until };
        let skipped = self.handle.skip(topic, partition, target).await.map_err(to_service_error)?;
        let SkippedOffsets { first, next, letters } = skipped;
        Ok(SkippedRecord {
            topic: topic.to_owned(),
            partition,
            skipped_offset: first,
            next_offset: next,
            dead_letters: until.map(|_| letters),
        })
    }
}

/// Longest random delay with which the nodes of a cluster change their subscriptions.
#[cfg(feature = "kafka")]
const REJOIN_JITTER: Duration = Duration::from_secs(5);

#[cfg(feature = "kafka")]
fn ingress_settings(assembly: &Assembly) -> Option<Settings> {
    let cluster = kafka_cluster(&assembly.config, &assembly.environment)?;
    let (kafka, nodes) = (&assembly.config.kafka, &assembly.config.cluster);
    let (errors, jobs) = (assembly.metrics.channels.clone(), assembly.metrics.jobs.clone());
    let topics = kafka.topics.iter().map(|mapping| (mapping.topic.clone(), mapping.channel.clone()));
    Some(Settings {
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
    })
}

#[cfg(feature = "kafka")]
fn to_service_error(error: SkipError) -> ServiceError {
    let message = error.to_string();
    match error {
        SkipError::NotAssigned => ServiceError::not_found(message),
        SkipError::Range { .. } => ServiceError::validation(message),
        SkipError::NotWritten(_) | SkipError::NotRead(_) => ServiceError::unavailable(message),
        SkipError::NoDeadLetterTopic
        | SkipError::DeadLetter
        | SkipError::NothingHeld
        | SkipError::OtherOffset { .. }
        | SkipError::Busy
        | SkipError::InProgress => ServiceError::conflict(message),
    }
}

#[cfg(test)]
mod tests {
    use svc_secrets::Secret;

    use super::*;

    #[test]
    fn broker_settings_end_with_extra_properties() {
        let mut config = Config::default();
        config.kafka.auth.security_protocol = Some(config::SecurityProtocol::SaslSsl);
        config.kafka.auth.sasl_mechanism = Some(config::SaslMechanism::ScramSha256);
        config.kafka.auth.sasl_username = Some("svc".into());
        config.kafka.auth.sasl_password = Some(Secret::new("swordfish"));
        config.kafka.extra_config.0.insert("sasl.username".into(), "other".into());
        let environment = [("SSL_CERT_FILE".to_owned(), "/ca.pem".to_owned())];
        assert!(kafka_cluster(&config, &environment).is_none(), "it is off");
        config.kafka.enabled = true;
        let cluster = kafka_cluster(&config, &environment).unwrap();
        assert_eq!(cluster.brokers, ["localhost:9092"]);
        let properties: Vec<_> =
            cluster.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
            ("sasl.username", "svc"),
            ("sasl.password", "swordfish"),
            ("ssl.ca.location", "/ca.pem"),
            ("sasl.username", "other"),
        ];
        assert_eq!(properties, expected);
        assert!(!format!("{cluster:?}").contains("swordfish"));
        config.kafka.auth.ssl_ca_location = Some("/own.pem".into());
        assert!(
            kafka_cluster(&config, &environment)
                .unwrap()
                .properties
                .contains(&("ssl.ca.location".into(), "/own.pem".into()))
        );
    }
}
