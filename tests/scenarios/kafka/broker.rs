//! A real broker, with every kind of access that it takes: all but SASL PLAIN. It is built from source, which takes
//! a while: `make test-kafka-broker` runs these tests.

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use svc_testkit::kafka::{BrokerAccess, KafkaBroker, PASSWORD, USER};

use super::*;

/// The properties of a client of this broker.
fn properties(broker: &KafkaBroker, access: BrokerAccess) -> Vec<(&'static str, String)> {
    let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let mut properties = vec![("security.protocol", access.security_protocol().to_owned())];
    properties.push(("ssl.ca.location", path(broker.authority())));
    if access.has_scram() {
        properties.push(("sasl.mechanism", "SCRAM-SHA-512".to_owned()));
        properties.push(("sasl.username", USER.to_owned()));
        properties.push(("sasl.password", PASSWORD.to_owned()));
    }
    if access == BrokerAccess::MutualTls {
        let [certificate, key] = broker.client_certificate().map(path);
        properties.extend([("ssl.certificate.location", certificate), ("ssl.key.location", key)]);
    }
    properties
}

/// Starts a broker with the topics of a scenario, and a client of it.
fn start(access: BrokerAccess) -> Option<(KafkaBroker, ClusterClient)> {
    let broker = KafkaBroker::start(access)?;
    let properties = properties(&broker, access);
    let properties: Vec<_> = properties.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let client = ClusterClient::new(&broker.address(), &properties);
    let admin: AdminClient<DefaultClientContext> = client.config.create().unwrap();
    let topics = [("orders", 2), ("shipped", 1), (DEAD, 1)];
    let topics = topics.map(|(name, partitions)| NewTopic::new(name, partitions, TopicReplication::Fixed(1)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let created = runtime.block_on(admin.create_topics(&topics, &AdminOptions::new())).unwrap();
    created.into_iter().for_each(|topic| drop(topic.unwrap()));
    Some((broker, client))
}

/// A server that reads this broker, not yet started. Credentials are settings, client certificates raw
/// properties.
fn launch_at_broker(
    broker: &KafkaBroker,
    client: &ClusterClient,
    (access, mechanism): (BrokerAccess, &str),
) -> ServerCommand {
    let mut launch = with_dead_letters(launch_at(client))
        .env("SVC_KAFKA__AUTH__SECURITY_PROTOCOL", access.security_protocol())
        .env("SVC_KAFKA__AUTH__SSL_CA_LOCATION", broker.authority().to_str().unwrap());
    if access.has_scram() {
        launch = launch
            .env("SVC_KAFKA__AUTH__SASL_MECHANISM", mechanism)
            .env("SVC_KAFKA__AUTH__SASL_USERNAME", USER)
            .env("SVC_KAFKA__AUTH__SASL_PASSWORD", PASSWORD);
    }
    if access == BrokerAccess::MutualTls {
        let paths = broker.client_certificate().map(|path| path.to_str().unwrap().to_owned());
        let names = ["ssl.certificate.location", "ssl.key.location"];
        launch = with_properties(launch, &[(names[0], &paths[0]), (names[1], &paths[1])]);
    }
    launch
}

/// Starts a process that multiplies and publishes each record, by the brokers of the service.
fn start_service(launch: ServerCommand) -> ServerProcess {
    let server = launch.start().unwrap();
    let mut client = server.client();
    let connector = json!({"id": "bus", "name": "bus", "connector_type": "kafka", "config": {"brokers": []}});
    let made = client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    let mut tasks = multiply();
    tasks
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "ship", "name": "Ship", "function": {"name": "publish_kafka", "input": {
            "connector": "bus", "topic": "shipped", "value_logic": {"n": {"var": "data.n"}}}}}));
    serve_topic(&mut client, "orders", "orders", json!({}), tasks);
    server
}

/// Runs records, a poison one among them; restarts; runs more.
fn consume_publish_and_resume(access: BrokerAccess, mechanism: &str) {
    let Some((broker, client)) = start(access) else { return };
    let launch = || launch_at_broker(&broker, &client, (access, mechanism));
    let send = |numbers: std::ops::Range<i32>| {
        for number in numbers {
            let value = format!(r#"{{"n": {number}}}"#);
            client.send_to("orders", number % 2, None, Some(value.as_bytes()), &[]);
        }
    };
    let server = start_service(launch());
    send(0..10);
    client.send_to("orders", 0, None, Some(br#"{"n": "poison"}"#), &[]);
    send(10..20);
    client.wait_committed("orders", 0, 11);
    client.wait_committed("orders", 1, 10);
    let letters = client.read(DEAD, 1);
    assert_eq!(letters[0].value["original_payload"], r#"{"n": "poison"}"#);
    let health = server.client().get("/health").unwrap().json();
    assert_eq!(health["components"]["kafka"], "ok", "{health}");
    end(server);
    send(20..30);
    let server = start_service(launch());
    client.wait_committed("orders", 0, 16);
    client.wait_committed("orders", 1, 15);
    let traced = traces(&mut server.client(), "channel=orders");
    assert_eq!(traced.len(), 10, "it resumes at the committed offsets");
    let shipped = client.read("shipped", 30);
    let mut numbers: Vec<_> = shipped.iter().map(|record| record.value["n"].as_i64().unwrap() / 2).collect();
    for parity in 0..2 {
        let of: Vec<_> = numbers.iter().filter(|number| *number % 2 == parity).copied().collect();
        assert!(of.is_sorted(), "{of:?}");
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    end(server);
}

#[test]
#[ignore = "builds a broker from source"]
fn plain_broker_is_consumed_and_published_to() {
    consume_publish_and_resume(BrokerAccess::Plain, "");
}

#[test]
#[ignore = "builds a broker from source"]
fn broker_over_tls_is_consumed_and_published_to() {
    consume_publish_and_resume(BrokerAccess::Tls, "");
}

#[test]
#[ignore = "builds a broker from source"]
fn broker_with_client_certificates_is_used() {
    consume_publish_and_resume(BrokerAccess::MutualTls, "");
}

#[test]
#[ignore = "builds a broker from source"]
fn broker_with_scram_is_consumed_and_published_to() {
    consume_publish_and_resume(BrokerAccess::Scram, "SCRAM-SHA-256");
}

#[test]
#[ignore = "builds a broker from source"]
fn broker_with_scram_over_tls_is_used() {
    consume_publish_and_resume(BrokerAccess::ScramOverTls, "SCRAM-SHA-512");
}

#[test]
#[ignore = "builds a broker from source"]
fn wrong_credentials_are_trouble_and_never_shown() {
    let access = BrokerAccess::ScramOverTls;
    let Some((broker, client)) = start(access) else { return };
    let launch = || launch_at_broker(&broker, &client, (access, "SCRAM-SHA-512"));
    let elsewhere = svc_testkit::tls::issue_certificate().unwrap();
    let foreign = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(foreign.path(), &elsewhere.authority).unwrap();
    let foreign = foreign.path().to_str().unwrap();
    for (name, value) in
        [("SVC_KAFKA__AUTH__SASL_PASSWORD", "mackerel"), ("SVC_KAFKA__AUTH__SSL_CA_LOCATION", foreign)]
    {
        let server = start_service(launch().env(name, value));
        eventually(|| server.client().get("/health").unwrap().json()["components"]["kafka"] == "degraded");
        let ready = server.client().get("/readyz").unwrap();
        assert_eq!(ready.status, 200);
        let log = server.log_text();
        assert!(!log.contains("mackerel") && !log.contains(PASSWORD), "{log}");
        client.send("orders", r#"{"n": 1}"#);
        assert_eq!(client.committed_offset("orders", 0), 0);
        end(server);
    }
}
