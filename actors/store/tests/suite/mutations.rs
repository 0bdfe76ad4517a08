//! The audit record and the epoch of a mutation.

use svc_model::{LifecycleStatus, Page, Precondition, Timestamp};
use svc_store::{AuditFilter, EntityFilter, Mutation};

use super::database::TestDatabase;
use super::traces::ago;
use super::{any_mutation, mutation, refusal, workflow};
use uuid::Uuid;

pub(crate) async fn every_mutation_leaves_its_record(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    let act = |action| mutation("workflow", action);
    let created = workflows.create(None, workflow("one"), act("create")).await.unwrap();
    let id = created.workflow_id.as_str();
    workflows.update(id, Box::new(|stored| Ok(stored.clone())), act("update")).await.unwrap();
    workflows
        .set_status(id, LifecycleStatus::Active, None, Default::default(), act("status_active"))
        .await
        .unwrap();
    workflows.set_rollout(id, 100, act("update_rollout")).await.unwrap();
    workflows.new_version(id, act("create_version")).await.unwrap();
    workflows.delete(id, act("delete")).await.unwrap();
    let (rows, total) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    let actions: Vec<_> = rows.iter().rev().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["create", "update", "status_active", "update_rollout", "create_version", "delete"]);
    assert_eq!(total, 6);
    assert!(rows.iter().all(|row| row.resource_id == id && row.resource_type == "workflow"));
    let details: serde_json::Value = serde_json::from_str(rows[0].details.as_deref().unwrap()).unwrap();
    let content_hash = serde_json::json!({"before": created.content.content_hash(), "after": null});
    assert_eq!(details, serde_json::json!({"request_id": "r1", "version": 2, "content_hash": content_hash}));
}

pub(crate) async fn a_refused_mutation_leaves_none(db: TestDatabase) {
    let store = db.store().await;
    let served = || Mutation { epoch: true, ..any_mutation() };
    refusal(store.workflows().delete("w", served()).await);
    refusal(store.workflows().set_rollout("w", 10, served()).await);
    let skip = svc_store::OnConflict::Skip;
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    store.workflows().import_item(Some("w".into()), workflow("x"), skip, served()).await.unwrap();
    let (_, total) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!((total, store.epoch().current().await.unwrap()), (1, 0));
}

pub(crate) async fn the_epoch_counts_what_serves(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    assert_eq!(store.epoch().current().await.unwrap(), 0);
    let served = Mutation { epoch: true, ..any_mutation() };
    workflows.set_status("w", LifecycleStatus::Active, None, Default::default(), served).await.unwrap();
    assert_eq!(store.epoch().current().await.unwrap(), 1);
    store.epoch().bump(mutation("engine", "reload").audit, Uuid::nil()).await.unwrap();
    assert_eq!(store.epoch().current().await.unwrap(), 2);
    let reloads = AuditFilter { resource_type: Some("engine".into()), ..AuditFilter::default() };
    assert_eq!(store.audit().list(reloads, Page::default()).await.unwrap().1, 1);
}

pub(crate) async fn records_are_filtered_and_newest_first(db: TestDatabase) {
    let store = db.store().await;
    let audit = store.audit();
    for (action, kind, id) in
        [("create", "workflow", "1"), ("delete", "workflow", "2"), ("create", "channel", "1")]
    {
        let mut entry = mutation(kind, action).audit;
        entry.resource_id = id.into();
        entry.principal = format!("key-{id}");
        audit.record(entry).await.unwrap();
    }
    let count = async |filter| audit.list(filter, Page::default()).await.unwrap().1;
    let none = AuditFilter::default;
    assert_eq!(count(AuditFilter { action: Some("create".into()), ..none() }).await, 2);
    assert_eq!(count(AuditFilter { resource_type: Some("workflow".into()), ..none() }).await, 2);
    assert_eq!(count(AuditFilter { resource_id: Some("1".into()), ..none() }).await, 2);
    assert_eq!(count(AuditFilter { principal: Some("key-2".into()), ..none() }).await, 1);
    let (rows, _) = audit.list(none(), Page { limit: 2, offset: 0 }).await.unwrap();
    assert_eq!((rows[0].resource_type.as_str(), rows[1].action.as_str()), ("channel", "delete"));
    let first = audit.list(none(), Page { limit: 1, offset: 2 }).await.unwrap().0.remove(0).created_at;
    assert_eq!(count(AuditFilter { start_time: Some(first), ..none() }).await, 3, "from is inclusive");
    assert_eq!(count(AuditFilter { end_time: Some(first), ..none() }).await, 0, "to is exclusive");
    let past = Timestamp::parse("2020-01-01T00:00:00").unwrap();
    assert_eq!(count(AuditFilter { start_time: Some(past), end_time: Some(past), ..none() }).await, 0);
}

pub(crate) async fn nul_character_is_found_nowhere(db: TestDatabase) {
    const NUL: &str = "a\0";
    let store = db.store().await;
    let (workflows, channels) = (store.workflows(), store.channels());
    workflows.create(Some("a".into()), workflow("a"), any_mutation()).await.unwrap();
    assert_eq!(workflows.latest(NUL).await.unwrap(), None);
    assert_eq!(channels.latest(NUL).await.unwrap(), None);
    assert!(store.connectors().get(NUL).await.unwrap().is_none());
    let requirements = || Default::default();
    for refused in [
        refusal(workflows.versions(NUL, Page::default()).await),
        refusal(workflows.update(NUL, Box::new(|stored| Ok(stored.clone())), any_mutation()).await),
        refusal(workflows.new_version(NUL, any_mutation()).await),
        refusal(workflows.delete(NUL, any_mutation()).await),
        refusal(
            workflows.set_status(NUL, LifecycleStatus::Active, None, requirements(), any_mutation()).await,
        ),
    ] {
        assert_eq!(refused.status(), 404, "{refused}");
    }
    assert!(
        !workflows
            .check_status(NUL, LifecycleStatus::Active, None, requirements(), Precondition::None)
            .await
            .unwrap()
            .valid()
    );
    let nul = || Some(NUL.to_owned());
    for filter in [
        EntityFilter { tag: nul(), ..EntityFilter::default() },
        EntityFilter { status: nul().map(Into::into), ..EntityFilter::default() },
        EntityFilter { protocol: nul(), ..EntityFilter::default() },
        EntityFilter { channel_type: nul(), ..EntityFilter::default() },
    ] {
        assert_eq!(workflows.list(filter.clone(), Page::default()).await.unwrap(), (vec![], 0));
        assert_eq!(channels.list(filter.clone(), Page::default()).await.unwrap(), (vec![], 0));
        assert_eq!(store.connectors().list(filter.clone(), Page::default()).await.unwrap(), (vec![], 0));
        assert!(workflows.export(filter).await.unwrap().is_empty());
    }
    let nul = || Some(svc_store::AnyOf::from(NUL));
    for filter in [
        AuditFilter { action: nul(), ..AuditFilter::default() },
        AuditFilter { resource_type: nul(), ..AuditFilter::default() },
        AuditFilter { resource_id: nul(), ..AuditFilter::default() },
        AuditFilter { principal: nul(), ..AuditFilter::default() },
    ] {
        assert_eq!(store.audit().list(filter, Page::default()).await.unwrap(), (vec![], 0));
    }
    let nul = || Some(NUL.to_owned());
    let sorted = EntityFilter { sort_by: nul(), sort_order: nul(), ..EntityFilter::default() };
    assert_eq!(workflows.list(sorted, Page::default()).await.unwrap().1, 1, "these are only compared");
}

pub(crate) async fn old_records_are_deleted_in_steps(db: TestDatabase) {
    let store = db.store().await;
    for n in 0..7 {
        store.workflows().create(Some(format!("w{n}")), workflow("w"), any_mutation()).await.unwrap();
    }
    let old = format!("UPDATE audit_logs SET created_at = {} WHERE resource_id < 'w5'", ago(&db, 49));
    db.execute(&old).await.unwrap();
    assert_eq!(store.audit().delete_expired(3, 2).await.unwrap(), 0);
    assert_eq!(store.audit().delete_expired(2, 2).await.unwrap(), 5);
    assert_eq!(store.audit().list(AuditFilter::default(), Page::default()).await.unwrap().1, 2);
}
