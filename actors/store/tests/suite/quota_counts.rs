//! The counts of quotas.

use std::time::Duration;

use futures_util::future::join_all;
use svc_model::config::{QuotaPeriod, QuotaTerms, QuotaWindow};
use svc_store::{QuotaRequest, QuotaReservation, QuotaSlice, Store};

use super::database::TestDatabase;
use super::traces::ago;

fn request(limit: u64, window: QuotaWindow) -> QuotaRequest {
    let terms = QuotaTerms { limit, per: QuotaPeriod::Month, window };
    QuotaRequest { channel_id: "orders".into(), key: "tenant".into(), terms }
}

async fn reserve(store: &Store, limit: u64, window: QuotaWindow) -> QuotaReservation {
    store.quota_counts().reserve(request(limit, window)).await.unwrap()
}

/// Reserves until nothing is left, and returns the sum.
async fn reserve_all(store: &Store, limit: u64, window: QuotaWindow) -> u64 {
    let mut reserved = 0;
    loop {
        match reserve(store, limit, window).await.count {
            0 => return reserved,
            count => reserved += count,
        }
    }
}

pub(crate) async fn reservations_never_exceed_the_limit(db: TestDatabase) {
    let store = db.store().await;
    for (window, limit) in [(QuotaWindow::Calendar, 500), (QuotaWindow::Sliding, 200)] {
        let callers = (0..8).map(|_| reserve_all(&store, limit, window));
        assert_eq!(join_all(callers).await.into_iter().sum::<u64>(), limit, "{window:?}");
        db.execute("DELETE FROM quota_counts").await.unwrap();
    }
}

pub(crate) async fn unused_requests_come_back(db: TestDatabase) {
    let store = db.store().await;
    let first = reserve(&store, 1000, QuotaWindow::Calendar).await;
    assert_eq!(first.count, 10, "a hundredth");
    assert!(first.slice_left > Duration::ZERO && first.window_left == first.slice_left);
    let slice = QuotaSlice { channel_id: "orders".into(), key: "tenant".into(), slice: first.slice };
    store.quota_counts().give_back(slice, 7).await.unwrap();
    let usages =
        store.quota_counts().list("orders", request(1000, QuotaWindow::Calendar).terms).await.unwrap();
    assert_eq!((usages.len(), usages[0].key.as_str(), usages[0].used), (1, "tenant", 3));
    let other = store.quota_counts().list("other", request(1000, QuotaWindow::Calendar).terms).await.unwrap();
    assert!(other.is_empty());
}

pub(crate) async fn ended_quota_windows_are_deleted(db: TestDatabase) {
    let store = db.store().await;
    assert_eq!(reserve(&store, 1, QuotaWindow::Calendar).await.count, 1);
    let used_up = reserve(&store, 1, QuotaWindow::Calendar).await;
    assert!(used_up.count == 0 && used_up.window_left > Duration::ZERO);
    assert_eq!(store.quota_counts().delete_expired(1).await.unwrap(), 0);
    db.execute(&format!("UPDATE quota_counts SET ends_at = {}", ago(&db, 1))).await.unwrap();
    assert_eq!(store.quota_counts().delete_expired(1).await.unwrap(), 2, "the slice and the lock of its key");
    assert_eq!(reserve(&store, 1, QuotaWindow::Calendar).await.count, 1);
}
