//! Records that are published, against a cluster that librdkafka plays.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use actix_supervision::Placement;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use serde_json::{Value, json};
use svc_connectors::{BrokerHealth, KafkaCluster};

use crate::kit::{ConnectorWorld, Setup, run, run_in};

pub(crate) type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster(topic: &str) -> Cluster {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic(topic, 1, 1).unwrap();
    cluster
}

/// A server whose own cluster is this one, and whose producers give up soon.
pub(crate) fn setup(cluster: &Cluster) -> Setup {
    let properties = [("message.timeout.ms", "3000"), ("reconnect.backoff.max.ms", "100")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let brokers = cluster.bootstrap_servers().split(',').map(str::to_owned).collect();
    Setup { kafka: Some(KafkaCluster { brokers, properties }), ..Setup::default() }
}

/// Stores a connector at a cluster as `k`.
async fn connect(world: &ConnectorWorld, brokers: &str, more: Value) {
    let mut config = json!({"brokers": [brokers], "allow_private_urls": true});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.put("k", "kafka", true, config).await;
}

/// Keys and values of the first records of a topic.
async fn records(cluster: &Cluster, topic: &str, count: usize) -> Vec<(Option<String>, Value)> {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("group.id", "test")
        .create()
        .unwrap();
    let mut partitions = TopicPartitionList::new();
    partitions.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
    consumer.assign(&partitions).unwrap();
    let mut records = Vec::new();
    while records.len() < count {
        let record = consumer.recv().await.unwrap();
        let key = record.key().map(|key| String::from_utf8(key.to_vec()).unwrap());
        records.push((key, serde_json::from_slice(record.payload().unwrap()).unwrap()));
    }
    records
}

fn publish(more: Value) -> Value {
    let mut input = json!({"connector": "k", "topic": "t"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

#[test]
fn absent_value_expression_publishes_all_data() {
    let cluster = cluster("t");
    run_in(setup(&cluster), async |world| {
        connect(world, &cluster.bootstrap_servers(), json!({"topic": "t"})).await;
        let payload = json!({"id": 7, "lines": [1, 2]});
        for input in [
            publish(
                json!({"key_logic": {"cat": ["order-", {"var": "payload.id"}]}, "value_logic": {"var": "payload"}}),
            ),
            publish(json!({"key": {"var": "payload.id"}, "value": {"var": "payload.lines"}})),
            publish(json!({"key_logic": {"var": "payload.none"}})),
            json!({"connector": "k", "value": {"var": "payload.id"}}),
            publish(json!({"topic": {"cat": ["t", {"if": [{"var": "payload.none"}, "x", ""]}]}, "value": 8})),
        ] {
            assert_eq!(
                world.run_task("publish_kafka", input, payload.clone()).await,
                json!({}),
                "it writes no data"
            );
        }
        let expected = [
            (Some("order-7".to_owned()), payload),
            (Some("7".to_owned()), json!([1, 2])),
            (None, json!({})),
            (None, json!(7)),
            (None, json!(8)),
        ];
        assert_eq!(records(&cluster, "t", expected.len()).await, expected);
        let probe = world.probe("k").await;
        assert!(probe.reachable && probe.supported, "{probe:?}");
    });
}

#[test]
fn a_connector_without_brokers_leads_to_the_servers_own() {
    let cluster = cluster("t");
    run_in(setup(&cluster), async |world| {
        world.put("k", "kafka", true, json!({"brokers": []})).await;
        world.run_task("publish_kafka", publish(json!({"value": 1})), Value::Null).await;
        assert_eq!(records(&cluster, "t", 1).await, [(None, json!(1))]);
        let error = world.task_error("publish_kafka", json!({"connector": "k"}), Value::Null).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR");
        assert!(error.message.starts_with("topic: required"), "{}", error.message);
        world.put("k", "kafka", true, json!({"brokers": [], "operations": {"publish": false}})).await;
        let error = world.task_error("publish_kafka", publish(json!({})), Value::Null).await;
        assert_eq!(error.code.name(), "connector_detail");
    });
}

#[test]
fn disabled_kafka_fails_the_task_with_remedy() {
    run(async |world| {
        world.put("k", "kafka", true, json!({"brokers": []})).await;
        let error = world.task_error("publish_kafka", publish(json!({})), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert_eq!(error.message, "connector 'k': Kafka is off on this server; set kafka.enabled");
        assert!(!world.probe("k").await.reachable);
    });
}

#[test]
fn transient_produce_error_is_retried_refusal_is_not() {
    let cluster = cluster("t");
    run_in(setup(&cluster), async |world| {
        connect(world, &cluster.bootstrap_servers(), json!({})).await;
        let moving = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION; 2];
        cluster.request_errors(RDKafkaApiKey::Produce, &moving);
        world.run_task("publish_kafka", publish(json!({"value": 1})), Value::Null).await;
        assert_eq!(records(&cluster, "t", 1).await, [(None, json!(1))], "once");
        cluster
            .request_errors(RDKafkaApiKey::Produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE]);
        let error = world.task_error("publish_kafka", publish(json!({"value": 2})), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false), "{}", error.message);
        assert!(error.message.contains("max.message.bytes"), "{}", error.message);
        let large = json!({"value": {"var": "payload"}});
        world.run_task("publish_kafka", publish(large), json!("x".repeat(2_000_000))).await;
        world.run_task("publish_kafka", publish(json!({"value": 3})), Value::Null).await;
    });
}

#[test]
fn broker_outage_costs_only_records_meanwhile() {
    let cluster = cluster("t");
    run_in(setup(&cluster), async |world| {
        connect(world, &cluster.bootstrap_servers(), json!({})).await;
        world.run_task("publish_kafka", publish(json!({"value": 1})), Value::Null).await;
        cluster.broker_down(-1).unwrap();
        let error = world.task_error("publish_kafka", publish(json!({"value": 2})), Value::Null).await;
        assert!(["TIMEOUT_ERROR", "IO_ERROR"].contains(&error.code.name()), "{error:?}");
        assert!(error.retryable());
        cluster.broker_up(-1).unwrap();
        // The first one may still find the old connection.
        while world.task("publish_kafka", publish(json!({"value": 3})), Value::Null).await.failure.is_some() {
        }
        let written = records(&cluster, "t", 2).await;
        assert_eq!(written[1].1, 3, "{written:?}");
    });
}

#[test]
fn absent_and_forbidden_brokers_are_distinguished() {
    let cluster = cluster("t");
    run_in(setup(&cluster), async |world| {
        let gone = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        };
        connect(world, &gone, json!({})).await;
        let error = world.task_error("publish_kafka", publish(json!({})), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true), "{}", error.message);
        for broker in ["localhost:1", "8.8.8.8:9092"] {
            connect(world, broker, json!({"allow_private_urls": false})).await;
            let error = world.task_error("publish_kafka", publish(json!({})), Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
            assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
            assert!(error.message.contains("allow_private_urls"), "{}", error.message);
            assert!(!world.probe("k").await.reachable);
        }
    });
}

/// A listener that notes all that is sent to it, until the peer gives up.
fn wire_tap() -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let tap = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let (mut sent, mut length) = (Vec::new(), [0; 4]);
        while stream.read_exact(&mut length).is_ok() {
            let mut request = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
            stream.read_exact(&mut request).unwrap();
            answer(&mut stream, &request);
            sent.extend(request);
        }
        sent
    });
    (address, tap)
}

/// Answers a client as far as it needs to authenticate: with the requests a broker knows, and the mechanism
/// it takes.
fn answer(stream: &mut TcpStream, request: &[u8]) {
    // Metadata, SaslHandshake, ApiVersions and SaslAuthenticate, each with its lowest and highest version.
    let requests = [
        &[0, 0, 0, 4][..],
        &[0, 3, 0, 0, 0, 1],
        &[0, 17, 0, 0, 0, 1],
        &[0, 18, 0, 0, 0, 0],
        &[0, 36, 0, 0, 0, 0],
    ];
    let body = match request[..4] {
        [0, 18, 0, 0] => [&[0, 0][..], &requests.concat()].concat(),
        // Another version than the first: unsupported.
        [0, 18, ..] => [&[0, 35][..], &requests.concat()].concat(),
        [0, 17, ..] => [&[0, 0, 0, 0, 0, 1, 0, 5][..], b"PLAIN"].concat(),
        _ => return,
    };
    let correlation = &request[4..8];
    let length = u32::try_from(correlation.len() + body.len()).unwrap();
    let _gone = stream.write_all(&[&length.to_be_bytes()[..], correlation, &body].concat());
}

#[test]
fn operator_password_is_not_sent_to_connector_brokers() {
    let (home, at_home) = wire_tap();
    let operator = [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "operator"),
        ("sasl.password", "swordfish"),
        ("api.version.fallback.ms", "0"),
    ];
    let properties = operator.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let kafka = Some(KafkaCluster { brokers: vec![home.clone()], properties });
    run_in(Setup { kafka, ..Setup::default() }, async |world| {
        let sent = async |tap: std::thread::JoinHandle<Vec<u8>>| {
            assert!(!world.probe("k").await.reachable, "nobody answers like a broker");
            let bytes = tokio::task::spawn_blocking(|| tap.join().unwrap()).await.unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        world.put("k", "kafka", true, json!({"brokers": []})).await;
        let text = sent(at_home).await;
        assert!(text.contains("swordfish"), "the positive control: its own brokers are told: {text:?}");
        let (foreign, tap) = wire_tap();
        connect(world, &foreign, json!({})).await;
        let text = sent(tap).await;
        assert!(!text.is_empty() && !text.contains("swordfish") && !text.contains("operator"), "{text:?}");
        let (partner, tap) = wire_tap();
        let auth = json!({"security_protocol": "sasl_plaintext", "sasl_mechanism": "PLAIN",
            "sasl_username": "own", "sasl_password": "pencil"});
        connect(world, &partner, json!({"auth": auth})).await;
        let text = sent(tap).await;
        assert!(text.contains("pencil") && !text.contains("swordfish"), "{text:?}");
    });
}

#[test]
fn broker_health_follows_absence_and_return() {
    let cluster = cluster("t");
    run(async |world| {
        let properties = vec![("reconnect.backoff.max.ms".to_owned(), "100".to_owned())];
        let own = KafkaCluster { brokers: vec![cluster.bootstrap_servers()], properties };
        let limit = Duration::from_millis(500);
        let log = slog::Logger::root(slog::Discard, slog::o!());
        let health = BrokerHealth::supervise(&world.tree, "kafka", Placement::Here, &own, limit, log);
        let mut health = health.await.unwrap();
        assert!(health.problem().is_some(), "brokers that were not asked yet are not said to answer");
        health.wait_for(|problem| problem.is_none()).await;
        cluster.broker_down(-1).unwrap();
        health.wait_for(|problem| problem.is_some()).await;
        cluster.broker_up(-1).unwrap();
        health.wait_for(|problem| problem.is_none()).await;
    });
}
