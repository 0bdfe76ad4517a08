//! Reads that change nothing.

use std::fs;

use svc_model::{LifecycleStatus, Page};
use svc_store::inspect::{self, StoredDefinitions};
use svc_store::{Backend, EntityFilter, OpenError, WorkflowRequirements, migrate};

use super::database::TestDatabase;
use super::schema::dump;
use super::{any_mutation, channel, workflow};

/// Returns the names and contents of the files of a database in a file.
fn files(db: &TestDatabase) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(db.directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

pub(crate) async fn pending_migrations_are_listed_without_a_change(db: TestDatabase) {
    let empty = if db.is_sqlite() { String::new() } else { dump(&db).await };
    let summary = inspect::summary(&db.config).await.unwrap();
    assert_eq!((summary.exists, summary.pending.is_empty()), (!db.is_sqlite(), false));
    assert_eq!(inspect::definitions(&db.config).await.unwrap(), StoredDefinitions::default());
    assert_eq!(files(&db), []);
    if !db.is_sqlite() {
        assert_eq!(dump(&db).await, empty, "no table was made");
    }
    migrate::run(&db.config).await.unwrap();
    let (before, schema) = (files(&db), dump(&db).await);
    let summary = inspect::summary(&db.config).await.unwrap();
    assert_eq!((summary.exists, summary.pending.len()), (true, 0));
    assert_eq!((dump(&db).await, files(&db).len()), (schema, before.len()));
    let mut elsewhere = db.config.clone();
    elsewhere.url = format!("sqlite:{}/no/such/svc.db", db.directory().display());
    let refused = inspect::summary(&elsewhere).await.unwrap_err();
    assert!(refused.to_string().contains("directory"), "{refused}");
    let refused = migrate::run(&elsewhere).await.unwrap_err();
    assert!(refused.to_string().contains("directory"), "{refused}");
}

pub(crate) async fn database_is_measured_without_a_change(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let before = dump(&db).await;
    let probe = inspect::probe(&db.config).await.unwrap();
    assert!(probe.version.contains('.') && !probe.is_replica, "{probe:?}");
    // Both run on one machine.
    assert!(probe.clock_ahead_ms.abs() < 5_000, "{probe:?}");
    match probe.backend {
        Backend::Sqlite => assert_eq!(probe.journal_mode.as_deref(), Some("wal")),
        Backend::Postgres => assert!(probe.max_connections > Some(0), "{probe:?}"),
    }
    assert_eq!(dump(&db).await, before);
}

/// A server may use the database meanwhile; nothing of it is locked.
pub(crate) async fn stored_definitions_are_read_without_a_change(db: TestDatabase) {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("first"), any_mutation()).await.unwrap();
    store
        .workflows()
        .set_status("w", LifecycleStatus::Active, None, WorkflowRequirements::default(), any_mutation())
        .await
        .unwrap();
    store.workflows().create(Some("v".into()), workflow("another"), any_mutation()).await.unwrap();
    store.channels().create(Some("c".into()), channel("c", None), any_mutation()).await.unwrap();
    let read = inspect::definitions(&db.config).await.unwrap();
    let page = Page { limit: 10, offset: 0 };
    let (mut workflows, _) = store.workflows().list(EntityFilter::default(), page).await.unwrap();
    workflows.sort_by(|one, other| one.content.name.cmp(&other.content.name));
    assert_eq!(read.workflows, workflows);
    assert_eq!(read.channels.len(), 1);
    assert_eq!(read.connectors, []);
}

pub(crate) async fn database_of_a_newer_program_is_refused(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    db.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000000')").await.unwrap();
    let refused = inspect::definitions(&db.config).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { .. }), "{refused}");
}
