//! Connectors.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_model::{ConnectorContent, LifecycleStatus, Page};
use svc_secrets::{EnvelopeError, EnvelopeKeys};
use svc_store::{
    AuditFilter, ChangedEntity, EntityFilter, ImportAction, Mutation, OnConflict, References,
    WorkflowRequirements, reencrypt,
};

use super::database::TestDatabase;
use super::{Names, any_mutation, mutation, refusal, workflow};

fn connector(name: &str, config: Value) -> ConnectorContent {
    ConnectorContent {
        name: name.into(),
        connector_type: "http".into(),
        config,
        enabled: true,
        tags: vec!["a".into()],
    }
}

fn no_references() -> Arc<dyn References> {
    Arc::new(())
}

fn change(action: &str) -> Mutation {
    Mutation { epoch: true, ..mutation("connector", action) }
}

pub(crate) async fn a_connector_is_stored_changed_and_removed(db: TestDatabase) {
    let store = db.store().await;
    let connectors = store.connectors();
    let config = json!({"url": "https://a.example/\u{1F980}", "auth": {"type": "bearer", "token": "t\"'"}});
    let before = store.epoch().current().await.unwrap();
    let connector =
        connectors.create(Some("c".into()), connector("api", config.clone()), change("create")).await;
    let connector = connector.unwrap();
    assert_eq!((connector.id.as_str(), &connector.content.config), ("c", &config));
    assert_eq!(connectors.get("c").await.unwrap(), Some(connector));
    let merge =
        Box::new(|stored: &ConnectorContent| Ok(ConnectorContent { enabled: false, ..stored.clone() }));
    let changed = connectors.update("c", merge, no_references(), change("update")).await.unwrap();
    assert_eq!((changed.content.enabled, &changed.content.config), (false, &config));
    let stored = connectors.list_stored(Some("c")).await.unwrap();
    assert_eq!((stored.len(), stored[0].enabled), (1, false));
    assert_eq!(serde_json::from_str::<Value>(stored[0].config_text.as_ref().unwrap()).unwrap(), config);
    connectors.delete("c", change("delete")).await.unwrap();
    assert_eq!(refusal(connectors.delete("c", change("delete")).await).status(), 404);
    assert!(connectors.list_stored(None).await.unwrap().is_empty());
    assert_eq!(store.epoch().current().await.unwrap(), before + 3);
    let (records, _) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    let actions: Vec<_> = records.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions.len(), 3, "{actions:?}");
}

pub(crate) async fn name_is_unique_and_kept_while_used(db: TestDatabase) {
    let store = db.store().await;
    let connectors = store.connectors();
    for (id, name) in [("1", "one"), ("2", "two")] {
        connectors.create(Some(id.into()), connector(name, json!({})), any_mutation()).await.unwrap();
    }
    let creation =
        |id: &str, name: &str| connectors.create(Some(id.into()), connector(name, json!({})), any_mutation());
    assert_eq!(refusal(creation("1", "three").await).status(), 409);
    assert_eq!(refusal(creation("3", "one").await).status(), 409);
    let rename = |name: &'static str| {
        Box::new(move |stored: &ConnectorContent| {
            Ok(ConnectorContent { name: name.into(), ..stored.clone() })
        })
    };
    assert_eq!(
        refusal(connectors.update("1", rename("two"), no_references(), any_mutation()).await).status(),
        409
    );
    let workflows = store.workflows();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    workflows
        .set_status("w", LifecycleStatus::Active, None, WorkflowRequirements::default(), any_mutation())
        .await
        .unwrap();
    let everybody: Arc<dyn References> = Arc::new(Names("one"));
    let refused = refusal(connectors.update("1", rename("x"), Arc::clone(&everybody), any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().ends_with(": workflow 'w'"), "{}", refused.message());
    connectors.update("1", rename("one"), everybody, any_mutation()).await.unwrap();
    connectors.update("1", rename("x"), no_references(), any_mutation()).await.unwrap();
    let (rows, total) = connectors.list(EntityFilter::default(), Page::default()).await.unwrap();
    let names: Vec<_> = rows.iter().map(|row| row.content.name.as_str()).collect();
    assert_eq!((names, total), (vec!["two", "x"], 2));
}

pub(crate) async fn an_import_goes_by_the_name(db: TestDatabase) {
    let store = db.store().await;
    let connectors = store.connectors();
    let import = async |id: &str, name: &str, config: Value, on_conflict| {
        let items = vec![(Some(id.into()), connector(name, config))];
        let imported = connectors.import(items, on_conflict, any_mutation()).await.unwrap().remove(0);
        imported.map(|imported| (imported.id, imported.action))
    };
    let (one, two) = (json!({"url": "http://one"}), json!({"url": "http://two"}));
    let outcome = import("a", "api", one.clone(), OnConflict::Fail).await.unwrap();
    assert_eq!(outcome, ("a".to_owned(), ImportAction::Created));
    assert_eq!(refusal(import("b", "api", one.clone(), OnConflict::Fail).await).status(), 409);
    assert_eq!(refusal(import("a", "other", one.clone(), OnConflict::NewVersion).await).status(), 409);
    for (config, on_conflict, action) in [
        (two.clone(), OnConflict::Skip, ImportAction::Skipped),
        (one, OnConflict::NewVersion, ImportAction::Unchanged),
        (two.clone(), OnConflict::NewVersion, ImportAction::Updated),
    ] {
        assert_eq!(import("b", "api", config, on_conflict).await.unwrap(), ("a".to_owned(), action));
    }
    assert_eq!(connectors.get("a").await.unwrap().unwrap().content.config, two);
}

pub(crate) async fn import_raises_the_epoch_once(db: TestDatabase) {
    let store = db.store().await;
    let connectors = store.connectors();
    let item = |id: &str, name: &str| (Some(id.to_owned()), connector(name, json!({"url": "http://a"})));
    let import = async |items, dry_run| {
        let mutation = Mutation { epoch: true, dry_run, ..mutation("connector", "import") };
        let results = connectors.import(items, OnConflict::NewVersion, mutation).await.unwrap();
        results.iter().map(Result::is_ok).collect::<Vec<_>>()
    };
    let batch =
        || vec![item("1", "a"), item("1", "taken"), item("2", "b"), item("3", "c\u{0}"), item("4", "d")];
    let is_text = db.is_sqlite();
    let expected = [true, false, true, is_text, true];
    assert_eq!(import(batch(), true).await, expected);
    assert_eq!((connectors.all().await.unwrap().len(), store.epoch().current().await.unwrap()), (0, 0));
    assert_eq!(import(batch(), false).await, expected, "a refused item leaves the others alone");
    let stored = connectors.all().await.unwrap().len();
    assert_eq!(stored, expected.iter().filter(|is_stored| **is_stored).count());
    let (_, rows) = store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!(usize::try_from(rows).unwrap(), stored, "a row for each");
    assert_eq!(import(vec![item("1", "a"), item("2", "b")], false).await, [true, true]);
    assert_eq!(import(vec![item("5", "e")], false).await, [true]);
    let changes = store.epoch().changes_after(0).await.unwrap();
    let entities: Vec<_> = changes.into_iter().map(|change| change.entity).collect();
    let expected = [ChangedEntity::Connectors, ChangedEntity::Connector("5".into())];
    assert_eq!(entities, expected, "none for what is unchanged");
}

pub(crate) async fn settings_are_read_under_current_or_former_key(mut db: TestDatabase) {
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let keys = |current: Option<&str>, previous: &[&str]| {
        EnvelopeKeys::new(current, previous.iter().copied()).unwrap()
    };
    let config = |word: &str| json!({"url": "http://a", "auth": {"type": "bearer", "token": word}});
    let store = db.store().await;
    store
        .connectors()
        .create(Some("plain".into()), connector("plain", config("p")), any_mutation())
        .await
        .unwrap();
    db.config.connector_keys = keys(Some(&one), &[]);
    let store = db.store().await;
    store
        .connectors()
        .create(Some("one".into()), connector("one", config("swordfish")), any_mutation())
        .await
        .unwrap();
    assert_eq!(store.connectors().get("one").await.unwrap().unwrap().content.config, config("swordfish"));
    assert_eq!(store.connectors().get("plain").await.unwrap().unwrap().content.config, config("p"));
    // Without a key the settings are hidden, and disabling and enabling the connector loses nothing.
    db.config.connector_keys = EnvelopeKeys::default();
    let blind = db.store().await.connectors();
    let stored = blind.list_stored(Some("one")).await.unwrap().remove(0);
    assert!(matches!(stored.config_text, Err(EnvelopeError::UnknownKey { .. })));
    let off = Box::new(|stored: &ConnectorContent| Ok(ConnectorContent { enabled: false, ..stored.clone() }));
    let shown = blind.update("one", off, no_references(), any_mutation()).await.unwrap();
    assert!(svc_model::is_unreadable(&shown.content.config) && !shown.content.enabled);
    // The new key writes and the former one reads; re-encryption makes the former one unnecessary.
    db.config.connector_keys = keys(Some(&two), &[]);
    let failed = reencrypt(&db.config).await.unwrap();
    assert_eq!((failed.connectors, failed.failed.len()), (1, 1), "{failed:?}");
    db.config.connector_keys = keys(Some(&two), &[&one]);
    assert_eq!(reencrypt(&db.config).await.unwrap().connectors, 1);
    assert_eq!(reencrypt(&db.config).await.unwrap().connectors, 0);
    let filter = AuditFilter { action: Some("reencrypt".into()), ..AuditFilter::default() };
    let (records, _) = db.store().await.audit().list(filter, Page::default()).await.unwrap();
    let records: Vec<_> = records
        .iter()
        .map(|row| (row.principal.as_str(), row.resource_type.as_str(), row.resource_id.as_str()))
        .collect();
    let due = ["one", "plain"].map(|id| ("command-line", "connector", id));
    assert_eq!(records, due, "the newest first, one for each row that was rewritten");
    db.config.connector_keys = EnvelopeKeys::default();
    for stored in db.store().await.connectors().list_stored(None).await.unwrap() {
        assert!(stored.config_text.is_err(), "{stored:?}");
    }
    db.config.connector_keys = keys(Some(&two), &[]);
    let store = db.store().await;
    for (id, word) in [("plain", "p"), ("one", "swordfish")] {
        assert_eq!(store.connectors().get(id).await.unwrap().unwrap().content.config, config(word));
    }
}

/// Settings under the key `01…`, in the older form that is not bound to a place.
const UNBOUND: &str =
    "enc:v1:fb0cbbaeb52a5706:BwcHBwcHBwcHBwcH9tGf1mOMi4Nx7nBAnO9Iq4XU3rOCrrAm981T6KiJr1nW/A==";

pub(crate) async fn settings_open_after_rename_but_not_as_copy(mut db: TestDatabase) {
    let key = "01".repeat(32);
    db.config.connector_keys = EnvelopeKeys::new(Some(&key), []).unwrap();
    let connectors = db.store().await.connectors();
    for (id, word) in [("a", "swordfish"), ("b", "pencil")] {
        let config = json!({"url": "http://a", "auth": {"type": "bearer", "token": word}});
        connectors.create(Some(id.into()), connector(id, config), any_mutation()).await.unwrap();
    }
    let rename = Box::new(|stored: &ConnectorContent| {
        Ok(ConnectorContent { name: "renamed".into(), ..stored.clone() })
    });
    connectors.update("a", rename, no_references(), any_mutation()).await.unwrap();
    assert!(connectors.list_stored(Some("a")).await.unwrap().remove(0).config_text.is_ok());
    db.execute(
        "UPDATE definitions SET content = (SELECT content FROM definitions WHERE id = 'a') WHERE id = 'b'",
    )
    .await
    .unwrap();
    let copied = connectors.list_stored(Some("b")).await.unwrap().remove(0);
    let error = copied.config_text.unwrap_err();
    assert_eq!(error, EnvelopeError::Damaged);
    assert!(error.to_string().contains("copied from another row or field"), "{error}");
    let rewritten = reencrypt(&db.config).await.unwrap();
    let failed = vec![("connector 'b'".to_owned(), EnvelopeError::Damaged)];
    assert_eq!((rewritten.connectors, rewritten.failed), (0, failed));
}

pub(crate) async fn older_settings_are_read_and_bound_by_rewriting(mut db: TestDatabase) {
    let key = "01".repeat(32);
    db.config.connector_keys = EnvelopeKeys::new(Some(&key), []).unwrap();
    let connectors = db.store().await.connectors();
    for id in ["a", "b"] {
        connectors.create(Some(id.into()), connector(id, json!({})), any_mutation()).await.unwrap();
    }
    let content = json!({"name": "a", "connector_type": "http", "config": UNBOUND});
    db.execute(&format!("UPDATE definitions SET content = '{content}'")).await.unwrap();
    for stored in connectors.list_stored(None).await.unwrap() {
        assert_eq!(stored.config_text.unwrap(), r#"{"url":"http://a"}"#);
    }
    assert_eq!(reencrypt(&db.config).await.unwrap().connectors, 2);
    assert_eq!(reencrypt(&db.config).await.unwrap().connectors, 0);
    db.execute(
        "UPDATE definitions SET content = (SELECT content FROM definitions WHERE id = 'a') WHERE id = 'b'",
    )
    .await
    .unwrap();
    let opened = connectors.list_stored(None).await.unwrap();
    let opened: Vec<_> = opened.iter().map(|stored| stored.config_text.is_ok()).collect();
    assert_eq!(opened, [true, false]);
}
