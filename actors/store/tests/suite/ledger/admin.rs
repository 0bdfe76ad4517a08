//! Reads of the ledger, administrative operations, and the deletion of old rows.

use std::collections::HashSet;

use chrono::SubsecRound;
use futures_util::future::join_all;
use svc_ledger::Settlement;
use svc_model::{Page, Timestamp};
use svc_store::{AuditFilter, OccurrenceFilter, OccurrencePage, RerunVersion, StartResult};

use super::super::refusal;
use super::{
    TestDatabase, audit, claim_single, facts, read, seconds, singleton, start, statuses, write_occurrences,
};

pub(crate) async fn only_failed_or_skipped_row_is_retried(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let records = async || store.audit().list(AuditFilter::default(), Page::default()).await.unwrap().0;
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    for status in ["pending", "claimed", "running", "completed", "paused"] {
        db.execute(&format!("UPDATE cron_occurrences SET status = '{status}'")).await.unwrap();
        let refused = refusal(ledger.retry(&id, RerunVersion::Current, audit("retry")).await);
        assert_eq!((refused.status(), refused.message().contains(status)), (409, true), "{status}");
    }
    for unknown in ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "nobody", "a\0b"] {
        assert_eq!(refusal(ledger.retry(unknown, RerunVersion::Current, audit("retry")).await).status(), 404);
    }
    assert!(records().await.is_empty(), "a refusal is no act");
    db.execute("UPDATE cron_occurrences SET status = 'claimed'").await.unwrap();
    let failed = Settlement::failed("no luck");
    ledger.start(&claim.key, 1, Some(&singleton("k")), super::LEASE, None).await.unwrap();
    assert!(ledger.settle(&claim.key, None, failed, None, None).await.unwrap());
    let before = read(&ledger, &claim).await;

    db.execute("ALTER TABLE audit_logs RENAME TO away").await.unwrap();
    ledger
        .retry(&id, RerunVersion::Current, audit("retry"))
        .await
        .expect_err("what cannot be recorded is not done");
    db.execute("ALTER TABLE away RENAME TO audit_logs").await.unwrap();
    assert_eq!(read(&ledger, &claim).await, before);

    let row = ledger.retry(&id, RerunVersion::Current, audit("retry")).await.unwrap();
    assert_eq!((row.row.status.as_str(), row.row.attempt), ("pending", before.row.attempt + 1));
    assert_eq!((row.row.id.as_str(), row.row.scheduled_for), (id.as_str(), before.row.scheduled_for));
    assert_eq!((row.row.completed_at, &row.error_message, &row.claimed_by), (None, &None, &None));
    assert_eq!((&row.singleton_key, row.singleton_slot, row.fencing_token), (&None, None, None));
    assert_eq!(row, read(&ledger, &claim).await);
    let records = records().await;
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].action.as_str(), records[0].resource_id.as_str()), ("retry", id.as_str()));
    for status in ["skipped_misfire", "skipped_singleton"] {
        db.execute(&format!("UPDATE cron_occurrences SET status = '{status}'")).await.unwrap();
        assert_eq!(
            ledger.retry(&id, RerunVersion::Current, audit("retry")).await.unwrap().row.status,
            "pending"
        );
    }
}

pub(crate) async fn triggered_row_is_due_now_and_audited(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let before = ledger.now().await.unwrap();
    let row = ledger.trigger(facts("c"), audit("trigger")).await.unwrap();
    assert_eq!(
        (row.row.trigger.as_str(), row.row.status.as_str(), row.row.attempt),
        ("manual", "pending", 0)
    );
    assert!((row.row.scheduled_for.naive() - before).abs() < seconds(2));
    assert_eq!(row, ledger.get(&row.row.id).await.unwrap().unwrap());
    let claim = claim_single(&ledger, "a").await;
    assert_eq!((claim.key.id.to_string(), claim.trigger.name()), (row.row.id, "manual"));
    let (records, _) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!((records[0].action.as_str(), records[0].resource_id.as_str()), ("trigger", "c"));
    db.execute("ALTER TABLE audit_logs RENAME TO away").await.unwrap();
    ledger.trigger(facts("c"), audit("trigger")).await.expect_err("what cannot be recorded is not done");
    assert_eq!(statuses(&ledger).await, ["claimed"]);
}

pub(crate) async fn occurrences_are_filtered_and_newest_first(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let first = write_occurrences(&db, &ledger, "c", 5).await;
    write_occurrences(&db, &ledger, "d", 2).await;
    let claim = claim_single(&ledger, "a").await;
    assert!(ledger.settle(&claim.key, None, Settlement::failed("x"), None, None).await.unwrap());
    let instants = async |filter| {
        let OccurrencePage { rows, total, .. } = ledger.list(filter, Page::default(), None).await.unwrap();
        let total = total.unwrap();
        assert_eq!(rows.len() as i64, total);
        assert!(rows.is_sorted_by(|a, b| (a.created_at, &a.id) > (b.created_at, &b.id)), "{rows:?}");
        total
    };
    let any = OccurrenceFilter::default;
    let of = |channel: &str| OccurrenceFilter { channel_id: Some(channel.into()), ..any() };
    let at = |n| Some(Timestamp::from_naive(first + seconds(n)));
    assert_eq!(instants(any()).await, 7);
    assert_eq!(instants(of("c")).await, 5);
    assert_eq!(instants(of("nobody")).await, 0);
    assert_eq!(instants(of("a\0b")).await, 0);
    assert_eq!(instants(OccurrenceFilter { status: Some("failed".into()), ..any() }).await, 1);
    assert_eq!(instants(OccurrenceFilter { status: Some("no such".into()), ..any() }).await, 0);
    assert_eq!(
        instants(OccurrenceFilter { since: at(1), until: at(3), ..of("c") }).await,
        3,
        "both ends count"
    );
    assert_eq!(instants(OccurrenceFilter { since: at(4), ..of("c") }).await, 1);
    assert_eq!(instants(OccurrenceFilter { until: at(0), ..of("c") }).await, 1);
}

pub(crate) async fn arriving_rows_repeat_no_row_on_pages(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 25).await;
    // One transaction writes them at the same instant, so the id determines their order.
    db.execute("UPDATE cron_occurrences SET created_at = '2026-01-01 00:00:00'").await.unwrap();
    let page = async |offset| {
        let page = ledger.list(Default::default(), Page { limit: 10, offset }, None).await.unwrap();
        (ids(&page), page.total.unwrap())
    };
    let mut all = Vec::new();
    for offset in [0, 10, 20] {
        let (rows, total) = page(offset).await;
        assert_eq!(total, 25);
        all.extend(rows);
    }
    assert_eq!(all.len(), 25);
    assert!(all.is_sorted_by(|a, b| a > b));
    // A new row is the newest: it shifts every page by one and keeps the order.
    ledger.trigger(facts("c"), audit("trigger")).await.unwrap();
    assert_eq!(page(1).await, (all[..10].to_vec(), 26));
    assert_eq!(page(11).await.0, all[10..20]);
}

pub(crate) async fn cursor_pages_are_stable_while_rows_arrive(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let first = write_occurrences(&db, &ledger, "c", 25).await;
    write_occurrences(&db, &ledger, "d", 1).await;
    let of_c = || OccurrenceFilter { channel_id: Some("c".into()), ..Default::default() };
    let before = ids(&ledger.list(of_c(), Page::default(), None).await.unwrap());
    let (mut cursor, mut found) = (None, Vec::new());
    for n in 1.. {
        let page = Page { limit: 4, offset: 0 };
        let page = ledger.list(of_c(), page, cursor.as_deref()).await.unwrap();
        assert_eq!(page.total, Some(25 + 3 * (n - 1)), "all that match");
        found.extend(ids(&page));
        ledger.materialise(super::order("c", first + seconds(22 + 3 * n), 3)).await.unwrap();
        let Some(next) = page.next_cursor else { break };
        cursor = Some(next);
    }
    assert_eq!(found, before, "none twice, none left out");
    let last = ledger.list(of_c(), Page { limit: 46, offset: 0 }, None).await.unwrap();
    assert_eq!((last.rows.len(), last.next_cursor), (46, None), "a full page may be the last");
    let refused = refusal(ledger.list(of_c(), Page::default(), Some("%%")).await);
    assert_eq!((refused.status(), refused.message().contains("cursor")), (400, true));
}

pub(crate) async fn concurrent_triggers_get_distinct_instants(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let triggers = (0..50).map(|_| ledger.trigger(facts("c"), audit("trigger")));
    let rows: Vec<_> = join_all(triggers).await.into_iter().map(Result::unwrap).collect();
    let due: HashSet<_> = rows.iter().map(|row| row.row.scheduled_for).collect();
    assert_eq!(due.len(), 50);
    assert!(due.iter().all(|due| due.naive() != due.naive().trunc_subsecs(0)), "{due:?}");
    let now = ledger.now().await.unwrap();
    assert!(due.iter().all(|due| due.naive() < now + seconds(1)), "{now}: {due:?}");
}

fn ids(page: &OccurrencePage) -> Vec<String> {
    page.rows.iter().map(|row| row.id.clone()).collect()
}

pub(crate) async fn backlog_and_schedules_are_counted(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    assert_eq!(ledger.backlog().await.unwrap(), Default::default());
    let first = write_occurrences(&db, &ledger, "c", 3).await;
    write_occurrences(&db, &ledger, "d", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let backlog = ledger.backlog().await.unwrap();
    assert_eq!(backlog.pending, 3);
    assert!((998..=1060).contains(&backlog.oldest_pending_secs.unwrap()), "{backlog:?}");
    let singleton = svc_ledger::Singleton { key: "k".into(), slots: 2 };
    assert!(matches!(start(&ledger, &claim, Some(&singleton)).await, StartResult::Running { .. }));
    let held = ledger.slots_held(vec!["k".into(), "free".into()]).await.unwrap();
    assert_eq!((held.get("k"), held.get("free")), (Some(&1), None));

    let status = ledger.status(vec!["d".into(), "c".into(), "nobody".into()]).await.unwrap();
    assert_eq!(status.iter().map(|s| s.channel_id.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    assert_eq!((status[0].next_fire_at.naive(), status[0].paused_at), (first + seconds(3), None));
    let of_c = ["c", "d"].map(|channel| claim.channel_id == channel);
    assert_eq!(status[0].pending + status[1].pending, 3);
    assert_eq!(of_c[0], status[0].pending == 2);
    assert_eq!(status[0].last_scheduled_for.map(|at| at.naive()), Some(first + seconds(2)), "the newest");
    assert_eq!((status[0].last_status.as_deref(), status[0].last_completed_at), (Some("pending"), None));
}

pub(crate) async fn only_ended_rows_expire_with_age(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 9).await;
    for status in [
        "completed",
        "failed",
        "skipped_misfire",
        "skipped_singleton",
        "claimed",
        "running",
        "pending",
        "odd",
    ] {
        let one = "SELECT min(id) FROM cron_occurrences WHERE status = 'pending'";
        let end = format!("UPDATE cron_occurrences SET status = '{status}x' WHERE id = ({one})");
        db.execute(&end).await.unwrap();
    }
    db.execute(
        "UPDATE cron_occurrences SET status = substr(status, 1, length(status) - 1) WHERE status LIKE '%x';
         INSERT INTO cron_singletons (singleton_key, slot, occurrence_id, holder, fencing_token, lease_until) VALUES
         ('old', 0, 'o', 'h', 1, '2000-01-01 00:00:00'), ('live', 0, 'o', 'h', 1, '2100-01-01 00:00:00')",
    )
    .await
    .unwrap();
    assert_eq!(ledger.delete_expired(1, 2).await.unwrap(), 0, "nothing is as old");
    db.execute("UPDATE cron_occurrences SET created_at = '2020-01-01 00:00:00'").await.unwrap();
    assert_eq!(ledger.delete_expired(1, 3).await.unwrap(), 4, "in steps of three");
    let mut left = statuses(&ledger).await;
    left.sort();
    assert_eq!(left, ["claimed", "odd", "pending", "pending", "running"]);
    db.execute("DELETE FROM cron_singletons WHERE singleton_key = 'live'").await.unwrap();
    let none =
        "INSERT INTO cron_singletons (singleton_key, slot, occurrence_id, holder, fencing_token, lease_until)
                VALUES ('old', 0, 'o', 'h', 1, '2000-01-01 00:00:00')";
    db.execute(none).await.expect("a slot that nobody has wanted for as long went too");
}
