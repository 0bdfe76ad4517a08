//! Calls between the channels of a registry.

use serde_json::{Value, json};
use svc_model::{ChannelContent, Code, Protocol};
use svc_registry::ReloadScope;

use crate::kit::{RegistryWorld, channel, run};

/// A channel over the workflow of that id, which has its name.
fn own(name: &str) -> ChannelContent {
    ChannelContent { workflow_id: Some(name.into()), ..channel(name, &["POST"], &format!("/{name}")) }
}

/// A channel that calls the channel its payload names, and returns the answer of that one.
async fn caller(world: &RegistryWorld, target: &str) {
    let input = json!({"channel": target, "output": "data.got"});
    let tasks = json!([{"id": "call", "name": "", "function": {"name": "channel_call", "input": input}}]);
    world.workflow_of("front", tasks).await;
    world.channel(own("front")).await;
}

#[test]
fn a_call_meets_what_serves_now() {
    run(vec![], async |world| {
        caller(world, "stock").await;
        let running = world.start().await;
        let got = async || running.post("/front").await.map(|data| data["got"]["from"].clone());
        assert_eq!(got().await.unwrap_err().code(), Code::EngineError, "there is no such channel");
        for mark in ["first", "second"] {
            world.workflow("stock", mark).await;
            world.channel(own("stock")).await;
            running.registry.reload(ReloadScope::All).await.unwrap();
            assert_eq!(got().await.unwrap(), mark);
        }
        world.archive_channel("stock").await;
        running.registry.reload(ReloadScope::channel("stock")).await.unwrap();
        assert_eq!(got().await.unwrap_err().code(), Code::EngineError, "it is archived");
    });
}

#[test]
fn a_channel_that_serves_nobody_is_not_called() {
    let broken = |config: Value| ChannelContent { config, ..own("stock") };
    let cron = ChannelContent {
        protocol: Protocol::Cron,
        methods: None,
        route_pattern: None,
        transport_config: json!({"schedule": "0 0 3 * * *"}),
        ..own("stock")
    };
    for content in [broken(json!({"no such key": 1})), cron] {
        run(vec![], async |world| {
            caller(world, "stock").await;
            world.workflow("stock", "never").await;
            world.channel(content).await;
            let running = world.start().await;
            assert_eq!(running.post("/front").await.unwrap_err().code(), Code::EngineError);
            assert!(!running.is_quarantined("front"), "its caller serves on");
        });
    }
}

#[test]
fn a_kafka_channel_is_called_like_any_other() {
    run(vec![], async |world| {
        caller(world, "events").await;
        world.workflow("events", "kafka").await;
        let kafka = ChannelContent { protocol: Protocol::Kafka, topic: Some("t".into()), ..own("events") };
        world.channel(kafka).await;
        let running = world.start().await;
        assert_eq!(running.post("/front").await.unwrap()["got"]["from"], "kafka");
    });
}
