//! Tests of the ends of runs and their rows.

use serde_json::{Value, json};
use svc_model::config::TracingMode;
use svc_registry::ReloadScope;
use svc_store::{ChannelFacts, OccurrenceRecord};
use svc_testkit::state::wait_until;
use svc_testworld::definitions::audit;

use crate::kit::{Node, every_second, run, yearly_schedule};

/// Starts a channel once, as an operator does.
pub(crate) async fn trigger(node: &Node, channel: &str) -> OccurrenceRecord {
    let facts = ChannelFacts {
        channel_id: channel.into(),
        channel_name: channel.into(),
        channel_version: 1,
        workflow_id: Some(channel.into()),
    };
    let row = node.store.ledger().trigger(facts, audit()).await.unwrap();
    node.cron.as_ref().unwrap().nudge();
    row
}

/// Triggers a run and returns its result.
async fn outcome(node: &Node, id: &str) -> OccurrenceRecord {
    wait_until(async || node.store.ledger().get(id).await.unwrap().unwrap().row.completed_at.is_some()).await;
    node.store.ledger().get(id).await.unwrap().unwrap()
}

async fn of_one(node: &Node, channel: &str, action: &str, config: Value) -> OccurrenceRecord {
    node.channel(channel, yearly_schedule(action), config).await;
    let row = trigger(node, channel).await;
    assert_eq!((&*row.row.trigger, &*row.row.status, row.row.attempt), ("manual", "pending", 0));
    outcome(node, &row.row.id).await
}

#[test]
fn attempt_shorter_than_a_heartbeat_renews_no_lease() {
    run(async |world| {
        let node = world.start().await;
        let row = of_one(&node, "short", "hold", json!({"timeout_ms": 300})).await;
        assert_eq!(&*row.row.status, "failed");
        let mut registry = prometheus_client::registry::Registry::default();
        node.store.metrics().register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("operation=\"ledger.start\""), "{text}");
        assert!(!text.contains("operation=\"ledger.renew\""), "the start was the first renewal: {text}");
    });
}

#[test]
fn run_ends_like_its_workflow_with_reason() {
    run(async |world| {
        let node = world.start().await;
        let row = of_one(&node, "well", "", json!({})).await;
        assert_eq!((&*row.row.status, row.error_message), ("completed", None));
        assert_eq!(world.witness.reported_runs()[0]["trigger"]["type"], "manual");

        let row = of_one(&node, "fails", "fail", json!({})).await;
        assert_eq!(&*row.row.status, "failed");
        assert!(row.error_message.as_deref().unwrap().contains("it was told to fail"), "{row:?}");
        let trace = node.store.traces().get(row.trace_id.as_deref().unwrap()).await.unwrap().unwrap();
        assert_eq!((trace.row.status.as_str(), trace.row.error_message), ("failed", row.error_message));

        let row = of_one(&node, "panics", "panic", json!({})).await;
        assert_eq!(row.error_message.as_deref(), Some("the run ended unexpectedly"));

        let row = of_one(&node, "hangs", "hold", json!({"timeout_ms": 50})).await;
        assert_eq!(row.error_message.as_deref(), Some("timed out after 50ms"));
        wait_until(async || world.witness.running() == 0).await;

        let refuses = json!({"validation_logic": {"==": [{"var": "data.do"}, "something else"]}});
        let row = of_one(&node, "refused", "", refuses).await;
        assert!(row.error_message.unwrap().starts_with("guard_refused: "));
        assert_eq!(&*row.row.status, "failed");

        let typed =
            json!({"request": {"schema": {"required": ["do"], "properties": {"do": {"type": "integer"}}}}});
        let row = of_one(&node, "typed", "", typed).await;
        let message = row.error_message.unwrap();
        assert!(message.starts_with("guard_refused: body.do: "), "{message}");

        // Counted behind the row.
        wait_until(async || node.metric("cron_occurrences_total{status=\"failed\"}") == 5.0).await;
        let ran = |channel: &str| {
            node.metric(&format!("cron_execution_duration_seconds_count{{channel=\"{channel}\"}}"))
        };
        assert_eq!((ran("well"), ran("refused")), (1.0, 0.0), "a refusal is no run");
        let letters = svc_store::DeadLetterFilter::default();
        let (letters, _) = node.store.dead_letters().list(letters, svc_model::Page::default()).await.unwrap();
        assert!(letters.is_empty(), "a failed run is no dead letter");
        node.end().await;
    });
}

#[test]
fn series_of_runs_ends_with_its_channel() {
    run(async |world| {
        let node = world.start().await;
        of_one(&node, "brief", "", json!({})).await;
        let counted = || node.metric("cron_execution_duration_seconds_count{channel=\"brief\"}");
        wait_until(async || counted() == 1.0).await;
        of_one(&node, "other", "", json!({})).await;
        assert_eq!(counted(), 1.0);
        node.set_status("brief", svc_model::LifecycleStatus::Archived).await;
        node.registry.reload(ReloadScope::channel("brief")).await.unwrap();
        wait_until(async || counted() == 0.0).await;
        node.end().await;
    });
}

#[test]
fn full_channel_delays_only_its_own_rows() {
    run(async |world| {
        let node = world.start().await;
        let one = json!({"backpressure": {"max_concurrent_per_node": 1}});
        node.channel("narrow", yearly_schedule("hold"), one).await;
        let first = trigger(&node, "narrow").await;
        wait_until(async || world.witness.running() == 1).await;
        let mut waiting = Vec::new();
        for _ in 0..6 {
            waiting.push(trigger(&node, "narrow").await);
        }
        let row = of_one(&node, "wide", "", json!({})).await;
        assert_eq!(&*row.row.status, "completed", "six older rows of another channel wait");
        assert_eq!((world.witness.running(), world.witness.max_concurrent()), (1, 2));
        for row in &waiting {
            let row = node.store.ledger().get(&row.row.id).await.unwrap().unwrap();
            assert!(matches!(&*row.row.status, "pending" | "claimed" | "running"), "{row:?}");
        }
        world.witness.release(7);
        for row in waiting.iter().chain([&first]) {
            let row = outcome(&node, &row.row.id).await;
            assert_eq!((&*row.row.status, row.row.attempt), ("completed", 1), "waiting is no attempt");
        }
        node.end().await;
    });
}

#[test]
fn runs_that_share_a_key_never_overlap() {
    run(async |world| {
        let node = world.start().await;
        let forbids = |key: &str| {
            json!({"schedule": "* * * * * *", "payload": {"do": "hold"},
                "concurrency": {"policy": "forbid", "key": key}})
        };
        node.channel("one", forbids("shared"), json!({})).await;
        node.channel("other", forbids("shared"), json!({})).await;
        wait_until(async || {
            let skipped = ["one", "other"].map(|channel| node.of_status(channel, "skipped_singleton"));
            let [one, other] = skipped;
            one.await.len() + other.await.len() >= 3
        })
        .await;
        assert_eq!(world.witness.max_concurrent(), 1);
        let skipped = node.of_status("one", "skipped_singleton").await;
        let skipped = skipped.into_iter().chain(node.of_status("other", "skipped_singleton").await);
        assert!(skipped.map(|row| row.error_message.unwrap()).all(|why| why.contains("shared")));
        wait_until(async || node.metric("cron_singleton_contention_total") >= 3.0).await;
        world.witness.release(100);
        wait_until(async || {
            !node.of_status("one", "completed").await.is_empty()
                || !node.of_status("other", "completed").await.is_empty()
        })
        .await;
        node.end().await;
        assert_eq!(world.witness.max_concurrent(), 1);
    });
}

#[test]
fn every_run_is_traced_despite_mode_and_sampling() {
    run(async |world| {
        let node = world.start_with(|plan| plan.tracing = TracingMode::Off).await;
        for (channel, tracing) in [
            ("off", json!({})),
            ("sampled", json!({"tracing": {"mode": "sync", "sample_rate": 0.0}})),
            ("errors", json!({"tracing": {"mode": "sync", "errors_only": true}})),
            ("kept", json!({"tracing": {"mode": "sync"}})),
        ] {
            let row = of_one(&node, channel, "", tracing).await;
            assert_eq!((&*row.row.status, row.executing_version), ("completed", Some(1)), "{channel}");
            let trace = node.store.traces().get(row.trace_id.as_deref().unwrap()).await.unwrap().unwrap();
            // Where failures alone are kept, a clean run leaves its row without the result.
            assert_eq!(trace.result_json.is_some(), channel != "errors", "{channel}");
        }
        node.end().await;
    });
}

#[test]
fn lease_is_renewed_while_its_run_lasts() {
    run(async |world| {
        let node = world
            .start_with(|plan| {
                plan.settings.lease = std::time::Duration::from_secs(2);
                plan.settings.heartbeat = std::time::Duration::from_millis(500);
            })
            .await;
        node.channel("long", yearly_schedule("hold"), json!({})).await;
        let row = trigger(&node, "long").await;
        let until_first = async || {
            let row = node.store.ledger().get(&row.row.id).await.unwrap().unwrap();
            row.claimed_until
        };
        wait_until(async || until_first().await.is_some()).await;
        let first = until_first().await.unwrap();
        // Two leases further.
        let far = first.naive() + chrono::TimeDelta::seconds(4);
        wait_until(async || until_first().await.is_some_and(|until| until.naive() > far)).await;
        world.witness.release(1);
        let row = outcome(&node, &row.row.id).await;
        assert_eq!(
            (&*row.row.status, row.row.attempt, world.witness.reported_runs().len()),
            ("completed", 1, 1)
        );
        assert_eq!(row.claimed_until, None);
        node.end().await;
    });
}

#[test]
fn only_missing_or_broken_channel_fails_its_row() {
    run(async |world| {
        let node = world.start().await;
        let row = trigger(&node, "gone").await;
        let row = outcome(&node, &row.row.id).await;
        assert!(row.error_message.unwrap().starts_with("channel_unavailable: "));

        node.store_channel("broken", json!({"schedule": "every day"}), json!({})).await;
        let row = trigger(&node, "broken").await;
        let row = outcome(&node, &row.row.id).await;
        assert!(row.error_message.unwrap().starts_with("channel_unavailable: cron schedule: "));

        // Activated by another node: this one was not told.
        node.store_channel("new", yearly_schedule(""), json!({})).await;
        let row = trigger(&node, "new").await;
        assert_eq!(&*outcome(&node, &row.row.id).await.row.status, "completed");
        node.end().await;
    });
}

#[test]
fn excluded_channel_is_left_to_other_nodes() {
    run(async |world| {
        let filtering = world.start_with(|plan| plan.filter.exclude = vec!["tick".to_owned()]).await;
        filtering.channel("tick", every_second(""), json!({})).await;
        filtering.channel("own", every_second(""), json!({})).await;
        let row = trigger(&filtering, "tick").await;
        filtering.come_to("own", "completed", 2).await;
        let waits = filtering.store.ledger().get(&row.row.id).await.unwrap().unwrap();
        assert!(matches!(&*waits.row.status, "pending" | "claimed"), "{waits:?}");
        let other = world.start().await;
        assert_eq!(outcome(&other, &row.row.id).await.row.status, "completed");
        other.end().await;
        filtering.end().await;
    });
}

#[test]
fn run_of_deleted_channel_ends_its_trace() {
    run(async |world| {
        let node = world
            .start_with(|plan| {
                plan.settings.lease = std::time::Duration::from_secs(2);
                plan.settings.heartbeat = std::time::Duration::from_millis(400);
            })
            .await;
        node.channel("gone", yearly_schedule("hold"), json!({})).await;
        let row = trigger(&node, "gone").await;
        wait_until(async || world.witness.running() == 1).await;
        let id = node.store.ledger().get(&row.row.id).await.unwrap().unwrap().trace_id.unwrap();
        node.set_status("gone", svc_model::LifecycleStatus::Archived).await;
        node.delete("gone").await;
        let trace = async || node.store.traces().get(&id).await.unwrap().unwrap();
        wait_until(async || trace().await.row.status.as_str() == "failed").await;
        assert!(trace().await.row.error_message.unwrap().contains("lost"));
        assert_eq!(world.witness.running(), 0);
        node.end().await;
    });
}

#[test]
fn row_is_run_by_its_version_or_newer() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", yearly_schedule(""), json!({})).await;
        // Activated by another node: this one was not told.
        node.store_channel("tick", yearly_schedule(""), json!({})).await;
        let facts = ChannelFacts {
            channel_id: "tick".into(),
            channel_name: "tick".into(),
            channel_version: 2,
            workflow_id: Some("tick".into()),
        };
        let row = node.store.ledger().trigger(facts, audit()).await.unwrap();
        node.cron.as_ref().unwrap().nudge();
        assert_eq!(outcome(&node, &row.row.id).await.executing_version, Some(2));
        node.end().await;
    });
}
