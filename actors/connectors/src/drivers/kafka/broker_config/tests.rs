use serde_json::{Value, json};
use svc_model::ConnectorType;
use svc_model::config::connector::ConnectorConfig;
use svc_outbound::Trust;

use super::*;

const HOME: &str = "home.example:9092";

fn cluster() -> KafkaCluster {
    let properties = [
        ("security.protocol", "sasl_ssl"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", "operator"),
        ("sasl.password", "swordfish"),
        ("sasl.oauthbearer.client.secret", "swordfish"),
        ("ssl.key.password", "swordfish"),
        ("ssl.key.pem", "swordfish"),
        ("SSL.Certificate.Location", "/swordfish"),
        ("ssl.ca.location", "/etc/operator.pem"),
        ("enable.ssl.certificate.verification", "false"),
        ("linger.ms", "0"),
        ("bootstrap.servers", "elsewhere:1"),
        ("metadata.broker.list", "elsewhere:1"),
    ];
    KafkaCluster {
        brokers: vec![HOME.to_owned(), "b.example:9093".to_owned()],
        properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    }
}

fn client_config(config: Value) -> Result<ClientConfig, CallFailure> {
    let settings = match ConnectorConfig::parse(ConnectorType::Kafka, &config) {
        Ok(ConnectorConfig::Kafka(config)) => KafkaSettings::new(&config).unwrap(),
        other => panic!("{other:?}"),
    };
    let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
    BrokerConfig::within(&settings, &cluster(), &outbound).map(|broker_config| broker_config.config())
}

fn shows(config: &ClientConfig, text: &str) -> bool {
    config.config_map().values().any(|value| value.contains(text))
}

#[test]
fn operator_credentials_go_to_operator_brokers_only() {
    for brokers in [json!([]), json!(["Home.example"]), json!(["b.example:9093", HOME])] {
        let config = client_config(json!({"brokers": brokers})).unwrap();
        assert_eq!(config.get("sasl.password"), Some("swordfish"), "{brokers}");
    }
    for brokers in [json!(["evil.example"]), json!([HOME, "evil.example"]), json!(["home.example:1"])] {
        let config = client_config(json!({"brokers": brokers, "allow_private_urls": true})).unwrap();
        assert!(!shows(&config, "swordfish") && !shows(&config, "operator"), "{brokers}: {config:?}");
        assert_eq!(config.get("security.protocol"), None);
        assert_eq!(config.get("enable.ssl.certificate.verification"), None, "nor its trust");
        assert_eq!(config.get("linger.ms"), Some("0"), "what is no credential counts for every broker");
    }
}

#[test]
fn connector_credentials_replace_those_of_the_operator() {
    let auth = json!({"security_protocol": "sasl_ssl", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "own",
        "sasl_password": "pencil"});
    for brokers in [json!(["partner.example:9093"]), json!([])] {
        let config =
            client_config(json!({"brokers": brokers, "allow_private_urls": true, "auth": auth})).unwrap();
        assert!(!shows(&config, "swordfish"), "{config:?}");
        let get = |name| config.get(name).unwrap_or_default();
        assert_eq!((get("security.protocol"), get("sasl.mechanism")), ("sasl_ssl", "SCRAM-SHA-512"));
        assert_eq!((get("sasl.username"), get("sasl.password")), ("own", "pencil"));
        let at_home = brokers == json!([]);
        assert_eq!(config.get("ssl.ca.location").is_some(), at_home, "its authority is for its brokers");
        assert_eq!(config.get("ssl.ca.pem").is_some(), !at_home);
    }
}

#[test]
fn connector_brokers_need_permission_for_unchecked_addresses() {
    for broker in ["8.8.8.8:9092", "broker.example", "127.0.0.1:9092", "[::1]:9092"] {
        let refused = client_config(json!({"brokers": [broker]})).unwrap_err();
        assert!(refused.to_string().starts_with("SSRF protection: "), "{refused}");
        assert!(refused.to_string().contains("allow_private_urls"), "{refused}");
    }
}

#[test]
fn properties_of_the_operator_win_but_for_the_brokers() {
    let config = client_config(json!({"brokers": []})).unwrap();
    assert_eq!(config.get("linger.ms"), Some("0"));
    assert_eq!((config.get("acks"), config.get("enable.idempotence")), (Some("all"), Some("true")));
    assert_eq!(config.get("bootstrap.servers"), Some("home.example:9092,b.example:9093"));
    assert_eq!(config.get("metadata.broker.list"), None);
}
