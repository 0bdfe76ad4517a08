//! Other nodes and brokers: `[kafka]`, `[cluster]`.

use serde_json::{Value as Json, json};
use svc_redis::RedisTarget;
use svc_secrets::Secret;
use svc_secrets::mask::mask_url;

use super::StorageSection;
use super::declared::ClientProperties;
use super::problem::Diagnostics;
use super::setting::{Scalar, choice, scalar_settings, section};
use super::telemetry::host_and_port;

/// Client properties that the delivery of every record depends on.
const RESERVED_PROPERTIES: [&str; 4] =
    ["enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "group.id"];

section! {
    /// Channels fed by Kafka, and what is published to it.
    pub struct KafkaSection {
        /// Enables Kafka; `publish_kafka` fails while it is disabled.
        pub enabled: bool = false,
        /// Brokers, each `host:port`.
        pub brokers: Vec<String> = vec!["localhost:9092".into()],
        /// Consumer group of topics whose channel names none.
        pub group_id: String = "svc".into(),
        /// Topics and the channel each of them feeds. In the environment: `topic:channel,topic:channel`.
        pub topics: Vec<TopicMapping> = Vec::new(),
        /// Milliseconds that one attempt at a record may take; a channel may set less.
        pub processing_timeout_ms: u64 = 60_000,
        /// Partitions whose records run at the same time on this node; the records of one partition run one after the other.
        pub max_parallel_partitions: usize = 16,
        /// Seconds between two measurements of the lag; 0 measures none.
        pub lag_poll_interval_secs: u64 = 30,
        /// Milliseconds after which the group gives up a silent member.
        pub session_timeout_ms: u64 = 45_000,
        /// Raw properties of the client, applied last. Those that decide about commits cannot be set.
        pub extra_config: ClientProperties = ClientProperties::default(),
        /// Records that could not be processed.
        pub dlq: KafkaDlqSection = KafkaDlqSection::default(),
        /// Authentication at the brokers.
        pub auth: KafkaAuthSection = KafkaAuthSection::default(),
    }
}

section! {
    /// The topic for records that could not be processed.
    pub struct KafkaDlqSection {
        /// Publishes such records; otherwise they are retried until they succeed.
        pub enabled: bool = false,
        /// The topic.
        pub topic: String = "svc-dlq".into(),
    }
}

choice! {
    /// The protocol of connections to brokers.
    pub enum SecurityProtocol {
        /// Neither encrypted nor authenticated.
        Plaintext = "plaintext",
        /// TLS.
        Ssl = "ssl",
        /// SASL without TLS.
        SaslPlaintext = "sasl_plaintext",
        /// SASL over TLS.
        SaslSsl = "sasl_ssl",
    }
}

choice! {
    /// The SASL mechanism.
    pub enum SaslMechanism {
        /// User name and password.
        Plain = "PLAIN",
        /// Challenge and response over SHA-256.
        ScramSha256 = "SCRAM-SHA-256",
        /// Challenge and response over SHA-512.
        ScramSha512 = "SCRAM-SHA-512",
    }
}

section! {
    /// Authentication at the brokers.
    pub struct KafkaAuthSection {
        /// The protocol of connections to brokers. Unset: the client's default.
        pub security_protocol: Option<SecurityProtocol> = None,
        /// The SASL mechanism; needed with `sasl_plaintext` and `sasl_ssl`, like name and password.
        pub sasl_mechanism: Option<SaslMechanism> = None,
        /// User name.
        pub sasl_username: Option<String> = None,
        /// Password.
        pub sasl_password: Option<Secret> = None,
        /// PEM file with the authorities to trust. Unset: the system's.
        pub ssl_ca_location: Option<String> = None,
    }
}

/// A topic and the channel its records go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicMapping {
    /// Name of the topic.
    pub topic: String,
    /// Name of the channel.
    pub channel: String,
}

impl Scalar for TopicMapping {
    const EXPECTED: &'static str = "a topic and a channel";

    fn from_toml(value: &toml::Value) -> Option<Self> {
        let table = value.as_table().filter(|table| table.len() == 2)?;
        let text = |key| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        Some(Self { topic: text("topic")?, channel: text("channel")? })
    }

    fn from_text(text: &str) -> Option<Self> {
        let (topic, channel) = text.split_once(':')?;
        Some(Self { topic: topic.trim().to_owned(), channel: channel.trim().to_owned() })
    }

    fn to_json(&self) -> Json {
        json!({"topic": self.topic, "channel": self.channel})
    }

    fn schema() -> Json {
        let text = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {"topic": text, "channel": text},
            "required": ["topic", "channel"],
            "additionalProperties": false,
        })
    }
}

scalar_settings!(TopicMapping);

section! {
    /// Several nodes on one database. Nodes that share a PostgreSQL database are correct together with or without these
    /// settings; `enabled` adds the guards they share over Redis.
    pub struct ClusterSection {
        /// Makes this node one of several that share limits, idempotency keys and cached answers over Redis. Needs PostgreSQL
        /// and `redis_url`.
        pub enabled: bool = false,
        /// The shared Redis, `redis://` or `rediss://` with `[user[:password]@]host[:port][/database]`; needed when enabled. A
        /// server that is away at the start is tried again for `storage.connect_retry_secs`.
        pub redis_url: String = String::new(),
        /// Milliseconds between two polls for changes made by other nodes.
        pub epoch_poll_interval_ms: u64 = 2000,
        /// Name of this node, at most 64 characters. Empty: a new one at each start.
        pub instance_id: String = String::new(),
        /// Seconds after which a node that renews nothing counts as dead, from 3 to 300: others run what it had accepted.
        pub node_lease_secs: u64 = 15,
    }
}

impl KafkaSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if !self.enabled {
            return;
        }
        if self.brokers.is_empty() {
            diagnostics.refuse("kafka.brokers", "needs at least one broker, like localhost:9092");
        }
        for broker in self.brokers.iter().filter(|broker| host_and_port(broker).is_none()) {
            diagnostics.refuse("kafka.brokers", format!("{:?} is not host:port", mask_url(broker)));
        }
        diagnostics.require_filled("kafka.group_id", &self.group_id);
        diagnostics.require_positive("kafka.processing_timeout_ms", self.processing_timeout_ms);
        diagnostics.require_positive("kafka.max_parallel_partitions", self.max_parallel_partitions);
        diagnostics.require_positive("kafka.session_timeout_ms", self.session_timeout_ms);
        if self.dlq.enabled {
            diagnostics.require_filled("kafka.dlq.topic", &self.dlq.topic);
        }
        self.check_properties(diagnostics);
        self.check_topics(diagnostics);
        self.auth.check(diagnostics);
    }

    fn check_properties(&self, diagnostics: &mut Diagnostics) {
        for name in self.extra_config.0.keys() {
            if RESERVED_PROPERTIES.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
                diagnostics.refuse(
                    "kafka.extra_config",
                    format!("{name:?} cannot be set: an offset is committed when its record is done"),
                );
            }
        }
    }

    fn check_topics(&self, diagnostics: &mut Diagnostics) {
        const KEY: &str = "kafka.topics";
        for (index, mapping) in self.topics.iter().enumerate() {
            if mapping.topic.trim().is_empty() || mapping.channel.trim().is_empty() {
                diagnostics.refuse(KEY, format!("entry {}: topic and channel must not be empty", index + 1));
            }
            for other in &self.topics[..index] {
                if other.topic == mapping.topic {
                    diagnostics
                        .refuse(KEY, format!("the topic {:?} is mapped twice; keep one", mapping.topic));
                }
                if other.channel == mapping.channel {
                    diagnostics
                        .refuse(KEY, format!("the channel {:?} is mapped twice; keep one", mapping.channel));
                }
            }
        }
    }
}

impl KafkaAuthSection {
    fn check(&self, diagnostics: &mut Diagnostics) {
        let sasl = [SecurityProtocol::SaslPlaintext, SecurityProtocol::SaslSsl];
        let Some(protocol) = self.security_protocol.filter(|protocol| sasl.contains(protocol)) else {
            return;
        };
        for (key, missing) in [
            ("kafka.auth.sasl_mechanism", self.sasl_mechanism.is_none()),
            ("kafka.auth.sasl_username", self.sasl_username.as_ref().is_none_or(String::is_empty)),
            ("kafka.auth.sasl_password", self.sasl_password.as_ref().is_none_or(Secret::is_empty)),
        ] {
            if missing {
                diagnostics.refuse(key, format!("needed with security_protocol = {:?}", protocol.as_str()));
            }
        }
    }
}

impl ClusterSection {
    pub(crate) fn check(&self, storage: &StorageSection, diagnostics: &mut Diagnostics) {
        if self.instance_id.chars().count() > 64 {
            diagnostics.refuse("cluster.instance_id", "must not be longer than 64 characters");
        }
        diagnostics.require_positive("cluster.epoch_poll_interval_ms", self.epoch_poll_interval_ms);
        diagnostics.require_within("cluster.node_lease_secs", self.node_lease_secs, 3..=300);
        if self.enabled {
            diagnostics.require_filled("cluster.redis_url", &self.redis_url);
            if let Err(reason) = RedisTarget::new(&self.redis_url, true)
                && !self.redis_url.is_empty()
            {
                diagnostics.refuse("cluster.redis_url", reason);
            }
            if storage.url.starts_with("sqlite:") {
                diagnostics.refuse("storage.url", "SQLite serves one node; a cluster needs postgres://");
            }
        }
    }
}
