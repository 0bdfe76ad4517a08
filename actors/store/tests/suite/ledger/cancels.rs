//! Cancellation of occurrences, and the versions of their retries.

use svc_ledger::Settlement;
use svc_model::WorkflowVersion;
use svc_store::{
    CancelStep, NewTrace, OccurrenceCancel, RerunVersion, StartResult, TraceEnd, TraceMode, TraceStatus,
};
use uuid::Uuid;

use super::super::refusal;
use super::super::traces::status;
use super::{LEASE, MOST, TestDatabase, audit, claim_single, expire, read, singleton, write_occurrences};

fn order(id: &str) -> OccurrenceCancel {
    OccurrenceCancel { id: id.to_owned(), principal: "ops".into(), reports: false, report: None }
}

pub(crate) async fn occurrence_without_holder_is_cancelled_at_once(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    assert!(ledger.give_back(&claim, None).await.unwrap());
    let row = ledger.cancel(order(&id), Some(audit("cancel"))).await.unwrap();
    assert_eq!((&*row.row.status, row.cancelled_by.as_deref()), ("cancelled", Some("ops")));
    assert_eq!((row.claimed_by, row.claimed_until, row.row.attempt), (None, None, 0));
    assert!(row.cancel_requested_at.is_some() && row.row.completed_at.is_some());
    assert!(ledger.claim("a", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed.is_empty());
    let refused = refusal(ledger.cancel(order(&id), Some(audit("cancel"))).await);
    assert_eq!((refused.status(), refused.message().contains("cancelled")), (409, true));
    let unknown = refusal(ledger.cancel(order(&Uuid::now_v7().to_string()), Some(audit("cancel"))).await);
    assert_eq!(unknown.status(), 404);
    let again = ledger.retry(&id, RerunVersion::Current, audit("retry")).await.unwrap();
    assert_eq!((&*again.row.status, again.cancel_requested_at, again.cancelled_by), ("pending", None, None));
    assert_eq!(claim_single(&ledger, "a").await.key.attempt, 1);
}

pub(crate) async fn running_occurrence_is_ended_by_its_holder(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    let trace = NewTrace::new(Uuid::now_v7(), "c".into(), TraceMode::Cron, TraceStatus::Running);
    let trace_id = trace.id;
    let started = ledger.start(&claim.key, 1, Some(&singleton("k")), LEASE, Some(trace)).await.unwrap();
    let StartResult::Running { slot, .. } = started else { panic!("{started:?}") };
    let row = ledger.cancel(order(&id), Some(audit("cancel"))).await.unwrap();
    assert_eq!((&*row.row.status, row.cancel_requested_at.is_some()), ("running", true));
    assert!(ledger.open_cancels("b").await.unwrap().is_empty());
    let open = ledger.open_cancels("a").await.unwrap();
    assert_eq!((open.len(), open[0].id, open[0].step), (1, claim.key.id, CancelStep::DropRun));
    let end = Some(TraceEnd::cancelled(trace_id, None));
    assert!(ledger.settle(&claim.key, slot.as_ref(), Settlement::cancelled(), end, None).await.unwrap());
    ledger.record_in_flight(trace_id, "[]".into()).await.unwrap();
    let row = read(&ledger, &claim).await;
    assert_eq!((&*row.row.status, row.claimed_by.as_deref(), row.row.attempt), ("cancelled", None, 1));
    assert_eq!(status(&traces, trace_id).await.as_deref(), Some("cancelled"));
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty(), "its slot is free");
    assert!(!ledger.settle(&claim.key, None, Settlement::completed(), None, None).await.unwrap(), "late");
    let shown = traces.get(&trace_id.to_string()).await.unwrap().unwrap();
    assert_eq!((shown.cancelled_by.as_deref(), shown.in_flight_json.as_deref()), (Some("ops"), Some("[]")));
}

pub(crate) async fn occurrence_of_lost_holder_is_cancelled_not_claimed(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    let started = ledger.start(&claim.key, 1, Some(&singleton("k")), LEASE, None).await.unwrap();
    assert!(matches!(started, StartResult::Running { .. }));
    ledger.cancel(order(&id), Some(audit("cancel"))).await.unwrap();
    expire(&db, &id).await;
    assert!(ledger.claim("b", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed.is_empty());
    let open = ledger.open_cancels("b").await.unwrap();
    assert_eq!((open.len(), open[0].step), (1, CancelStep::GiveAgain));
    let row = ledger.cancel(order(&id), None).await.unwrap();
    assert_eq!(&*row.row.status, "cancelled");
    assert!(ledger.open_cancels("b").await.unwrap().is_empty());
}

pub(crate) async fn cancelled_claim_starts_no_run(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    write_occurrences(&db, &ledger, "c", 2).await;
    for reports in [false, true] {
        let claim = claim_single(&ledger, "a").await;
        let id = claim.key.id.to_string();
        let held = ledger.cancel(OccurrenceCancel { reports, ..order(&id) }, Some(audit("cancel"))).await;
        assert_eq!(&*held.unwrap().row.status, "claimed", "its holder ends it");
        let trace = NewTrace::new(Uuid::now_v7(), "c".into(), TraceMode::Cron, TraceStatus::Running);
        let trace_id = trace.id;
        let started = ledger.start(&claim.key, 1, Some(&singleton("k")), LEASE, Some(trace)).await.unwrap();
        assert_eq!(started, StartResult::Cancelled { reports });
        assert_eq!(status(&store.traces(), trace_id).await, None);
        assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty(), "no slot is taken");
        assert!(ledger.settle(&claim.key, None, Settlement::cancelled(), None, None).await.unwrap());
        let row = read(&ledger, &claim).await;
        assert_eq!((&*row.row.status, row.row.attempt, row.trace_id), ("cancelled", 1, None));
        // No version ran: it is retried as it was to run.
        let again = ledger.retry(&id, RerunVersion::Same, audit("retry")).await.unwrap();
        assert_eq!((&*again.row.status, again.workflow_version), ("pending", None));
        let again = claim_single(&ledger, "a").await;
        let settled = ledger.settle(&again.key, None, Settlement::failed("no"), None, None).await;
        assert!(settled.unwrap(), "{again:?}");
    }
}

pub(crate) async fn cancelled_run_is_retried_with_its_version(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let mutation = super::super::any_mutation;
    store.workflows().create(Some("w".into()), super::super::workflow("w"), mutation()).await.unwrap();
    db.execute("UPDATE definitions SET status = 'archived'").await.unwrap();
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    let trace = NewTrace {
        workflow: Some(WorkflowVersion { id: "w".into(), version: 1 }),
        ..NewTrace::new(Uuid::now_v7(), "c".into(), TraceMode::Cron, TraceStatus::Running)
    };
    let end = Some(TraceEnd::cancelled(trace.id, None));
    let started = ledger.start(&claim.key, 1, None, LEASE, Some(trace)).await.unwrap();
    assert!(matches!(started, StartResult::Running { .. }), "{started:?}");
    ledger.cancel(order(&id), Some(audit("cancel"))).await.unwrap();
    assert!(ledger.settle(&claim.key, None, Settlement::cancelled(), end, None).await.unwrap());
    let again = ledger.retry(&id, RerunVersion::Same, audit("retry")).await.unwrap();
    assert_eq!((&*again.row.status, again.workflow_version), ("pending", Some(1)));
}

pub(crate) async fn retry_runs_the_version_it_names(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    store
        .workflows()
        .create(Some("w".into()), super::super::workflow("w"), super::super::any_mutation())
        .await
        .unwrap();
    db.execute("UPDATE definitions SET status = 'archived'").await.unwrap();
    write_occurrences(&db, &ledger, "c", 1).await;
    let claim = claim_single(&ledger, "a").await;
    let id = claim.key.id.to_string();
    assert!(ledger.settle(&claim.key, None, Settlement::failed("no"), None, None).await.unwrap());
    let retry = async |version| ledger.retry(&id, version, audit("retry")).await;
    assert_eq!(refusal(retry(RerunVersion::Same).await).status(), 409, "nothing ran");
    assert_eq!(refusal(retry(RerunVersion::Number(2)).await).status(), 400);
    assert_eq!(read(&ledger, &claim).await.row.status, "failed", "a refusal changes nothing");
    assert_eq!(retry(RerunVersion::Number(1)).await.unwrap().workflow_version, Some(1));
    let claim = claim_single(&ledger, "a").await;
    assert_eq!(claim.workflow_version, Some(1));
    assert!(ledger.settle(&claim.key, None, Settlement::failed("no"), None, None).await.unwrap());
    assert_eq!(retry(RerunVersion::Current).await.unwrap().workflow_version, None);
}
