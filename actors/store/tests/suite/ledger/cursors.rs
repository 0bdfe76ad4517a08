//! Cursors, and the recording of instants.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{NaiveDateTime, TimeZone, Utc};
use futures_util::future::join_all;
use svc_ledger::{AlignRequest, Misfire, Missed};
use svc_model::{LifecycleStatus, Page};
use svc_store::{AlignOutcome, MaterialiseOutcome, OccurrenceFilter, OccurrencePage};

use super::super::{any_mutation, channel, requirements, workflow};
use super::{
    TestDatabase, ago, align, align_cursor, claim_single, order, seconds, singleton, start, statuses,
    write_occurrences,
};

pub(crate) async fn a_cursor_is_made_taken_over_and_begun_anew(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let next = ago(&ledger, 10).await;
    let cursor = align_cursor(&db, &ledger, align("c", next)).await;
    assert_eq!((cursor.next_fire_at, cursor.paused_at, cursor.channel_version), (next, None, 1));
    let later = next + seconds(99);
    let edited = AlignRequest { version: 2, ..align("c", later) };
    let cursor = align_cursor(&db, &ledger, edited.clone()).await;
    assert_eq!((cursor.next_fire_at, cursor.channel_version), (next, 2), "it goes on where it stands");
    let other = AlignRequest { version: 3, config_hash: "other".into(), ..edited };
    let anew = align_cursor(&db, &ledger, other).await;
    assert_eq!((anew.next_fire_at, anew.config_hash.as_str()), (later, "other"));
    db.execute("UPDATE definitions SET status = 'archived' WHERE version < 3").await.unwrap();
    let stale = ledger.align(align("c", next)).await.unwrap();
    assert_eq!(stale, AlignOutcome::NotActive, "a node that has not heard changes nothing");
    assert_eq!(ledger.cursors().await.unwrap(), [anew]);
}

pub(crate) async fn of_many_nodes_that_are_as_far_one_writes(db: TestDatabase) {
    let nodes = [db.store().await.ledger(), db.store().await.ledger()];
    let from = ago(&nodes[0], 100).await;
    let mut next = from;
    align_cursor(&db, &nodes[0], align("c", from)).await;
    for round in 1..=5 {
        let tries = (0..8).map(|n| nodes[n % 2].materialise(order("c", next, 3)));
        let answers = join_all(tries).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers
            .into_iter()
            .map(Result::unwrap)
            .partition(|answer| *answer == MaterialiseOutcome::Written { inserted: 3, skipped: 0 });
        assert_eq!((won.len(), lost.len()), (1, 7));
        next += seconds(3);
        for answer in lost {
            assert!(matches!(answer, MaterialiseOutcome::Moved(cursor) if cursor.next_fire_at == next));
        }
        assert_eq!(statuses(&nodes[1]).await.len(), 3 * round);
    }
}

pub(crate) async fn missed_instants_are_one_row_recorded_ones_stay(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = ago(&ledger, 100).await;
    let utc = |instant: NaiveDateTime| Utc.from_utc_datetime(&instant);
    let missed =
        Missed { count: 41, oldest: utc(from), newest: utc(from + seconds(40)), policy: Misfire::Latest };
    let mut plan = order("c", from, 60);
    plan.fire = vec![from + seconds(41), from + seconds(59)];
    plan.missed = Some(missed);
    assert_eq!(
        ledger.materialise(plan.clone()).await.unwrap(),
        MaterialiseOutcome::Gone,
        "there is no cursor"
    );
    align_cursor(&db, &ledger, align("c", from)).await;
    let written = ledger.materialise(plan.clone()).await.unwrap();
    assert_eq!(written, MaterialiseOutcome::Written { inserted: 2, skipped: 0 });
    assert_eq!(statuses(&ledger).await, ["skipped_misfire", "pending", "pending"]);
    let skipped = OccurrenceFilter { status: Some("skipped_misfire".into()), ..Default::default() };
    let OccurrencePage { rows, total, .. } = ledger.list(skipped, Page::default(), None).await.unwrap();
    let row = ledger.get(&rows[0].id).await.unwrap().unwrap();
    assert_eq!((total, row.row.scheduled_for.naive(), row.row.attempt), (Some(1), from + seconds(40), 0));
    assert_eq!(row.error_message, Some(missed.message()));
    assert!(row.row.completed_at.is_some() && row.row.started_at.is_none());
    assert_eq!((row.row.channel_name.as_str(), row.workflow_id.as_deref()), ("c by name", Some("w")));

    // Set back by hand, the cursor passes the same instants again.
    let back = from.format("UPDATE cron_schedule_state SET next_fire_at = '%Y-%m-%d %H:%M:%S'").to_string();
    db.execute(&back).await.unwrap();
    let again = ledger.materialise(plan).await.unwrap();
    assert_eq!(again, MaterialiseOutcome::Written { inserted: 0, skipped: 0 });
    assert_eq!(statuses(&ledger).await.len(), 3);
}

pub(crate) async fn instants_without_free_slot_are_skipped(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = write_occurrences(&db, &ledger, "c", 1).await + seconds(1);
    let singleton = singleton("shared");
    let claim = claim_single(&ledger, "a").await;
    start(&ledger, &claim, Some(&singleton)).await;
    let mut plan = order("c", from, 2);
    plan.singleton = Some(singleton.clone());
    let skipped = ledger.materialise(plan).await.unwrap();
    assert_eq!(skipped, MaterialiseOutcome::Written { inserted: 0, skipped: 2 });
    assert_eq!(statuses(&ledger).await, ["running", "skipped_singleton", "skipped_singleton"]);
    let rows = ledger.list(Default::default(), Page { limit: 1, offset: 0 }, None).await.unwrap().rows;
    let why = ledger.get(&rows[0].id).await.unwrap().unwrap().error_message.unwrap();
    assert_eq!(why, singleton.skip_message());
    super::expire(&db, &claim.key.id.to_string()).await;
    let mut plan = order("c", from + seconds(2), 1);
    plan.singleton = Some(singleton);
    let waits = ledger.materialise(plan).await.unwrap();
    assert_eq!(
        waits,
        MaterialiseOutcome::Written { inserted: 1, skipped: 0 },
        "nobody holds the key any more"
    );
}

pub(crate) async fn archived_channel_keeps_cursor_deleted_does_not(db: TestDatabase) {
    let store = db.store().await;
    let (channels, ledger) = (store.channels(), store.ledger());
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    store
        .workflows()
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await
        .unwrap();
    let is_paused = async || ledger.cursors().await.unwrap()[0].paused_at.is_some();
    channels.create(Some("c".into()), channel("c", None), any_mutation()).await.unwrap();
    channels.set_status("c", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    let from = write_occurrences(&db, &ledger, "c", 2).await + seconds(2);
    channels.new_version("c", any_mutation()).await.unwrap();
    channels.set_status("c", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    assert!(!is_paused().await, "a new version takes over");
    channels.set_status("c", LifecycleStatus::Archived, None, requirements(), any_mutation()).await.unwrap();
    assert!(is_paused().await);
    let moved = ledger.materialise(order("c", from, 1)).await.unwrap();
    assert!(
        matches!(moved, MaterialiseOutcome::Moved(cursor) if cursor.paused_at.is_some()),
        "nothing is written"
    );
    assert_eq!(statuses(&ledger).await.len(), 2, "what is on record stays");
    let later = from + seconds(500);
    let late = AlignRequest { version: 2, ..align("c", later) };
    assert_eq!(
        ledger.align(late.clone()).await.unwrap(),
        AlignOutcome::NotActive,
        "a node that has not heard"
    );
    assert!(is_paused().await);
    channels.new_version("c", any_mutation()).await.unwrap();
    channels.set_status("c", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    let third = AlignRequest { version: 3, ..late };
    let anew = align_cursor(&db, &ledger, third.clone()).await;
    assert_eq!((anew.next_fire_at, anew.paused_at), (later, None));

    let claim = claim_single(&ledger, "a").await;
    start(&ledger, &claim, Some(&singleton("k"))).await;
    channels.delete("c", any_mutation()).await.unwrap();
    assert!(ledger.cursors().await.unwrap().is_empty() && statuses(&ledger).await.is_empty());
    assert_eq!(ledger.materialise(order("c", later, 1)).await.unwrap(), MaterialiseOutcome::Gone);
    assert!(!ledger.renew(&claim.key, None, super::LEASE).await.unwrap(), "a run of it is lost");
    let held = ledger.slots_held(vec!["k".into()]).await.unwrap();
    assert_eq!(held.get("k"), Some(&1), "and nobody follows it before it has noticed");
    assert_eq!(ledger.align(third).await.unwrap(), AlignOutcome::NotActive);
    assert!(ledger.cursors().await.unwrap().is_empty(), "nothing comes back of a channel that is gone");
}

pub(crate) async fn cursor_of_a_deleted_channel_begins_anew(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let next = ago(&ledger, 10).await;
    align_cursor(&db, &ledger, AlignRequest { version: 3, ..align("c", next) }).await;
    db.execute("DELETE FROM definitions").await.unwrap();
    let later = next + seconds(99);
    let anew = align_cursor(&db, &ledger, align("c", later)).await;
    assert_eq!((anew.next_fire_at, anew.channel_version), (later, 1));
}

pub(crate) async fn a_cursor_that_nobody_moves_is_paused(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    for (channel, due) in [("active", 100), ("archived", 100), ("recent", 10), ("resting", 100)] {
        let next = ago(&ledger, due).await;
        align_cursor(&db, &ledger, align(channel, next)).await;
    }
    db.execute("UPDATE definitions SET status = 'archived' WHERE id IN ('archived', 'recent')")
        .await
        .unwrap();
    let resting = || HashSet::from(["resting".to_owned()]);
    let overdue = Duration::from_secs(60);
    let paused = ledger.pause_stale(resting(), overdue).await.unwrap();
    assert_eq!(paused, ["archived"], "somebody has just moved the cursor of the one that rests here");
    assert!(ledger.pause_stale(resting(), overdue).await.unwrap().is_empty(), "once is enough");
    let moment = Duration::from_secs(1);
    let mut paused = Vec::new();
    while !paused.contains(&"resting".to_owned()) {
        paused.extend(ledger.pause_stale(resting(), moment).await.unwrap());
    }
    paused.sort();
    assert_eq!(paused, ["recent", "resting"], "one that is active and rests nowhere is somebody's");
}
