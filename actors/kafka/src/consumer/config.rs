//! The properties of a consumer.

use std::time::Duration;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::KafkaError;
use svc_connectors::describe_unusable_client;

use crate::settings::Settings;

/// Name of the property with the longest time between two polls.
const MAX_POLL_INTERVAL: &str = "max.poll.interval.ms";
/// The default of librdkafka for it.
const DEFAULT_MAX_POLL_INTERVAL: Duration = Duration::from_secs(300);

/// Defaults below the properties of the operator. Metadata is refreshed and connections are opened often
/// enough that a consumer goes on within half a minute after brokers, or a topic, came back. Little waits in the
/// client, which drops what it has of a partition that is paused, and fetches it once more; so it looks often
/// whether there is room again.
const PROPERTIES: [(&str, &str); 9] = [
    ("client.id", "svc"),
    ("auto.offset.reset", "earliest"),
    ("topic.metadata.refresh.interval.ms", "10000"),
    ("socket.connection.setup.timeout.ms", "10000"),
    ("reconnect.backoff.max.ms", "2000"),
    ("queued.min.messages", "10000"),
    ("queued.max.messages.kbytes", "1024"),
    ("fetch.queue.backoff.ms", "10"),
    ("fetch.message.max.bytes", "1048576"),
];

/// Returns the properties of the consumer of a group.
pub(super) fn consumer_config(settings: &Settings, group: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set_log_level(RDKafkaLogLevel::Warning);
    for (name, value) in PROPERTIES {
        config.set(name, value);
    }
    // Under the protocol `consumer` it is a setting of the brokers, and of clients no more.
    if property(settings, "group.protocol") != Some("consumer") {
        config.set("session.timeout.ms", settings.session_timeout.as_millis().to_string());
    }
    if let Some(instance) = &settings.instance_id {
        config.set("group.instance.id", instance);
    }
    for (name, value) in &settings.cluster.properties {
        config.set(name, value);
    }
    // Another name of the brokers, which would count beside them.
    config.remove("metadata.broker.list");
    config.set("bootstrap.servers", settings.cluster.brokers.join(","));
    config.set("group.id", group);
    for name in ["enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof"] {
        config.set(name, "false");
    }
    config
}

/// Returns the longest time between two polls of a consumer.
pub(crate) fn max_poll_interval(settings: &Settings) -> Duration {
    let millis = property(settings, MAX_POLL_INTERVAL).and_then(|value| value.parse().ok());
    millis.map_or(DEFAULT_MAX_POLL_INTERVAL, Duration::from_millis)
}

/// Returns the property that counts of those with this name.
fn property<'s>(settings: &'s Settings, name: &str) -> Option<&'s str> {
    let mut properties = settings.cluster.properties.iter().rev();
    properties.find(|(key, _)| key == name).map(|(_, value)| value.trim())
}

/// Makes a consumer with these settings and drops it. Asks no broker.
///
/// # Errors
/// The property that makes no consumer, without its value.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    let consumer = consumer_config(settings, &settings.group_id).create::<BaseConsumer>();
    consumer.map(drop).map_err(|error| unusable(&error))
}

/// Describes an error of making a consumer. Values of properties are not shown.
pub(super) fn unusable(error: &KafkaError) -> String {
    describe_unusable_client(error, "consumer of kafka")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use svc_connectors::KafkaCluster;

    use super::*;

    fn settings(properties: &[(&str, &str)]) -> Settings {
        let brokers = vec!["a:1".to_owned(), "b:2".to_owned()];
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings {
            cluster: KafkaCluster { brokers, properties: properties.collect() },
            group_id: "svc".into(),
            topics: Vec::new(),
            processing_timeout: Duration::from_secs(60),
            lag_interval: None,
            session_timeout: Duration::from_secs(45),
            dead_letter_topic: None,
            instance_id: Some("node-1".into()),
            max_parallel_partitions: 16,
            rejoin_jitter: Duration::ZERO,
            shutdown_timeout: Duration::from_secs(60),
            errors: Arc::new(|_| {}),
            jobs: Arc::new(|_| {}),
        }
    }

    #[test]
    fn operator_properties_override_defaults_but_not_guarantees() {
        let given = [
            ("auto.offset.reset", "latest"),
            ("group.instance.id", "own"),
            ("enable.auto.commit", "true"),
            ("metadata.broker.list", "c:3"),
            ("max.poll.interval.ms", "10000"),
            ("max.poll.interval.ms", "20000"),
        ];
        let settings = settings(&given);
        let config = consumer_config(&settings, "team");
        for (name, expected) in [
            ("auto.offset.reset", Some("latest")),
            ("group.instance.id", Some("own")),
            ("enable.auto.commit", Some("false")),
            ("metadata.broker.list", None),
            ("bootstrap.servers", Some("a:1,b:2")),
            ("group.id", Some("team")),
            ("session.timeout.ms", Some("45000")),
        ] {
            assert_eq!(config.get(name), expected, "{name}");
        }
        assert_eq!(max_poll_interval(&settings), Duration::from_secs(20));
        assert_eq!(max_poll_interval(&self::settings(&[])), Duration::from_secs(300));
    }

    #[test]
    fn new_group_protocol_leaves_session_timeout_to_brokers() {
        let settings = settings(&[("group.protocol", "consumer")]);
        assert_eq!(consumer_config(&settings, "team").get("session.timeout.ms"), None);
        check(&settings).unwrap();
    }

    #[test]
    fn unusable_consumer_property_is_named_without_value() {
        let refused = check(&settings(&[("security.protocol", "swordfish")])).unwrap_err();
        assert!(refused.contains("security.protocol") && !refused.contains("swordfish"), "{refused}");
    }
}
