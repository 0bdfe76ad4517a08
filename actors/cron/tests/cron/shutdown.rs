//! A node that ends: nothing begins any more, what runs may finish, what does not is given back at once.

use actix_supervision::NodeState;
use serde_json::json;
use svc_testkit::state::wait_until;

use crate::kit::{millis, run, seconds};

#[test]
fn a_run_that_ends_in_time_is_waited_for() {
    run(async |world| {
        let node = world.start().await;
        node.channel("tick", json!({"schedule": "* * * * * *", "payload": {"do": "hold"}}), json!({})).await;
        wait_until(async || world.witness.running() == 1).await;
        let (tree, witness) = (node.tree.clone(), world.witness.clone());
        let ending = actix_rt::spawn(async move { tree.shutdown(seconds(30)).await });
        wait_until(async || node.state_of("cron/schedules/tick") != Some(NodeState::Running)).await;
        witness.release(100);
        ending.await.unwrap();
        let next = world.start_with(|plan| plan.cron_enabled = false).await;
        let rows = next.occurrences("tick").await;
        assert_eq!((&*rows[0].row.status, rows[0].row.attempt), ("completed", 1));
        next.end().await;
    });
}

#[test]
fn overlong_run_is_dropped_and_returns_its_slot() {
    run(async |world| {
        let node = world.start_with(|plan| plan.settings.shutdown_timeout = millis(300)).await;
        let transport = json!({"schedule": "* * * * * *", "payload": {"do": "hold"},
            "concurrency": {"policy": "forbid"}});
        node.channel("tick", transport, json!({})).await;
        wait_until(async || world.witness.running() == 1).await;
        node.end().await;
        assert_eq!(world.witness.running(), 0);
        // Far from the end of its lease, another node runs it at once.
        let next = world.start_with(|plan| plan.cron_enabled = false).await;
        let row = next.occurrences("tick").await.remove(0);
        assert_eq!((&*row.row.status, row.row.attempt, row.claimed_until), ("pending", 0, None));
        assert!(next.store.ledger().slots_held(vec!["tick".to_owned()]).await.unwrap().is_empty());
        next.end().await;
        let next = world.start().await;
        world.witness.release(100);
        next.come_to("tick", "completed", 1).await;
        let again = next.of_status("tick", "completed").await.remove(0);
        assert_eq!((again.row.id, again.row.attempt), (row.row.id, 1));
        next.end().await;
    });
}
