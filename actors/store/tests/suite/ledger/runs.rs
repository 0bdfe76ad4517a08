//! Claims and runs.

use std::time::Duration;

use svc_ledger::{HeldSlot, Settlement, Trigger};
use svc_model::Page;
use svc_store::{NewTrace, OccurrenceFilter, RerunVersion, StartResult, TraceMode, TraceStatus};
use uuid::Uuid;

use super::super::traces::{end, status};
use super::{
    LEASE, MOST, TestDatabase, ago, align, align_cursor, claim_single, expire, order, read, seconds,
    singleton, start, statuses, write_occurrences,
};

fn failure() -> Settlement {
    Settlement::failed("no luck")
}

fn trace() -> NewTrace {
    NewTrace::new(Uuid::now_v7(), "c".into(), TraceMode::Cron, TraceStatus::Running)
}

pub(crate) async fn occurrence_is_found_by_its_trace(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    let find = async |id: String| {
        let filter = OccurrenceFilter { trace_id: Some(id.into()), ..OccurrenceFilter::default() };
        let page = ledger.list(filter, Page::default(), None).await.unwrap();
        page.rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    // A trace of an earlier release does not name its occurrence.
    for has_key in [true, false] {
        let claim = claim_single(&ledger, "a").await;
        let id = claim.key.id.to_string();
        let trace = NewTrace { run_key: has_key.then(|| id.clone()), ..trace() };
        let trace_id = trace.id.to_string();
        let started = ledger.start(&claim.key, 1, None, LEASE, Some(trace)).await.unwrap();
        assert!(matches!(started, StartResult::Running { .. }), "{started:?}");
        assert_eq!(find(trace_id).await, [id], "{has_key}");
    }
    assert_eq!(find(Uuid::now_v7().to_string()).await, [""; 0]);
}

pub(crate) async fn a_run_is_claimed_started_renewed_and_settled(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    let due = write_occurrences(&db, &ledger, "c", 1).await;
    let claims = ledger.claim("node", LEASE, 10, MOST, Vec::new()).await.unwrap();
    let claim = &claims.claimed[0];
    assert_eq!((claim.key.holder.as_str(), claim.key.attempt, claim.scheduled_for), ("node", 1, due));
    assert_eq!((claim.trigger, claim.raised, claim.recovered), (Trigger::Cron, true, false));
    assert_eq!((claim.channel_id.as_str(), claim.channel_name.as_str()), ("c", "c by name"));
    assert_eq!((claim.channel_version, claim.workflow_id.as_deref()), (1, Some("w")));
    let row = read(&ledger, claim).await;
    assert_eq!((row.row.status.as_str(), row.claimed_by.as_deref()), ("claimed", Some("node")));
    let lease = row.claimed_until.unwrap().naive() - claims.now;
    assert!((lease - seconds(60)).abs() < seconds(1), "the database clock counts: {lease}");
    assert!(
        ledger.claim("other", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed.is_empty(),
        "it is held"
    );

    let (singleton, trace) = (singleton("k"), trace());
    let trace_id = trace.id;
    let started = ledger.start(&claim.key, 7, Some(&singleton), LEASE, Some(trace)).await.unwrap();
    let StartResult::Running { slot, started_at } = started else { panic!("it starts: {started:?}") };
    assert_eq!(slot, Some(HeldSlot { key: "k".into(), slot: 0, token: 1 }));
    let row = read(&ledger, claim).await;
    assert_eq!((row.row.status.as_str(), row.executing_version), ("running", Some(7)));
    assert_eq!(row.row.started_at.map(|at| at.naive()), Some(started_at));
    assert_eq!(
        (row.singleton_key.as_deref(), row.singleton_slot, row.fencing_token),
        (Some("k"), Some(0), Some(1))
    );
    assert_eq!(row.trace_id, Some(trace_id.to_string()));
    assert_eq!(status(&traces, trace_id).await.as_deref(), Some("running"));
    assert_eq!(start(&ledger, claim, None).await, StartResult::Lost, "it has begun");

    assert!(ledger.renew(&claim.key, slot.as_ref(), Duration::from_secs(600)).await.unwrap());
    let renewed = read(&ledger, claim).await;
    assert!(renewed.claimed_until.unwrap().naive() - claims.now > seconds(590));
    assert!(renewed.updated_at > row.updated_at);
    let trace_end = end(trace_id, TraceStatus::Completed);
    assert!(
        ledger
            .settle(&claim.key, slot.as_ref(), Settlement::completed(), Some(trace_end), None)
            .await
            .unwrap()
    );
    let row = read(&ledger, claim).await;
    assert_eq!((row.row.status.as_str(), row.row.attempt, row.claimed_until), ("completed", 1, None));
    assert!(row.row.completed_at.is_some() && row.claimed_by.is_some() && row.singleton_key.is_some());
    assert_eq!(status(&traces, trace_id).await.as_deref(), Some("completed"));
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty(), "the slot is free");
    assert!(!ledger.settle(&claim.key, slot.as_ref(), failure(), None, None).await.unwrap(), "it has ended");
}

pub(crate) async fn failure_report_is_written_with_the_end(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "a", 1).await;
    let claim = claim_single(&ledger, "node").await;
    let report = trace();
    let id = report.id;
    assert!(matches!(start(&ledger, &claim, None).await, StartResult::Running { .. }));
    assert!(ledger.settle(&claim.key, None, failure(), None, Some(report.clone())).await.unwrap());
    assert_eq!(status(&traces, id).await.as_deref(), Some("running"), "as it was given");
    let late = trace();
    assert!(!ledger.settle(&claim.key, None, failure(), None, Some(late.clone())).await.unwrap());
    assert_eq!(status(&traces, late.id).await, None, "a late end brings none");
}

pub(crate) async fn oldest_due_row_is_claimed_first(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let first = write_occurrences(&db, &ledger, "b", 3).await;
    let ahead = ago(&ledger, -3600).await;
    align_cursor(&db, &ledger, align("later", ahead)).await;
    ledger.materialise(order("later", ahead, 1)).await.unwrap();
    let earlier = first - seconds(5);
    align_cursor(&db, &ledger, align("a", earlier)).await;
    ledger.materialise(order("a", earlier, 1)).await.unwrap();
    let two = ledger.claim("n", LEASE, 2, MOST, Vec::new()).await.unwrap().claimed;
    assert_eq!(two.iter().map(|claim| claim.scheduled_for).collect::<Vec<_>>(), [earlier, first]);
    assert!(ledger.claim("n", LEASE, 0, MOST, Vec::new()).await.unwrap().claimed.is_empty());
    expire(&db, &two[1].key.id.to_string()).await;
    let rest = ledger.claim("m", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed;
    let claims: Vec<_> = rest.iter().map(|claim| (claim.scheduled_for, claim.recovered)).collect();
    assert_eq!(claims, [(first, true), (first + seconds(1), false), (first + seconds(2), false)]);
    assert_eq!(statuses(&ledger).await, ["claimed", "claimed", "claimed", "claimed", "pending"]);
}

pub(crate) async fn a_late_write_changes_no_row(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "c", 1).await;
    let (singleton, first) = (singleton("k"), trace());
    let first_trace = first.id;
    let late = claim_single(&ledger, "a").await;
    let started = ledger.start(&late.key, 1, Some(&singleton), LEASE, Some(first)).await.unwrap();
    let StartResult::Running { slot: late_slot, .. } = started else { panic!("it starts") };
    expire(&db, &late.key.id.to_string()).await;

    let claim = claim_single(&ledger, "b").await;
    assert_eq!((claim.key.attempt, claim.recovered, claim.raised), (2, true, true));
    for is_running in [false, true] {
        if is_running {
            let started = ledger.start(&claim.key, 1, Some(&singleton), LEASE, Some(trace())).await.unwrap();
            let StartResult::Running { slot, .. } = started else { panic!("it takes the slot over") };
            assert_eq!(slot.unwrap().token, 2);
            assert_eq!(status(&traces, first_trace).await.as_deref(), Some("failed"), "nobody ended it");
        }
        let before = read(&ledger, &claim).await;
        let trace_end = Some(end(first_trace, TraceStatus::Completed));
        assert!(!ledger.renew(&late.key, late_slot.as_ref(), LEASE).await.unwrap());
        assert!(
            !ledger
                .settle(&late.key, late_slot.as_ref(), Settlement::completed(), trace_end, None)
                .await
                .unwrap()
        );
        assert!(!ledger.settle(&late.key, None, failure(), None, None).await.unwrap());
        assert!(!ledger.give_back(&late, late_slot.as_ref()).await.unwrap());
        assert_eq!(start(&ledger, &late, Some(&singleton)).await, StartResult::Lost);
        assert_eq!(read(&ledger, &claim).await, before);
    }
    assert_eq!(ledger.slots_held(vec!["k".into()]).await.unwrap().get("k"), Some(&1));
    assert_eq!(status(&traces, first_trace).await.as_deref(), Some("failed"));
}

pub(crate) async fn row_with_repeatedly_ending_leases_fails(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "c", 1).await;
    let singleton = singleton("k");
    let mut last = None;
    for recoveries in 0..=2 {
        let claims = ledger.claim("n", LEASE, 5, 2, Vec::new()).await.unwrap();
        assert_eq!((claims.claimed.len(), claims.exhausted.len()), (1, 0), "{recoveries} of 2 run");
        let claim = claims.claimed.into_iter().next().unwrap();
        let trace = trace();
        last = Some(trace.id);
        ledger.start(&claim.key, 1, Some(&singleton), LEASE, Some(trace)).await.unwrap();
        expire(&db, &claim.key.id.to_string()).await;
    }
    let claims = ledger.claim("n", LEASE, 5, 2, Vec::new()).await.unwrap();
    assert_eq!((claims.claimed.len(), claims.exhausted.len()), (0, 1));
    let exhausted = &claims.exhausted[0];
    assert!(exhausted.message.starts_with("attempts_exhausted:"), "{exhausted:?}");
    assert_eq!(exhausted.trace_id, last);
    let report = trace();
    assert!(ledger.exhaust(exhausted.id, 2, Some(report.clone())).await.unwrap());
    assert!(!ledger.exhaust(exhausted.id, 2, Some(trace())).await.unwrap(), "it has failed already");
    assert_eq!(status(&traces, report.id).await.as_deref(), Some("running"));
    let row = ledger.get(&exhausted.id.to_string()).await.unwrap().unwrap();
    assert_eq!((row.row.status.as_str(), row.row.attempt, row.claimed_until), ("failed", 3, None));
    assert_eq!(row.error_message.as_ref(), Some(&exhausted.message));
    assert_eq!(status(&traces, last.unwrap()).await.as_deref(), Some("failed"));
    db.execute("UPDATE cron_singletons SET lease_until = '2100-01-01 00:00:00'").await.unwrap();
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty(), "there is no such row");
    ledger.retry(&row.row.id, RerunVersion::Current, super::audit("retry")).await.unwrap();
    let claim = claim_single(&ledger, "n").await;
    assert_eq!((claim.key.attempt, claim.raised), (4, false), "an admin's retry always runs");
}

pub(crate) async fn returned_row_waits_as_if_unclaimed(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "c", 1).await;
    let unclaimed = claim_single(&ledger, "a").await;
    assert!(ledger.give_back(&unclaimed, None).await.unwrap());
    let singleton = singleton("k");
    let claim = claim_single(&ledger, "a").await;
    assert_eq!(claim.key.attempt, 1);
    assert!(!ledger.give_back(&unclaimed, None).await.unwrap(), "an answer that was lost is asked for again");
    let trace = trace();
    let trace_id = trace.id;
    let started = ledger.start(&claim.key, 1, Some(&singleton), LEASE, Some(trace)).await.unwrap();
    let StartResult::Running { slot, .. } = started else { panic!("it starts") };
    assert!(ledger.give_back(&claim, slot.as_ref()).await.unwrap());
    let row = read(&ledger, &claim).await;
    assert_eq!((row.row.status.as_str(), row.row.attempt, row.row.started_at), ("pending", 0, None));
    assert_eq!((&row.claimed_by, row.claimed_until, &row.trace_id), (&None, None, &None));
    assert_eq!((&row.singleton_key, row.singleton_slot, row.fencing_token), (&None, None, None));
    assert_eq!(status(&traces, trace_id).await, None, "a run that did not happen has no trace");
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty());

    // A retry counts at once; its claims do not, given back or not.
    let claim = claim_single(&ledger, "a").await;
    assert!(ledger.settle(&claim.key, None, failure(), None, None).await.unwrap());
    let row =
        ledger.retry(&claim.key.id.to_string(), RerunVersion::Current, super::audit("retry")).await.unwrap();
    assert_eq!(row.row.attempt, 2);
    for _ in 0..2 {
        let claim = claim_single(&ledger, "a").await;
        assert_eq!((claim.key.attempt, claim.raised), (2, false));
        assert!(ledger.give_back(&claim, None).await.unwrap());
        assert_eq!(read(&ledger, &claim).await.row.attempt, 2);
    }
}

pub(crate) async fn a_key_that_is_held_skips_who_comes_after(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    write_occurrences(&db, &ledger, "d", 1).await;
    let singleton = singleton("shared");
    let (first, second, third) = (
        claim_single(&ledger, "a").await,
        claim_single(&ledger, "b").await,
        claim_single(&ledger, "a").await,
    );
    let StartResult::Running { slot, .. } = start(&ledger, &first, Some(&singleton)).await else {
        panic!("it starts")
    };
    assert_eq!(start(&ledger, &second, Some(&singleton)).await, StartResult::Saturated);
    let row = read(&ledger, &second).await;
    assert_eq!((row.row.status.as_str(), row.claimed_until), ("skipped_singleton", None));
    assert_eq!((row.error_message, row.row.attempt), (Some(singleton.skip_message()), 1));
    assert!(row.row.completed_at.is_some());
    assert!(ledger.settle(&first.key, slot.as_ref(), failure(), None, None).await.unwrap());
    assert_eq!(read(&ledger, &first).await.error_message.as_deref(), Some("no luck"));
    assert!(matches!(start(&ledger, &third, Some(&singleton)).await, StartResult::Running { .. }));
}

pub(crate) async fn a_run_that_lost_its_slot_is_not_renewed(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    let singleton = singleton("k");
    let (first, second) = (claim_single(&ledger, "a").await, claim_single(&ledger, "b").await);
    let StartResult::Running { slot, .. } = start(&ledger, &first, Some(&singleton)).await else {
        panic!("it starts")
    };
    expire(&db, &first.key.id.to_string()).await;
    assert!(matches!(start(&ledger, &second, Some(&singleton)).await, StartResult::Running { .. }));
    let before = (read(&ledger, &first).await, read(&ledger, &second).await);
    assert!(!ledger.renew(&first.key, slot.as_ref(), LEASE).await.unwrap());
    assert_eq!((read(&ledger, &first).await, read(&ledger, &second).await), before);
    // No other worker has taken the row over, so the failure is accepted, but no slot is freed.
    assert!(ledger.settle(&first.key, slot.as_ref(), failure(), None, None).await.unwrap());
    assert_eq!(ledger.slots_held(vec!["k".into()]).await.unwrap().get("k"), Some(&1));
}

pub(crate) async fn a_start_whose_trace_is_refused_begins_nothing(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    let (first, second) = (claim_single(&ledger, "a").await, claim_single(&ledger, "a").await);
    let (singleton, trace) = (singleton("k"), trace());
    ledger.start(&first.key, 1, None, LEASE, Some(trace.clone())).await.unwrap();
    let before = read(&ledger, &second).await;
    ledger.start(&second.key, 1, Some(&singleton), LEASE, Some(trace)).await.expect_err("the id is taken");
    assert_eq!(read(&ledger, &second).await, before);
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty());
}
