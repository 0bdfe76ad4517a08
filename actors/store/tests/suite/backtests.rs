//! Backtests: the takeover of one whose node died, its end, and its deletion.

use std::time::Duration;

use serde_json::{Map, json};
use svc_model::{EntityKind, Page};
use svc_store::{
    AuditFilter, BacktestEnd, BacktestPoint, BacktestStep, NewBacktest, OperatorRunClaim, OperatorRunState,
    Store, StoredBacktest,
};

use super::database::TestDatabase;
use super::{mutation, refusal};

const LEASE: Duration = Duration::from_secs(60);

async fn begin(store: &Store) -> StoredBacktest {
    let new = NewBacktest {
        kind: EntityKind::Workflow,
        definition: "price".into(),
        version: 3,
        terms: Map::new(),
        limit: 100,
        started_by: "ops".into(),
    };
    store.backtests().start(new, 2, mutation("backtest", "backtest_start")).await.unwrap()
}

async fn take(store: &Store, holder: &str) -> Option<OperatorRunClaim> {
    let taken = store.backtests().claim(holder, LEASE).await.unwrap()?;
    Some(OperatorRunClaim { id: taken.id, holder: holder.into(), position: taken.position })
}

fn point(done: i64, position: &str) -> BacktestPoint {
    let report = json!({"runs": done, "kinds": {"same": done}});
    BacktestPoint { done, position: Some(position.into()), report }
}

async fn count_audits(store: &Store, action: &str) -> i64 {
    let filter = AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    store.audit().list(filter, Page::default()).await.unwrap().1
}

pub(crate) async fn backtest_of_dead_node_goes_on(db: TestDatabase) {
    let store = db.store().await;
    let begun = begin(&store).await;
    assert_eq!(begun.parsed_state(), Some(OperatorRunState::Pending));
    let first = take(&store, "n1").await.unwrap();
    assert!(take(&store, "n2").await.is_none(), "another node makes it");
    let step = store.backtests().advance(first.clone(), point(40, "p40"), LEASE).await.unwrap();
    assert_eq!(step, BacktestStep::Continues);
    db.execute("UPDATE backtests SET held_until = '2000-01-01 00:00:00'").await.unwrap();
    let second = take(&store, "n2").await.unwrap();
    assert_eq!(second.position.as_deref(), Some("p40"));
    let late = OperatorRunClaim { position: Some("p40".into()), ..first };
    let late = store.backtests().advance(late, point(80, "p80"), LEASE).await.unwrap();
    assert_eq!(late, BacktestStep::Lost);
    let end = store.backtests().end(second, Some(point(60, "p60")), BacktestEnd::Completed).await.unwrap();
    assert_eq!(end, BacktestStep::Ended(OperatorRunState::Completed));
    let stored = store.backtests().get(&begun.id).await.unwrap().unwrap();
    assert_eq!((stored.done, stored.report.unwrap()["runs"].as_i64()), (60, Some(60)));
    assert!(take(&store, "n1").await.is_none());
    assert_eq!(count_audits(&store, "backtest_start").await, 1);
    assert_eq!(count_audits(&store, "backtest_end").await, 1);
}

pub(crate) async fn aborted_backtest_keeps_its_report(db: TestDatabase) {
    let store = db.store().await;
    let (running, waiting) = (begin(&store).await, begin(&store).await);
    let claim = take(&store, "n1").await.unwrap();
    assert_eq!(claim.id, running.id, "the oldest first");
    let abort = |id: String| {
        let backtests = store.backtests();
        async move { backtests.abort(&id, mutation("backtest", "abort")).await }
    };
    let ended = abort(waiting.id.clone()).await.unwrap();
    assert_eq!(ended.parsed_state(), Some(OperatorRunState::Aborted), "no node makes it");
    assert_eq!(refusal(abort(waiting.id).await).status(), 409);
    assert_eq!(refusal(abort("none".into()).await).status(), 404);
    let aborting = abort(running.id.clone()).await.unwrap();
    assert_eq!(aborting.parsed_state(), Some(OperatorRunState::Aborting));
    let step = store.backtests().advance(claim, point(5, "p5"), LEASE).await.unwrap();
    assert_eq!(step, BacktestStep::Ended(OperatorRunState::Aborted));
    let stored = store.backtests().get(&running.id).await.unwrap().unwrap();
    assert_eq!((stored.done, stored.report.unwrap()["runs"].as_i64()), (5, Some(5)));
}

pub(crate) async fn ended_backtests_are_deleted_after_their_time(db: TestDatabase) {
    let store = db.store().await;
    let (first, open) = (begin(&store).await, begin(&store).await);
    let new = NewBacktest {
        kind: EntityKind::Channel,
        definition: "orders".into(),
        version: 1,
        terms: Map::new(),
        limit: 1,
        started_by: "ops".into(),
    };
    let third = store.backtests().start(new, 2, mutation("backtest", "backtest_start")).await;
    let third = refusal(third);
    assert!(third.status() == 409 && third.message().contains(&open.id), "{third:?}");
    let claim = take(&store, "n").await.unwrap();
    let failed = store.backtests().end(claim, None, BacktestEnd::Failed("no way".into())).await.unwrap();
    assert_eq!(failed, BacktestStep::Ended(OperatorRunState::Failed));
    let (rows, total) = store.backtests().list(Page::default()).await.unwrap();
    assert_eq!((rows.len(), total), (2, 2));
    db.execute("UPDATE backtests SET ended_at = '2000-01-01 00:00:00' WHERE ended_at IS NOT NULL")
        .await
        .unwrap();
    assert_eq!(store.backtests().delete_expired(1, 10).await.unwrap(), 1);
    assert!(store.backtests().get(&first.id).await.unwrap().is_none());
    assert!(store.backtests().get(&open.id).await.unwrap().is_some());
}
