//! Connectors follow what is stored; calls are not lost on the way.

use std::sync::Arc;

use futures_util::future::join;
use serde_json::json;
use svc_connectors::{ConnectorScope, LoadState};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{connector_to, run, wait_for_requests};

fn answering(body: &'static str) -> Upstream {
    Upstream::start(move |_| UpstreamReply::new(200, body)).unwrap()
}

#[test]
fn old_actor_finishes_while_changed_one_serves() {
    run(async |world| {
        let held = Arc::new(Upstream::start(|_| UpstreamReply::Held).unwrap());
        let quick = answering("2");
        world.connect(connector_to(&held, json!({}))).await;
        assert_eq!(world.actors(), ["connectors/c"]);
        let change = async {
            wait_for_requests(&held, 1).await;
            world.connect(connector_to(&quick, json!({}))).await;
            assert_eq!(world.actors(), ["connectors/c", "connectors/c~2"]);
            assert_eq!(world.call(json!({})).await, 2);
            held.open();
        };
        let (first, ()) = join(world.call(json!({})), change).await;
        assert_eq!(first, json!({}));
        world.become_actors(&["connectors/c~2"]).await;
    });
}

#[test]
fn unchanged_reload_keeps_actor_and_connections() {
    run(async |world| {
        let upstream = answering("1");
        world.variables.lock().insert("KEY".into(), "one".into());
        world.connect(connector_to(&upstream, json!({"headers": {"k": "env://KEY"}}))).await;
        const ROUNDS: usize = 40;
        for _ in 0..ROUNDS {
            world.call(json!({})).await;
            world.connectors.reload(ConnectorScope::All).await.unwrap();
        }
        assert_eq!(world.actors(), ["connectors/c"]);
        // A call that comes before the connection of the last one is idle again opens another; a new actor
        // always would.
        let opened = upstream.requests().iter().map(|asked| asked.connection).max().unwrap() + 1;
        assert!(opened < ROUNDS / 2, "{opened} connections for {ROUNDS} calls");
        world.variables.lock().insert("KEY".into(), "two".into());
        world.connectors.reload(ConnectorScope::All).await.unwrap();
        world.call(json!({})).await;
        assert_eq!(upstream.requests().pop().unwrap().header("k"), Some("two"), "a rotated secret is seen");
    });
}

#[test]
fn rewritten_connector_opens_new_connections() {
    run(async |world| {
        let upstream = answering("1");
        for _ in 0..2 {
            world.connect(connector_to(&upstream, json!({}))).await;
            assert_eq!(world.call(json!({})).await, 1);
        }
        world.become_actors(&["connectors/c~2"]).await;
        let connections: Vec<_> = upstream.requests().iter().map(|asked| asked.connection).collect();
        assert_eq!(connections, [0, 1], "nothing that was open is used");
    });
}

#[test]
fn a_reload_that_was_overtaken_takes_nothing_back() {
    run(async |world| {
        let upstream = answering("1");
        let rotate = |value: &str| world.variables.lock().insert("KEY".into(), value.into());
        let shown = async || {
            world.call(json!({})).await;
            upstream.requests().pop().unwrap().header("k").map(str::to_owned)
        };
        rotate("one");
        world.connect(connector_to(&upstream, json!({"headers": {"k": "env://KEY"}}))).await;
        let release = world.hold_reading();
        let later = async {
            world.reading_is_held().await;
            rotate("two");
            world.connectors.reload(ConnectorScope::All).await.unwrap();
            assert_eq!(shown().await.as_deref(), Some("two"));
            release.send(()).unwrap();
        };
        let (first, ()) = join(world.connectors.reload(ConnectorScope::All), later).await;
        first.unwrap();
        assert_eq!(shown().await.as_deref(), Some("two"));
    });
}

#[test]
fn overtaken_reload_brings_no_removed_connector_back() {
    run(async |world| {
        let upstream = answering("1");
        world.variables.lock().insert("KEY".into(), "one".into());
        world.connect(connector_to(&upstream, json!({"headers": {"k": "env://KEY"}}))).await;
        let release = world.hold_reading();
        let later = async {
            world.reading_is_held().await;
            world.remove("c").await;
            release.send(()).unwrap();
        };
        let (first, ()) = join(world.connectors.reload(ConnectorScope::All), later).await;
        first.unwrap();
        assert!(world.connectors.status("c").is_none());
        world.become_actors(&[]).await;
    });
}

#[test]
fn failed_connector_leaves_others_and_recovers_on_reload() {
    run(async |world| {
        let upstream = answering("1");
        world.connect(connector_to(&upstream, json!({}))).await;
        world.put("late", "http", true, connector_to(&upstream, json!({"url": "${LATE}"}))).await;
        let state = |id: &str| world.connectors.status(id).unwrap().state;
        assert!(
            matches!(state("late"), LoadState::Failed(error) if error.stage.name() == "env_substitution")
        );
        assert_eq!((state("c"), world.connectors.statuses().len()), (LoadState::Loaded, 2));
        assert_eq!(world.call(json!({})).await, 1);
        world.variables.lock().insert("LATE".into(), upstream.url("/late"));
        world.connectors.reload(ConnectorScope::All).await.unwrap();
        assert_eq!(state("late"), LoadState::Loaded);
        assert_eq!(world.call(json!({"connector": "late"})).await, 1);
    });
}

#[test]
fn disabled_or_removed_connector_returns_after_enabling() {
    run(async |world| {
        let upstream = answering("1");
        for _ in 0..3 {
            world.put("c", "http", true, connector_to(&upstream, json!({}))).await;
            assert_eq!(world.call(json!({})).await, 1);
            world.put("c", "http", false, connector_to(&upstream, json!({}))).await;
            assert_eq!(world.connectors.status("c").unwrap().state, LoadState::Disabled);
        }
        world.become_actors(&[]).await;
        world.put("c", "http", true, connector_to(&upstream, json!({}))).await;
        world.remove("c").await;
        assert!(world.connectors.status("c").is_none());
        world.become_actors(&[]).await;
    });
}

#[test]
fn restarted_actor_serves_on_new_connections() {
    run(async |world| {
        let upstream = answering("1");
        world.connect(connector_to(&upstream, json!({}))).await;
        world.call(json!({})).await;
        world.tree.restart("connectors/c").await.unwrap();
        world.tree.wait_until_running("connectors/c").await.unwrap();
        assert_eq!(world.call(json!({})).await, 1);
        let connections: Vec<_> = upstream.requests().iter().map(|asked| asked.connection).collect();
        assert_eq!(connections, [0, 1]);
        world.tree.restart("connectors/reconciler").await.unwrap();
        world.tree.wait_until_running("connectors/reconciler").await.unwrap();
        assert_eq!(world.call(json!({})).await, 1, "a restart of the reconciler changes no connector");
        world.connectors.reload(ConnectorScope::All).await.unwrap();
        assert_eq!(world.actors(), ["connectors/c"]);
    });
}

#[test]
fn a_rename_is_found_under_the_new_name_alone() {
    run(async |world| {
        let upstream = answering("1");
        world.connect(connector_to(&upstream, json!({}))).await;
        world.rename("c", "d").await;
        let message = world.fail(json!({})).await.message;
        assert!(message.starts_with("connector 'c' does not exist"), "{message}");
        assert_eq!(world.call(json!({"connector": "d"})).await, 1);
        assert_eq!(world.connectors.statuses().len(), 1);
    });
}
