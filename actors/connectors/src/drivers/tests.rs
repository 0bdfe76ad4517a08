use serde_json::json;
use svc_model::ConnectorType;

use super::*;

/// A config of each type, with the feature that its driver needs.
fn configs() -> Vec<(ConnectorType, serde_json::Value, Option<&'static str>, bool)> {
    let (db, storage) = (
        |url: &str| json!({"connection_string": url}),
        json!({"endpoint": "https://s3.example.com", "region": "r", "bucket": "b", "access_key": "a", "secret_key": "s"}),
    );
    vec![
        (ConnectorType::Http, json!({"url": "https://a.example"}), None, true),
        (ConnectorType::Cache, json!({"backend": "memory"}), None, true),
        (ConnectorType::Es, json!({"url": "https://a.example"}), Some("es"), cfg!(feature = "es")),
        (
            ConnectorType::Kafka,
            json!({"brokers": ["a.example:9092"]}),
            Some("kafka"),
            cfg!(feature = "kafka"),
        ),
        (ConnectorType::Db, db("postgres://u@a.example/d"), Some("sql"), cfg!(feature = "sql")),
        (ConnectorType::Db, db("sqlite::memory:"), Some("sql"), cfg!(feature = "sql")),
        (ConnectorType::Db, db("mongodb://a.example"), Some("mongo"), cfg!(feature = "mongo")),
        (
            ConnectorType::Smtp,
            json!({"host": "a.example", "from": "a@b.example"}),
            Some("smtp"),
            cfg!(feature = "smtp"),
        ),
        (ConnectorType::Storage, storage, Some("storage"), cfg!(feature = "storage")),
    ]
}

#[test]
fn type_without_driver_is_refused_naming_the_feature() {
    for (kind, config, feature, is_built) in configs() {
        let config = ConnectorConfig::parse(kind, &config).unwrap();
        let refused = resolve(&config).err();
        assert_eq!(refused.is_none(), is_built, "{kind}: {refused:?}");
        if let (Some(refused), Some(feature)) = (refused, feature) {
            assert!(refused.contains(&format!("without the feature '{feature}'")), "{refused}");
            assert!(refused.contains(kind.name()), "{refused}");
        }
    }
}

#[test]
fn every_connector_type_is_covered_by_these_tests() {
    for kind in ConnectorType::ALL {
        assert!(configs().iter().any(|(covered, ..)| *covered == kind), "{kind}");
    }
}
