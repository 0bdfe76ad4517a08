//! Tests that neither an unavailable database nor a failing actor ends a schedule.

use actix_supervision::{FaultKind, NodeState, PlannedFault, StartError};
use serde_json::{Value, json};

use svc_model::LifecycleStatus;
use svc_registry::ReloadScope;
use svc_testkit::state::wait_until;

use crate::kit::{CronFixture, every_second, millis, run, run_impatient, seconds, yearly_schedule};

#[test]
fn a_database_that_was_away_ends_no_schedule() {
    run_impatient(async |world| {
        let node = world.start().await;
        for channel in ["one", "two", "three"] {
            node.channel(channel, every_second(""), json!({})).await;
            node.come_to(channel, "completed", 1).await;
        }
        let lock = world.lock();
        // Every schedule has met the lock at least twice.
        wait_until(async || {
            let words = node.words.lock();
            let failures = words.iter().filter(|word| **word == "cron_reconcile_channel").count();
            failures >= 9 && words.contains(&"cron_claim")
        })
        .await;
        drop(lock);
        let back = tokio::time::Instant::now();
        let now = node.store.ledger().now().await.unwrap();
        for channel in ["one", "two", "three"] {
            wait_until(async || {
                let rows = node.of_status(channel, "completed").await;
                rows.iter().any(|row| row.row.scheduled_for.naive() > now)
            })
            .await;
        }
        assert!(back.elapsed() < seconds(10), "{:?}", back.elapsed());
        for channel in ["one", "two", "three"] {
            assert_eq!(node.tree.node(&format!("cron/schedules/{channel}")).unwrap().restarts, 0);
            let rows = node.occurrences(channel).await;
            for pair in rows.windows(2) {
                let apart = pair[1].row.scheduled_for.naive() - pair[0].row.scheduled_for.naive();
                assert_eq!(apart, chrono::TimeDelta::seconds(1), "every instant is on record");
            }
        }
        node.end().await;
    });
}

#[test]
fn schedule_out_of_restarts_quarantines_its_channel_until_restarted() {
    run(async |world| {
        let fails = |nth| PlannedFault {
            path: "cron/schedules/bad".into(),
            message: "*".into(),
            nth,
            kind: FaultKind::FailStart(StartError::Transient("planned".into())),
        };
        let node = world.start_with(|plan| plan.faults = (1..=6).map(fails).collect()).await;
        node.channel("bad", every_second(""), json!({})).await;
        node.channel("good", every_second(""), json!({})).await;
        wait_until(async || node.reason("bad").is_some()).await;
        assert!(node.reason("bad").unwrap().starts_with("its schedule: "), "{:?}", node.reason("bad"));
        assert_eq!(node.state_of("cron/schedules/bad"), Some(NodeState::Quarantined));
        node.come_to("good", "completed", 2).await;
        assert!(node.of_status("bad", "completed").await.is_empty());
        node.tree.restart("cron/schedules/bad").await.unwrap();
        wait_until(async || node.reason("bad").is_none()).await;
        node.come_to("bad", "completed", 1).await;
        node.end().await;
    });
}

#[test]
fn changed_channel_revives_its_quarantined_schedule() {
    run(async |world| {
        let fails = |nth| PlannedFault {
            path: "cron/schedules/bad".into(),
            message: "*".into(),
            nth,
            kind: FaultKind::FailStart(StartError::Transient("planned".into())),
        };
        let node = world.start_with(|plan| plan.faults = (1..=6).map(fails).collect()).await;
        node.channel("bad", yearly_schedule(""), json!({})).await;
        wait_until(async || node.reason("bad").is_some()).await;
        node.channel("bad", every_second(""), json!({})).await;
        node.come_to("bad", "completed", 1).await;
        assert_eq!(node.reason("bad"), None);
        node.end().await;
    });
}

#[test]
fn a_restart_of_any_part_loses_nothing() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", every_second(""), json!({})).await;
        node.come_to("tick", "completed", 1).await;
        for part in ["cron/schedules/tick", "cron/reconciler", "cron/claimer", "cron/reaper", "registry"] {
            node.tree.restart(part).await.unwrap();
            let so_far = node.of_status("tick", "completed").await.len();
            node.come_to("tick", "completed", so_far + 1).await;
        }
        let rows = node.occurrences("tick").await;
        for pair in rows.windows(2) {
            let apart = pair[1].row.scheduled_for.naive() - pair[0].row.scheduled_for.naive();
            assert_eq!(apart, chrono::TimeDelta::seconds(1));
        }
        assert!(rows.iter().all(|row| row.row.attempt <= 1));
        node.end().await;
    });
}

#[test]
fn run_without_renewed_lease_is_taken_over() {
    run_impatient(async |world| {
        let node = world
            .start_with(|plan| {
                plan.settings.lease = seconds(2);
                plan.settings.heartbeat = millis(400);
            })
            .await;
        node.channel("tick", yearly_schedule("hold"), json!({})).await;
        // Due once, now.
        wait_until(async || node.store.ledger().cursors().await.unwrap().len() == 1).await;
        world.execute(
            "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for)
             VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'tick', 'tick', 1,
                     strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        );
        wait_until(async || world.witness.running() == 1).await;
        let lock = world.lock();
        wait_until(async || world.witness.running() == 0).await;
        assert_eq!(node.occurrences("tick").await[0].row.status, "running", "nothing is written about it");
        assert!(node.cron.as_ref().unwrap().health().lease_renewal_failures > 0);
        drop(lock);
        wait_until(async || world.witness.running() == 1).await;
        world.witness.release(1);
        node.come_to("tick", "completed", 1).await;
        let row = node.occurrences("tick").await.remove(0);
        assert_eq!(
            (row.row.attempt, world.witness.reported_runs().len(), world.witness.max_concurrent()),
            (2, 2, 1)
        );
        node.end().await;
    });
}

#[test]
fn run_interrupted_by_crash_becomes_second_attempt() {
    run(async |world| {
        let lease = |plan: &mut crate::kit::NodeOptions| {
            plan.settings.lease = seconds(2);
            plan.settings.heartbeat = millis(500);
        };
        let node = world.start_with(lease).await;
        node.channel("tick", yearly_schedule("hold"), json!({})).await;
        wait_until(async || node.store.ledger().cursors().await.unwrap().len() == 1).await;
        world.execute(
            "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for)
             VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'tick', 'tick', 1,
                     strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        );
        wait_until(async || world.witness.running() == 1).await;
        node.crash().await;
        wait_until(async || world.witness.running() == 0).await;
        let node = world.start_with(lease).await;
        wait_until(async || world.witness.running() == 1).await;
        world.witness.release(1);
        node.come_to("tick", "completed", 1).await;
        let row = node.occurrences("tick").await.remove(0);
        let runs = world.witness.reported_runs();
        assert_eq!((row.row.attempt, runs[1]["trigger"]["attempt"].clone()), (2, json!(2)));
        assert_eq!(runs[0]["trigger"]["occurrence_id"], runs[1]["trigger"]["occurrence_id"]);
        assert_eq!(runs[0]["trigger"]["scheduled_for"], runs[1]["trigger"]["scheduled_for"]);
        node.end().await;
    });
}

/// Puts an occurrence on record that is due now; `columns` and `values` say more about it.
fn put_occurrence(world: &CronFixture, id: &str, channel: &str, columns: &str, values: &str) {
    world.execute(&format!(
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for{columns})
         VALUES ('{id}', '{channel}', '{channel}', 1, strftime('%Y-%m-%d %H:%M:%f', 'now'){values})"
    ));
}

/// Returns the payload of the only report that was accepted.
async fn report(world: &CronFixture) -> Value {
    let query = |expression| format!("(SELECT {expression} FROM traces WHERE channel = 'alerts')");
    wait_until(async || world.read(&query("count(*) || ''")) == "1").await;
    let input: Value = serde_json::from_str(&world.read(&query("max(input_json)"))).unwrap();
    input["data"].clone()
}

#[test]
fn occurrence_with_too_many_expired_leases_is_reported() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", yearly_schedule("hold"), json!({"on_failure": "alerts"})).await;
        let trace = "01890a5d-ac96-774b-bcce-b302099a8058";
        put_occurrence(
            &world,
            "01890a5d-ac96-774b-bcce-b302099a8057",
            "tick",
            ", status, attempt, recoveries, claimed_by, claimed_until, trace_id",
            &format!(", 'running', 6, 5, 'dead', '2000-01-01 00:00:00', '{trace}'"),
        );
        node.come_to("tick", "failed", 1).await;
        let report = report(&world).await;
        assert_eq!((&report["channel"], &report["trace_id"]), (&json!("tick"), &json!(trace)), "{report}");
        assert!(report["error"].as_str().unwrap().starts_with("attempts_exhausted: "), "{report}");
        assert_eq!(report["data"], json!({"do": "hold"}));
        assert_eq!(world.witness.reported_runs().len(), 0);
        node.end().await;
    });
}

#[test]
fn occurrence_of_unserved_channel_is_reported() {
    for is_archived in [true, false] {
        run(async |world| {
            let node = world.start().await;
            node.channel("tick", yearly_schedule("hold"), json!({"on_failure": "alerts"})).await;
            match is_archived {
                true => node.set_status("tick", LifecycleStatus::Archived).await,
                false => world.execute("UPDATE definitions SET status = 'archived' WHERE kind = 'workflow'"),
            }
            node.registry.reload(ReloadScope::All).await.unwrap();
            assert_eq!(node.reason("tick").is_some(), !is_archived);
            put_occurrence(&world, "01890a5d-ac96-774b-bcce-b302099a8057", "tick", "", "");
            node.come_to("tick", "failed", 1).await;
            let report = report(&world).await;
            assert!(report["error"].as_str().unwrap().starts_with("channel_unavailable: "), "{report}");
            assert_eq!((&report["trace_id"], &report["data"]), (&Value::Null, &json!({"do": "hold"})));
            node.end().await;
        });
    }
}
