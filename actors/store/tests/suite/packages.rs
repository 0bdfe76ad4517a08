//! Receipts of packages.

use futures_util::future::join_all;
use svc_model::{NewReceipt, PackageInventory, PackageReceipt, Page, ReceiptState};
use svc_store::{AuditFilter, Mutation, PackageReceipts};

use super::database::TestDatabase;
use super::{mutation, refusal};

const ALL: Page = Page { limit: 50, offset: 0 };

fn receipt(name: &str, version: &str, hash: &str, state: ReceiptState) -> NewReceipt {
    NewReceipt {
        name: name.into(),
        version: version.into(),
        content_hash: hash.into(),
        state,
        inventory: None,
    }
}

fn change() -> Mutation {
    mutation("package", "package_staged")
}

async fn put(receipts: &PackageReceipts, version: &str, hash: &str, state: ReceiptState) -> PackageReceipt {
    receipts.put(receipt("orders", version, hash, state), change()).await.unwrap()
}

/// Stores a receipt until the clock of the database has moved on since another one.
async fn put_after(
    receipts: &PackageReceipts,
    earlier: &PackageReceipt,
    version: &str,
    state: ReceiptState,
) -> PackageReceipt {
    loop {
        let written = put(receipts, version, "a", state).await;
        if written.updated_at > earlier.updated_at {
            return written;
        }
    }
}

pub(crate) async fn receipt_of_an_applied_version_keeps_its_content(db: TestDatabase) {
    use ReceiptState::{Applied, Staged};
    let store = db.store().await;
    let receipts = store.packages();
    assert_eq!(receipts.versions("orders").await.unwrap(), []);
    let staged = put(&receipts, "1", "a", Staged).await;
    assert_eq!((staged.state, staged.principal.as_str()), (Staged, "anonymous"));
    assert_eq!(put(&receipts, "1", "b", Staged).await.content_hash, "b");
    let applied = put(&receipts, "1", "b", Applied).await;
    assert_eq!(applied.created_at, staged.created_at);
    for (hash, state) in [("b", Staged), ("c", Applied), ("c", Staged)] {
        let refused = receipts.put(receipt("orders", "1", hash, state), change()).await;
        assert_eq!(refusal(refused).status(), 409, "{hash} {state:?}");
    }
    assert_eq!(receipts.versions("orders").await.unwrap(), [applied]);
    let records = store.audit().list(AuditFilter::default(), ALL).await.unwrap().0;
    assert_eq!(records.len(), 3, "a refusal leaves no record");
    assert!(records.iter().all(|record| record.resource_id == "orders@1"));
}

pub(crate) async fn version_applied_last_is_the_current_one(db: TestDatabase) {
    use ReceiptState::{Applied, Staged};
    let store = db.store().await;
    let receipts = store.packages();
    let first = put(&receipts, "1", "a", Applied).await;
    let second = put_after(&receipts, &first, "2", Applied).await;
    let third = put_after(&receipts, &second, "3", Staged).await;
    let current = async || {
        let versions = receipts.versions("orders").await.unwrap();
        PackageReceipt::current(&versions).unwrap().version.clone()
    };
    assert_eq!(current().await, "2");
    put_after(&receipts, &third, "1", Applied).await;
    assert_eq!(current().await, "1", "an older version was applied again");
    receipts.put(receipt("billing", "9", "z", Applied), change()).await.unwrap();
    let (listed, total) = receipts.list(ALL).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|row| (row.name.as_str(), row.version.as_str())).collect();
    assert_eq!(listed, [("billing", "9"), ("orders", "1"), ("orders", "3"), ("orders", "2")]);
    assert_eq!(total, 4);
    assert_eq!(receipts.list(Page { limit: 1, offset: 1 }).await.unwrap().0[0].version, "1");
}

pub(crate) async fn one_of_many_simultaneous_applies_wins(db: TestDatabase) {
    let store = db.store().await;
    let receipts = store.packages();
    let attempts = (0..8).map(|index| {
        let new = receipt("orders", "1", &format!("h{index}"), ReceiptState::Applied);
        receipts.put(new, change())
    });
    let outcomes = join_all(attempts).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for refused in outcomes.into_iter().filter(Result::is_err) {
        assert_eq!(refusal(refused).status(), 409);
    }
    assert_eq!(receipts.versions("orders").await.unwrap().len(), 1);
}

pub(crate) async fn receipt_writes_have_distinct_times(db: TestDatabase) {
    let store = db.store().await;
    let receipts = store.packages();
    let mut last = put(&receipts, "1", "a", ReceiptState::Applied).await;
    for _ in 0..50 {
        let again = put(&receipts, "1", "a", ReceiptState::Applied).await;
        assert!(again.updated_at > last.updated_at, "{} and {}", last.updated_at, again.updated_at);
        last = again;
    }
}

pub(crate) async fn dry_run_of_a_receipt_leaves_nothing(db: TestDatabase) {
    let store = db.store().await;
    let trial = Mutation { dry_run: true, ..change() };
    let new = receipt("orders", "1", "a", ReceiptState::Staged);
    store.packages().put(new, trial).await.unwrap();
    assert_eq!(store.packages().list(ALL).await.unwrap(), (Vec::new(), 0));
    assert_eq!(store.audit().list(AuditFilter::default(), ALL).await.unwrap().1, 0);
}

pub(crate) async fn inventory_stays_until_another_is_told(db: TestDatabase) {
    let store = db.store().await;
    let receipts = store.packages();
    let inventory = PackageInventory { workflows: vec!["w".into()], ..PackageInventory::default() };
    let staged = receipt("orders", "1", "a", ReceiptState::Staged);
    let receipt = NewReceipt { inventory: Some(inventory.clone()), ..staged };
    receipts.put(receipt, change()).await.unwrap();
    let applied = put(&receipts, "1", "a", ReceiptState::Applied).await;
    assert_eq!(applied.inventory, Some(inventory));
}
