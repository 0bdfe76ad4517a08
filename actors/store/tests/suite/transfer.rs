//! The move of a SQLite file to PostgreSQL.

use std::future::Future;

use svc_model::{LifecycleStatus, Page};
use svc_store::inspect;
use svc_store::{
    EntityFilter, FileLock, StoreConfig, TransferError, TransferredTable, WorkflowRequirements, migrate,
};
use svc_testkit::postgres::Postgres;
use tokio_postgres::NoTls;

use super::database::{TestDatabase, on_sqlite};
use super::{any_mutation, workflow};

/// Runs a case with a file and an empty database of the shared server.
pub(crate) fn run<F: Future<Output = ()>>(case: impl FnOnce(TestDatabase, StoreConfig) -> F) {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().expect("a database is made");
    let url = database.url().to_owned();
    on_sqlite(|db| {
        let target = StoreConfig { url, ..db.config.clone() };
        case(db, target)
    });
}

/// Returns the number that a query of the server results in.
async fn number(target: &StoreConfig, sql: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(&target.url, NoTls).await.unwrap();
    tokio::runtime::Handle::current().spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn transfer(
    source: &StoreConfig,
    target: &StoreConfig,
) -> Result<Vec<TransferredTable>, TransferError> {
    let mut reported = Vec::new();
    let mut report = |table: &TransferredTable| reported.push(table.clone());
    let moved = svc_store::transfer(source, target, &mut report).await?;
    assert_eq!(reported, moved);
    Ok(moved)
}

fn rows(moved: &[TransferredTable], name: &str) -> u64 {
    moved.iter().find(|table| table.table == name).expect("the table is moved").rows
}

/// Fills tables with values that are written differently in the two databases.
async fn fill(db: &TestDatabase) {
    for statement in [
        r#"INSERT INTO traces (id, channel, input_json, error_message, duration_ms, started_at, cancel_reports)
           VALUES ('t1', 'é " '' \ 🦀', '{"a": "\u0000", "b": "\\"}', 'line' || char(10) || 'two', 0.1,
                   '2026-01-02 03:04:05.123456', TRUE)"#,
        "INSERT INTO traces (id, channel, duration_ms, created_at) VALUES
           ('t2', '', 1234567.891234567, '2026-01-02 03:04:05'), ('t3', 'c', 0.001, '2026-01-02 03:04:05.7')",
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for, attempt_counted)
           VALUES ('o1', 'c', 'c', 9007199254740993, '2026-01-02 03:04:05.000001', FALSE)",
        "INSERT INTO job_leases (job_name, holder, expires_at) VALUES ('j', 'n', '2026-01-02 03:04:05.999')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1203)
           INSERT INTO error_counts (minute, error_group, failures) SELECT i, 'g', i FROM n",
    ] {
        db.execute(statement).await.unwrap();
    }
}

pub(crate) async fn every_row_moves_to_postgres_unchanged(db: TestDatabase, target: StoreConfig) {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("first"), any_mutation()).await.unwrap();
    let requirements = WorkflowRequirements::default();
    let active = LifecycleStatus::Active;
    store.workflows().set_status("w", active, None, requirements, any_mutation()).await.unwrap();
    store.workflows().create(Some("v".into()), workflow("another"), any_mutation()).await.unwrap();
    fill(&db).await;
    let moved = transfer(&db.config, &target).await.unwrap();
    assert_eq!((rows(&moved, "traces"), rows(&moved, "error_counts")), (3, 1203));
    assert_eq!((rows(&moved, "definitions"), rows(&moved, "config_epoch")), (2, 1));
    assert!(moved.iter().all(|table| table.digest.len() == 64), "{moved:?}");
    assert_eq!(inspect::definitions(&target).await.unwrap(), inspect::definitions(&db.config).await.unwrap());
    let float = "SELECT count(*) FROM traces WHERE duration_ms IN (0.1, 1234567.891234567, 0.001)";
    assert_eq!(number(&target, float).await, 3);
    assert_eq!(number(&target, "SELECT channel_version FROM cron_occurrences").await, 9_007_199_254_740_993);
    // The move knows no sequences; a migration that makes one must teach it.
    assert_eq!(number(&target, "SELECT count(*) FROM pg_class WHERE relkind = 'S'").await, 0);
    let page = Page { limit: 10, offset: 0 };
    let (list, _) = store.workflows().list(EntityFilter::default(), page).await.unwrap();
    assert_eq!(list.len(), 2, "the file is as it was");
}

pub(crate) async fn target_with_rows_takes_no_others(db: TestDatabase, target: StoreConfig) {
    migrate::run(&db.config).await.unwrap();
    fill(&db).await;
    transfer(&db.config, &target).await.unwrap();
    let refused = transfer(&db.config, &target).await.unwrap_err();
    let TransferError::NotEmpty { table, rows, .. } = &refused else { panic!("{refused}") };
    assert_eq!((table.as_str(), *rows), ("cron_occurrences", 1));
    let refused = transfer(&db.config, &db.config).await.unwrap_err();
    assert!(matches!(refused, TransferError::NoServer { .. }), "{refused}");
    let refused = transfer(&target, &db.config).await.unwrap_err();
    assert!(matches!(refused, TransferError::NoSource { .. }), "{refused}");
}

pub(crate) async fn failed_move_leaves_nothing_and_begins_anew(db: TestDatabase, target: StoreConfig) {
    migrate::run(&db.config).await.unwrap();
    fill(&db).await;
    // The last tables fail: everything before them is copied by then.
    db.execute("INSERT INTO traces (id, channel, attempt_of) VALUES ('long', 'c', hex(zeroblob(40)))")
        .await
        .unwrap();
    let failed = transfer(&db.config, &target).await.unwrap_err();
    let text = failed.to_string();
    assert!(matches!(failed, TransferError::Failed { .. }) && text.contains(": traces: "), "{text}");
    for table in ["error_counts", "cron_occurrences", "traces"] {
        assert_eq!(number(&target, &format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
    }
    db.execute("DELETE FROM traces WHERE id = 'long'").await.unwrap();
    let moved = transfer(&db.config, &target).await.unwrap();
    assert_eq!(rows(&moved, "traces"), 3);
}

pub(crate) async fn source_that_does_not_fit_is_refused(db: TestDatabase, target: StoreConfig) {
    let refused = transfer(&db.config, &target).await.unwrap_err();
    assert!(matches!(refused, TransferError::NoSource { .. }), "{refused}");
    assert!(!db.directory().join("svc.db").exists(), "no file is made");
    migrate::run(&db.config).await.unwrap();
    migrate::revert(&db.config).await.unwrap();
    let refused = transfer(&db.config, &target).await.unwrap_err();
    assert!(refused.to_string().contains("svc-server migrate"), "{refused}");
    migrate::run(&db.config).await.unwrap();
    let lock = FileLock::acquire(&db.config, "the server").unwrap();
    let refused = transfer(&db.config, &target).await.unwrap_err();
    assert!(refused.to_string().contains("the server"), "{refused}");
    drop(lock);
    db.execute("ALTER TABLE packages ADD COLUMN of_a_newer_program TEXT").await.unwrap();
    let refused = transfer(&db.config, &target).await.unwrap_err();
    assert!(matches!(refused, TransferError::OtherTable { .. }), "{refused}");
}
