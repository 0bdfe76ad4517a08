//! The systems that a workflow calls.

use serde_json::json;
use svc_engine::catalogue::QueryLanguage;
use svc_model::ConnectorType;

use crate::declared;
use crate::support::workflow;

#[test]
fn connectors_and_channels_are_found_at_every_depth() {
    let tasks = json!([
        {"id": "a", "function": {"name": "http_call", "input": {"connector": "crm"}}},
        {"id": "g", "tasks": [
            {"id": "b", "function": {"name": "mongo_read", "input": {"connector": "docs", "database": "d"}}},
            {"id": "c", "function": {"name": "channel_call", "input": {"channel": "audit"}}},
            {"id": "d", "function": {"name": "channel_call", "input": {"channel": "audit"}}},
            {"id": "e", "function": {"name": "channel_call", "input": {"channel_logic": {"var": "data.c"}}}}
        ]},
        {"id": "f", "function": {"name": "map", "input": {"connector": "none of its inputs"}}},
        {"id": "k", "function": {"name": "publish_kafka", "input": {"connector": "events"}}},
        {"id": "l", "function": {"name": "publish_kafka", "input": {"connector": "events", "topic": "t"}}}
    ]);
    let content = workflow(&json!({"tasks": tasks})).content;
    let dependencies = declared::engine().dependencies(&content);
    let connectors: Vec<_> = dependencies
        .connectors
        .iter()
        .map(|one| (one.path.as_str(), one.connector.as_str(), one.accepts))
        .collect();
    assert_eq!(
        connectors,
        [
            ("tasks[0].function.input.connector", "crm", &[ConnectorType::Http][..]),
            ("tasks[1].tasks[0].function.input.connector", "docs", &[ConnectorType::Db][..]),
            ("tasks[3].function.input.connector", "events", &[ConnectorType::Kafka][..]),
            ("tasks[4].function.input.connector", "events", &[ConnectorType::Kafka][..]),
        ]
    );
    let docs = &dependencies.connectors[1];
    assert!(docs.names_database && docs.language == Some(QueryLanguage::MongoDb));
    let topics: Vec<_> = dependencies.connectors.iter().map(|one| one.inherited_input).collect();
    assert_eq!(topics, [None, None, Some("topic"), None]);
    assert_eq!(
        (dependencies.channels, dependencies.has_dynamic_channel_calls),
        (vec!["audit".to_owned()], true)
    );
}
