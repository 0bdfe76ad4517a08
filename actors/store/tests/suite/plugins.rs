//! Plugins: drafts, versions, and components that are stored once.

use std::sync::Arc;

use serde_json::json;
use svc_model::{LifecycleStatus, Page};
use svc_store::{ImportAction, Mutation, NewPlugin, OnConflict};

use super::database::TestDatabase;
use super::{Names, any_mutation, mutation, refusal, workflow};

fn change() -> Mutation {
    mutation("plugin", "update")
}

fn draft(version: &str, digest: &str) -> NewPlugin {
    NewPlugin {
        manifest: json!({"name": "tax", "version": version}),
        digest: digest.to_owned(),
        component: format!("base64 of {digest}"),
        bytes: 8,
        signature: None,
    }
}

pub(crate) async fn plugin_has_one_draft_and_one_active_version(db: TestDatabase) {
    let store = db.store().await;
    let plugins = store.plugins();
    let created = plugins.create("tax", draft("1", "a"), change()).await.unwrap();
    assert_eq!((created.version, created.status), (1, LifecycleStatus::Draft));
    assert_eq!(refusal(plugins.create("tax", draft("1", "a"), change()).await).status(), 409);
    let replaced = plugins.save_draft("tax", draft("2", "b"), change()).await.unwrap();
    assert_eq!((replaced.version, &replaced.manifest["version"]), (1, &json!("2")));
    let before = store.epoch().numbers().await.unwrap().epoch;
    plugins.activate("tax", change()).await.unwrap();
    assert_eq!(store.epoch().numbers().await.unwrap().epoch, before + 1);
    assert_eq!(refusal(plugins.activate("tax", change()).await).status(), 409);
    let next = plugins.save_draft("tax", draft("3", "c"), change()).await.unwrap();
    assert_eq!((next.version, next.status), (2, LifecycleStatus::Draft));
    plugins.activate("tax", change()).await.unwrap();
    let statuses: Vec<_> = plugins.versions("tax").await.unwrap().into_iter().map(|row| row.status).collect();
    assert_eq!(statuses, [LifecycleStatus::Active, LifecycleStatus::Archived]);
    let active = plugins.active().await.unwrap();
    assert_eq!((active.len(), active[0].digest.as_str()), (1, "c"));
    assert_eq!(refusal(plugins.delete("tax", change()).await).status(), 409);
    plugins.archive("tax", Arc::new(()), change()).await.unwrap();
    assert_eq!(refusal(plugins.archive("tax", Arc::new(()), change()).await).status(), 409);
    plugins.delete("tax", change()).await.unwrap();
    assert_eq!(plugins.list(Page::default()).await.unwrap().1, 0);
    for outcome in
        [plugins.activate("tax", change()).await, plugins.save_draft("tax", draft("1", "a"), change()).await]
    {
        assert_eq!(refusal(outcome).status(), 404);
    }
}

pub(crate) async fn component_is_kept_while_a_version_has_it(db: TestDatabase) {
    let store = db.store().await;
    let plugins = store.plugins();
    plugins.create("tax", draft("1", "a"), change()).await.unwrap();
    plugins.activate("tax", change()).await.unwrap();
    plugins.create("other", draft("1", "a"), change()).await.unwrap();
    plugins.save_draft("other", draft("2", "b"), change()).await.unwrap();
    assert_eq!(plugins.component("a").await.unwrap().as_deref(), Some("base64 of a"));
    plugins.save_draft("other", draft("3", "c"), change()).await.unwrap();
    assert_eq!(plugins.component("b").await.unwrap(), None);
    plugins.archive("tax", Arc::new(()), change()).await.unwrap();
    plugins.delete("tax", change()).await.unwrap();
    assert_eq!(plugins.component("a").await.unwrap(), None);
    assert!(plugins.component("c").await.unwrap().is_some());
}

pub(crate) async fn imported_plugin_is_a_draft_of_what_differs(db: TestDatabase) {
    let store = db.store().await;
    let plugins = store.plugins();
    let import = async |new: NewPlugin, on_conflict: OnConflict| {
        plugins.import_item("tax", new, on_conflict, change()).await.map(|outcome| outcome.action)
    };
    let new_version = OnConflict::NewVersion;
    assert_eq!(import(draft("1", "a"), OnConflict::Fail).await.unwrap(), ImportAction::Created);
    assert_eq!(import(draft("1", "a"), new_version).await.unwrap(), ImportAction::Unchanged);
    assert_eq!(import(draft("1", "b"), new_version).await.unwrap(), ImportAction::UpdatedDraft);
    plugins.activate("tax", change()).await.unwrap();
    assert_eq!(import(draft("1", "b"), new_version).await.unwrap(), ImportAction::Unchanged);
    assert_eq!(import(draft("2", "c"), OnConflict::Skip).await.unwrap(), ImportAction::Skipped);
    assert_eq!(refusal(import(draft("2", "c"), OnConflict::Fail).await).status(), 409);
    assert_eq!(import(draft("2", "b"), new_version).await.unwrap(), ImportAction::NewVersion);
    let signed = NewPlugin { signature: Some("line".to_owned()), ..draft("2", "b") };
    assert_eq!(import(signed, new_version).await.unwrap(), ImportAction::UpdatedDraft);
    let versions = plugins.versions("tax").await.unwrap();
    assert_eq!((versions.len(), versions[0].status), (2, LifecycleStatus::Draft));
    plugins.archive("tax", Arc::new(()), change()).await.unwrap();
    plugins.activate("tax", change()).await.unwrap();
    plugins.archive("tax", Arc::new(()), change()).await.unwrap();
    let again = import(draft("2", "b"), new_version).await.unwrap();
    assert_eq!(again, ImportAction::NewVersion, "an archived version cannot be activated");
}

pub(crate) async fn plugin_that_workflows_call_is_kept(db: TestDatabase) {
    let store = db.store().await;
    let plugins = store.plugins();
    plugins.create("tax", draft("1", "a"), change()).await.unwrap();
    plugins.activate("tax", change()).await.unwrap();
    let callers = || Arc::new(Names("tax"));
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    let archived = plugins.archive("tax", callers(), Mutation { dry_run: true, ..change() }).await;
    assert!(archived.is_ok(), "a draft does not call it");
    let requirements = Default::default();
    let workflows = store.workflows();
    workflows.set_status("w", LifecycleStatus::Active, None, requirements, any_mutation()).await.unwrap();
    let refused = refusal(plugins.archive("tax", callers(), change()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("workflow 'w'"), "{refused:?}");
    assert_eq!(plugins.active().await.unwrap().len(), 1);
    plugins.archive("tax", Arc::new(Names("other")), change()).await.unwrap();
}
