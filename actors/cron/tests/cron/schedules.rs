//! Instants become rows: which ones, when, and whatever happens to channels meanwhile.

use serde_json::json;
use svc_model::LifecycleStatus;
use svc_registry::ReloadScope;
use svc_testkit::state::wait_until;

use crate::kit::{CronFixture, Node, every_second, run, seconds, yearly_schedule};

#[test]
fn every_instant_runs_once_and_never_early() {
    run(async |world| {
        let node = world.start_with(|plan| plan.settings.poll = seconds(30)).await;
        node.channel("tick", every_second(""), json!({})).await;
        node.come_to("tick", "completed", 4).await;
        let rows = node.of_status("tick", "completed").await;
        for pair in rows.windows(2) {
            let apart = pair[1].row.scheduled_for.naive() - pair[0].row.scheduled_for.naive();
            assert_eq!(apart, chrono::TimeDelta::seconds(1));
        }
        for row in &rows {
            let late = row.row.started_at.unwrap().naive() - row.row.scheduled_for.naive();
            // The poll is far away: the claimer was told.
            assert!((0..1000).contains(&late.num_milliseconds()), "{late}");
            assert_eq!((row.row.attempt, &*row.row.trigger, row.executing_version), (1, "cron", Some(1)));
        }
        assert_eq!(
            node.metric("cron_schedule_lag_seconds_count"),
            world.witness.reported_runs().len() as f64
        );
        node.end().await;
    });
}

#[test]
fn run_knows_its_instant_and_leaves_trace() {
    run(async |world| {
        let node = world.start().await;
        let transport = json!({"schedule": "* * * * * *", "timezone": "Europe/Berlin", "payload": {"n": 1},
            "concurrency": {"policy": "forbid"}});
        node.channel("tick", transport, json!({})).await;
        node.come_to("tick", "completed", 1).await;
        let row = node.of_status("tick", "completed").await.remove(0);
        let run = world.witness.reported_runs().remove(0);
        let instant = row.row.scheduled_for.to_string();
        assert_eq!((&run["channel"], &run["vars"]), (&json!("tick"), &json!({"region": "eu"})));
        let trigger = &run["trigger"];
        assert_eq!(trigger["type"], "cron");
        assert_eq!(trigger["occurrence_id"], row.row.id);
        assert_eq!(trigger["scheduled_for"], instant);
        assert_eq!(trigger["started_at"], row.row.started_at.unwrap().to_string());
        assert_eq!((&trigger["timezone"], &trigger["attempt"]), (&json!("Europe/Berlin"), &json!(1)));
        assert_eq!((&trigger["singleton_key"], &trigger["singleton_slot"]), (&json!("tick"), &json!(0)));
        let trace = node.store.traces().get(row.trace_id.as_deref().unwrap()).await.unwrap().unwrap();
        assert_eq!((trace.row.mode.as_str(), trace.row.status.as_str()), ("cron", "completed"));
        assert_eq!(world.read("(SELECT input_json FROM traces LIMIT 1)"), r#"{"n":1}"#);
        assert_eq!(trace.result_json.as_deref(), Some("{}"), "the data document alone");
        assert_eq!(run["run"], json!({"key": row.row.id}));
        node.end().await;
    });
}

#[test]
fn missed_day_is_one_row_and_delays_none() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", every_second(""), json!({})).await;
        node.channel("other", every_second(""), json!({})).await;
        node.come_to("tick", "completed", 1).await;
        node.end().await;
        world.execute(
            "UPDATE cron_schedule_state SET next_fire_at = strftime('%Y-%m-%d %H:%M:%S', 'now', '-1 day')
             WHERE channel_id = 'tick'; DELETE FROM cron_occurrences",
        );
        let node = world.start().await;
        node.come_to("other", "completed", 2).await;
        node.come_to("tick", "skipped_misfire", 1).await;
        node.come_to("tick", "completed", 5).await;
        let missed = node.of_status("tick", "skipped_misfire").await;
        assert_eq!(missed.len(), 1);
        let message = missed[0].error_message.as_deref().unwrap();
        let count: u64 = message.split(' ').nth(1).unwrap().parse().unwrap();
        // All of the day but the seconds within the grace and the newest of those before.
        assert!((86_380..=86_400).contains(&count), "{message}");
        assert_eq!(node.metric("cron_occurrences_total{status=\"skipped_misfire\"}"), count as f64);
        // The newest of the late ones runs, and so does every instant from then on.
        let ran = node.occurrences("tick").await;
        for pair in ran[ran.iter().position(|row| row.row.status == "skipped_misfire").unwrap()..].windows(2)
        {
            let apart = pair[1].row.scheduled_for.naive() - pair[0].row.scheduled_for.naive();
            assert_eq!(apart, chrono::TimeDelta::seconds(1));
        }
        node.end().await;
    });
}

#[test]
fn edited_schedule_resets_cursor_edited_payload_does_not() {
    run(async |world| {
        let node = world.start().await;
        node.channel("yearly", yearly_schedule(""), json!({})).await;
        let cursor = async || node.store.ledger().cursors().await.unwrap().pop();
        wait_until(async || cursor().await.is_some()).await;
        // As if there were an instant of its own just before the next one.
        world.execute("UPDATE cron_schedule_state SET next_fire_at = datetime(next_fire_at, '-1 second')");
        let stands = cursor().await.unwrap().next_fire_at;
        node.channel("yearly", yearly_schedule("other"), json!({})).await;
        wait_until(async || cursor().await.is_some_and(|cursor| cursor.channel_version == 2)).await;
        assert_eq!(cursor().await.unwrap().next_fire_at, stands);
        node.channel("yearly", json!({"schedule": "* * * * * *"}), json!({})).await;
        node.come_to("yearly", "completed", 1).await;
        node.end().await;
    });
}

#[test]
fn unarchived_channel_begins_at_now() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", every_second(""), json!({})).await;
        node.come_to("tick", "completed", 1).await;
        node.set_status("tick", LifecycleStatus::Archived).await;
        node.registry.reload(ReloadScope::channel("tick")).await.unwrap();
        wait_until(async || node.state_of("cron/schedules/tick").is_none()).await;
        assert_eq!(node.cron.as_ref().unwrap().health().scheduled_channels, 0);
        let cursor = node.store.ledger().cursors().await.unwrap().remove(0);
        assert!(cursor.paused_at.is_some());
        world.execute("UPDATE cron_schedule_state SET next_fire_at = '2020-01-01 00:00:00'");
        let before = node.occurrences("tick").await.len();
        node.channel("tick", every_second(""), json!({})).await;
        node.come_to("tick", "completed", before + 1).await;
        assert!(node.of_status("tick", "skipped_misfire").await.is_empty());
        node.end().await;
    });
}

#[test]
fn a_node_that_runs_no_schedules_quarantines_them() {
    run(async |world| {
        let node = world.start_with(|plan| plan.cron_enabled = false).await;
        node.channel("tick", every_second(""), json!({})).await;
        assert_eq!(node.reason("tick").as_deref(), Some("cron scheduler disabled"));
        assert!(node.state_of("cron").is_none());
        node.end().await;
    });
}

#[test]
fn a_schedule_shows_when_it_is_due_next() {
    run(async |world| {
        let node = world.start().await;
        node.channel("yearly", yearly_schedule(""), json!({})).await;
        let cron = node.cron.as_ref().unwrap();
        wait_until(async || cron.next_due("yearly").is_some()).await;
        assert!(cron.next_due("yearly").unwrap().to_rfc3339().ends_with("-01-01T00:00:00+00:00"));
        assert_eq!(cron.next_due("unknown"), None);
        wait_until(async || cron.health().last_reconcile_at.is_some()).await;
        let health = cron.health();
        assert_eq!(health.trouble, None);
        assert_eq!((health.scheduled_channels, health.oldest_pending_age_secs), (1, None));
        node.end().await;
    });
}

#[test]
fn invalid_transport_quarantines_only_its_channel() {
    run(async |world| {
        let node = world.start().await;
        node.store_channel("broken", json!({"schedule": "every day"}), json!({})).await;
        node.channel("tick", every_second(""), json!({})).await;
        node.registry.reload(ReloadScope::All).await.unwrap();
        assert!(node.reason("broken").unwrap().starts_with("cron schedule: "), "{:?}", node.reason("broken"));
        assert!(node.state_of("cron/schedules/broken").is_none());
        node.come_to("tick", "completed", 1).await;
        node.end().await;
    });
}

#[test]
fn uninformed_node_adopts_version_of_lost_activator() {
    run(async |world| {
        let (first, other) = (world.start().await, world.start().await);
        first.channel("tick", every_second(""), json!({})).await;
        other.registry.reload(ReloadScope::channel("tick")).await.unwrap();
        other.come_to("tick", "completed", 2).await;
        let zone = json!({"schedule": "* * * * * *", "timezone": "Europe/Berlin"});
        first.channel("tick", zone, json!({})).await;
        let version = async || other.store.ledger().cursors().await.unwrap()[0].channel_version;
        wait_until(async || version().await == 2).await;
        first.crash().await;
        let so_far = other.of_status("tick", "completed").await.len();
        other.come_to("tick", "completed", so_far + 3).await;
        let newest = other.of_status("tick", "completed").await.pop().unwrap();
        assert_eq!((newest.channel_version, newest.executing_version), (2, Some(2)));
        other.end().await;
    });
}

#[test]
fn a_channel_archived_or_deleted_elsewhere_comes_back_nowhere() {
    run(async |world| {
        let (first, other) = (world.start().await, world.start().await);
        for channel in ["archived", "deleted"] {
            first.channel(channel, every_second(""), json!({})).await;
            other.registry.reload(ReloadScope::channel(channel)).await.unwrap();
            other.come_to(channel, "completed", 1).await;
        }
        for channel in ["archived", "deleted"] {
            first.set_status(channel, LifecycleStatus::Archived).await;
        }
        first.delete("deleted").await;
        // Nobody is told; each finds out by itself.
        for node in [&first, &other] {
            for channel in ["archived", "deleted"] {
                wait_until(async || node.state_of(&format!("cron/schedules/{channel}")).is_none()).await;
            }
        }
        let cursors = first.store.ledger().cursors().await.unwrap();
        assert_eq!(cursors.len(), 1);
        assert!(cursors[0].channel_id == "archived" && cursors[0].paused_at.is_some());
        assert!(first.occurrences("deleted").await.is_empty());
        first.end().await;
        other.end().await;
    });
}

/// Stores another transport of the only channel and loads it.
async fn store_transport(world: &CronFixture, node: &Node, transport: &str) {
    world.execute(&format!(
        "UPDATE definitions SET content = json_set(content, '$.transport_config', json('{transport}'))
         WHERE kind = 'channel'"
    ));
    node.registry.reload(ReloadScope::All).await.unwrap();
}

/// Starts a node whose channel `tick` runs once and is then quarantined. Returns the transport that serves.
async fn quarantine_after_run(world: &CronFixture) -> (Node, String) {
    let node = world.start().await;
    node.channel("tick", every_second(""), json!({})).await;
    node.come_to("tick", "completed", 1).await;
    let sound =
        world.read("(SELECT content -> '$.transport_config' FROM definitions WHERE kind = 'channel')");
    world.execute("DROP TRIGGER definitions_active_frozen");
    store_transport(world, &node, r#"{"schedule": "every day"}"#).await;
    wait_until(async || node.state_of("cron/schedules/tick").is_none()).await;
    (node, sound)
}

#[test]
fn a_channel_that_leaves_quarantine_begins_at_now() {
    run(async |world| {
        let (node, sound) = quarantine_after_run(&world).await;
        assert!(node.reason("tick").is_some());
        let before = node.occurrences("tick").await.len();
        world.execute("UPDATE cron_schedule_state SET next_fire_at = datetime('now', '-20 seconds')");
        store_transport(&world, &node, &sound).await;
        node.come_to("tick", "completed", before + 2).await;
        let rows = node.occurrences("tick").await;
        assert!(rows.iter().all(|row| row.row.status == "completed"
            || row.row.status == "pending"
            || row.row.status == "claimed"
            || row.row.status == "running"));
        assert!(rows.len() < before + 8, "twenty seconds are not made up for: {}", rows.len());
        node.end().await;
    });
}

#[test]
fn channel_after_quarantine_begins_after_now() {
    run(async |world| {
        let (node, sound) = quarantine_after_run(&world).await;
        let before: Vec<_> =
            node.occurrences("tick").await.into_iter().map(|row| row.row.scheduled_for).collect();
        world.execute("UPDATE cron_schedule_state SET next_fire_at = datetime('now', '-4 seconds')");
        let released = world.read("strftime('%Y-%m-%dT%H:%M:%S', 'now')");
        store_transport(&world, &node, &sound).await;
        node.come_to("tick", "completed", before.len() + 1).await;
        for row in node.occurrences("tick").await {
            let at = row.row.scheduled_for;
            assert!(before.contains(&at) || at.to_string()[..19] > *released, "{at} is made up for");
        }
        node.end().await;
    });
}
