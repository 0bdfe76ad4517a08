//! The epoch with its record of changes, and the leases of jobs.

use std::time::Duration;

use svc_model::LifecycleStatus;
use svc_store::{BreakerReset, ChangedEntity, ConfigChange, EpochNumbers, Mutation, NewNode, Store};
use tokio::time::timeout;
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::ago;
use super::{any_mutation, mutation, workflow};

const TTL: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(30);

/// Activates the draft `w` as a change of this id.
async fn activate(store: &Store, change_id: Uuid) -> Result<(), svc_store::StoreError> {
    let change = Mutation { epoch: true, change_id, ..mutation("workflow", "status_active") };
    let requirements = Default::default();
    store.workflows().set_status("w", LifecycleStatus::Active, None, requirements, change).await.map(drop)
}

pub(crate) async fn each_epoch_tells_what_changed(db: TestDatabase) {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    let [first, second] = [1, 2].map(Uuid::from_u128);
    activate(&store, first).await.unwrap();
    store.epoch().bump(mutation("engine", "reload").audit, second).await.unwrap();
    let expected = [
        ConfigChange { epoch: 1, entity: ChangedEntity::Workflow("w".into()), change_id: first.to_string() },
        ConfigChange { epoch: 2, entity: ChangedEntity::All, change_id: second.to_string() },
    ];
    assert_eq!(store.epoch().changes_after(0).await.unwrap(), expected);
    assert_eq!(store.epoch().changes_after(1).await.unwrap(), expected[1..]);
}

pub(crate) async fn change_whose_epoch_cannot_be_raised_is_not_applied(db: TestDatabase) {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    db.execute("DROP TABLE config_changes").await.unwrap();
    activate(&store, Uuid::nil()).await.unwrap_err();
    let stored = store.workflows().latest("w").await.unwrap().unwrap();
    assert_eq!((stored.status, store.epoch().current().await.unwrap()), (LifecycleStatus::Draft, 0));
}

pub(crate) async fn resets_of_breakers_follow_each_other(db: TestDatabase) {
    let store = db.store().await;
    for (number, key) in [(1, "orders:crm"), (2, "orders:mail")] {
        let order = mutation("circuit_breaker", "reset").audit;
        store.epoch().record_reset(key, order, Uuid::from_u128(number)).await.unwrap();
    }
    let numbers = store.epoch().numbers().await.unwrap();
    assert_eq!(numbers, EpochNumbers { epoch: 0, breaker_epoch: 2 });
    let last =
        BreakerReset { sequence: 2, key: "orders:mail".into(), change_id: Uuid::from_u128(2).to_string() };
    assert_eq!(store.epoch().resets_after(1).await.unwrap(), [last]);
}

pub(crate) async fn committed_changes_are_announced(db: TestDatabase) {
    let store = db.store().await;
    // Over a Unix socket nothing is announced.
    let Some(mut listener) = store.epoch().listen().await.unwrap() else { return };
    store.epoch().bump(mutation("engine", "reload").audit, Uuid::nil()).await.unwrap();
    timeout(SOON, listener.wait()).await.unwrap().unwrap();
}

pub(crate) async fn job_lease_has_one_holder_until_expiry(db: TestDatabase) {
    let store = db.store().await;
    let acquire = async |node| store.job_leases().acquire("trace_cleanup", node, TTL).await.unwrap();
    assert!(acquire("a").await && acquire("a").await, "the holder renews");
    assert!(!acquire("b").await);
    assert!(store.job_leases().acquire("audit_cleanup", "b", TTL).await.unwrap(), "another job");
    let ago = ago(&db, 1);
    db.execute(&format!("UPDATE job_leases SET expires_at = {ago}")).await.unwrap();
    assert!(acquire("b").await && !acquire("a").await);
}

pub(crate) async fn job_lease_ends_with_its_holder(db: TestDatabase) {
    let store = db.store().await;
    let node = NewNode { id: "a".into(), former: None, version: "1.0", lease: TTL, is_alone: false };
    store.nodes().register(node).await.unwrap();
    let acquire = async |node| store.job_leases().acquire("trace_cleanup", node, TTL).await.unwrap();
    assert!(acquire("a").await && !acquire("b").await);
    store.nodes().release(&"a".into()).await.unwrap();
    assert!(acquire("b").await);
}
