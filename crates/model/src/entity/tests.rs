use serde_json::{Value, json};

use super::*;
use crate::{MASK, Timestamp};

fn timestamp() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
}

fn workflow() -> Workflow {
    Workflow {
        workflow_id: "w".into(),
        version: 2,
        content: WorkflowContent {
            name: "W".into(),
            description: None,
            priority: 1,
            condition: json!(true),
            tasks: vec![json!({"id": "a"})],
            tags: vec!["t".into()],
            loop_: None,
            continue_on_error: false,
        },
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: timestamp(),
        updated_at: timestamp(),
    }
}

fn channel(config: Value) -> Channel {
    Channel {
        channel_id: "c".into(),
        version: 1,
        content: ChannelContent {
            name: "C".into(),
            description: None,
            channel_type: ChannelType::Sync,
            protocol: Protocol::Rest,
            methods: None,
            route_pattern: None,
            topic: None,
            consumer_group: None,
            transport_config: json!({}),
            workflow_id: None,
            config,
            priority: 0,
            tags: vec![],
        },
        status: LifecycleStatus::Draft,
        created_at: timestamp(),
        updated_at: timestamp(),
    }
}

/// Asserts that each key of a read either can be authored or is listed as read-only.
fn is_split(read: &Value, authored: &Value, only_read: &[&str]) {
    for key in read.as_object().unwrap().keys() {
        let written = authored.get(key).is_some();
        assert!(
            written || only_read.contains(&key.as_str()),
            "{key} can neither be written nor is it passed over"
        );
    }
}

#[test]
fn every_read_key_is_written_or_ignored() {
    let (workflow, channel) = (workflow(), channel(json!({})));
    is_split(&workflow.to_json(), &workflow.content.hashable(), &Workflow::ONLY_READ);
    is_split(&channel.to_json(), &channel.content.hashable(), &Channel::ONLY_READ);
}

#[test]
fn only_looping_workflow_shows_a_loop() {
    let workflow = workflow();
    let expected = json!({"workflow_id": "w", "version": 2, "name": "W", "description": null, "priority": 1,
        "status": "active", "rollout_percentage": 100, "condition": true, "tasks": [{"id": "a"}], "tags": ["t"],
        "continue_on_error": false, "content_hash": workflow.content.content_hash(),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"});
    assert_eq!(workflow.to_json(), expected);
    let mut looping = workflow;
    looping.content.loop_ = Some(json!({"max": 3}));
    assert_eq!(looping.to_json()["loop"], json!({"max": 3}));
}

#[test]
fn channel_shows_every_field_absent_as_null() {
    let channel = channel(json!({}));
    let expected = json!({"channel_id": "c", "version": 1, "name": "C", "description": null, "channel_type": "sync",
        "protocol": "rest", "methods": null, "route_pattern": null, "topic": null, "consumer_group": null,
        "transport_config": {}, "workflow_id": null, "config": {}, "status": "draft", "priority": 0, "tags": [],
        "content_hash": channel.content.content_hash(), "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z"});
    assert_eq!(channel.to_json(), expected);
}

#[test]
fn channel_reads_masked_and_hashes_what_is_stored() {
    let with = |key: &str| channel(json!({"auth": {"mode": "api_key", "keys": [key]}}));
    let (one, other) = (with("one"), with("other"));
    assert_eq!(one.to_json()["config"]["auth"]["keys"], json!([MASK]));
    assert_ne!(one.to_json()["content_hash"], other.to_json()["content_hash"]);
}

#[test]
fn only_what_the_author_wrote_is_hashed() {
    let first = workflow();
    let mut second = workflow();
    second.version = 9;
    second.status = LifecycleStatus::Archived;
    second.rollout_percentage = 1;
    second.updated_at = Timestamp::now();
    assert_eq!(first.content.content_hash(), second.content.content_hash());
    let mut looping = workflow();
    looping.content.loop_ = Some(json!({"max": 3}));
    assert_ne!(first.content.content_hash(), looping.content.content_hash());
    let mut keys: Vec<_> = first.content.hashable().as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["condition", "continue_on_error", "description", "name", "priority", "tags", "tasks"]);
}

#[test]
fn a_connector_is_hashed_by_its_five_fields() {
    let connector = Connector {
        id: "i".into(),
        content: ConnectorContent {
            name: "n".into(),
            connector_type: "http".into(),
            config: json!({"url": "https://x"}),
            enabled: true,
            tags: vec![],
        },
        created_at: timestamp(),
        updated_at: timestamp(),
    };
    let expected = json!({"name": "n", "connector_type": "http", "config": {"url": "https://x"}, "enabled": true, "tags": []});
    assert_eq!(connector.content.hashable(), expected);
    assert_eq!(connector.content.content_hash(), crate::content_hash(&expected));
}

#[test]
fn names_are_read_as_they_are_written() {
    for status in [LifecycleStatus::Draft, LifecycleStatus::Active, LifecycleStatus::Archived] {
        assert_eq!(LifecycleStatus::parse(status.name()), Some(status));
        assert_eq!(serde_json::to_value(status).unwrap(), status.name());
    }
    assert_eq!(LifecycleStatus::parse("Draft"), None);
    for name in Protocol::NAMES {
        assert_eq!(Protocol::parse(&name.to_uppercase()).unwrap().name(), *name);
    }
    assert!(Protocol::Http.is_http() && Protocol::Rest.is_http() && !Protocol::Kafka.is_http());
    assert_eq!(ChannelType::parse("both"), None);
}
