//! Databases that the last build before 0.1.0 made: drafts, a canary, secrets with and without encryption, a running
//! occurrence, accepted work. The files of the fixtures were written by that build.

use std::fs;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};
use svc_model::LifecycleStatus::{Active, Archived, Draft};
use svc_model::{Page, WorkflowContent};
use svc_secrets::EnvelopeKeys;
use svc_store::{AuditFilter, OccurrenceFilter, OpenError, Store, inspect, migrate, reencrypt, restore};
use tokio::runtime::Builder;

use super::any_mutation;
use super::database::{TestDatabase, connect};
use super::schema::MIGRATIONS;
use super::schema::dump;

const SQLITE: &str = include_str!("../fixtures/earlier_sqlite.sql");
const POSTGRES: &str = include_str!("../fixtures/earlier_postgres.sql");

const SCHEMA: &str = "2026-11-28-000020_schema";
/// Id of the key of the fixtures.
const KEY_ID: &str = "668253b37812d982";
/// Processes that start at the same time.
const STARTING: usize = 4;

/// Loads the database of before.
async fn load(db: &TestDatabase) {
    db.execute(if db.is_sqlite() { SQLITE } else { POSTGRES }).await.unwrap();
}

/// Returns the key of the fixtures, for reading only if another one is to encrypt.
fn keys(other: Option<&str>) -> EnvelopeKeys {
    let key = "a1".repeat(32);
    match other {
        None => EnvelopeKeys::new(Some(&key), []).unwrap(),
        Some(other) => EnvelopeKeys::new(Some(&other.repeat(32)), [key.as_str()]).unwrap(),
    }
}

/// Returns the hash that the audit log has of the latest content of a definition.
async fn recorded_hash(store: &Store, id: &str) -> String {
    let filter = AuditFilter { resource_id: Some(id.into()), ..AuditFilter::default() };
    let (rows, _) = store.audit().list(filter, Page::default()).await.unwrap();
    let details: Value = serde_json::from_str(rows[0].details.as_deref().unwrap()).unwrap();
    details["content_hash"]["after"].as_str().unwrap().to_owned()
}

/// Returns the tables, indexes and triggers of a database, however their statements were written.
async fn shape(db: &TestDatabase) -> Vec<String> {
    use diesel::prelude::*;
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text)]
        line: String,
    }
    let Some(path) = db.config.url.strip_prefix("sqlite:") else {
        return dump(db).await.lines().map(str::to_owned).collect();
    };
    let columns =
        "SELECT concat_ws(' ', m.name, x.cid, x.name, x.type, x.\"notnull\", x.dflt_value, x.pk) AS line
        FROM sqlite_schema m, pragma_table_xinfo(m.name) x WHERE m.type = 'table'";
    let others = "SELECT sql AS line FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL";
    let mut lines = Vec::new();
    for query in [columns, others] {
        let found: Vec<Line> = diesel::sql_query(query).load(&mut connect(path)).unwrap();
        lines.extend(
            found.into_iter().map(|found| found.line.split_whitespace().collect::<Vec<_>>().join(" ")),
        );
    }
    lines.sort_unstable();
    lines
}

pub(crate) async fn earlier_database_is_taken_over_whole(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    assert_eq!(migrate::pending(&db.config).await.unwrap()[0], SCHEMA);
    let expected = inspect::definitions(&db.config).await.unwrap();
    assert_eq!((expected.workflows.len(), expected.channels.len(), expected.connectors.len()), (2, 4, 2));
    assert_eq!(migrate::run(&db.config).await.unwrap()[0], SCHEMA);
    assert_eq!(migrate::run(&db.config).await.unwrap(), Vec::<String>::new());
    assert_eq!(inspect::definitions(&db.config).await.unwrap(), expected);
    let store = db.store().await;
    let (workflows, channels) = (store.workflows(), store.channels());
    let (versions, _) = workflows.versions("greet", Page::default()).await.unwrap();
    let states: Vec<_> =
        versions.iter().map(|row| (row.version, row.status, row.rollout_percentage)).collect();
    assert_eq!(states, [(3, Active, 10), (2, Active, 90), (1, Archived, 100)]);
    assert_eq!(workflows.statuses("idea").await.unwrap(), [Draft]);
    assert_eq!(channels.statuses("orders").await.unwrap(), [Draft, Active, Archived]);
    for workflow in &expected.workflows {
        let hash = workflow.content.content_hash();
        assert_eq!(hash, recorded_hash(&store, &workflow.workflow_id).await, "{workflow:?}");
    }
    for channel in &expected.channels {
        let hash = channel.content.content_hash();
        assert_eq!(hash, recorded_hash(&store, &channel.channel_id).await, "{}", channel.channel_id);
    }
    for connector in &expected.connectors {
        assert_eq!(connector.content.content_hash(), recorded_hash(&store, &connector.id).await);
    }
    let page = store.ledger().list(OccurrenceFilter::default(), Page::default(), None).await.unwrap();
    let mut occurrences: Vec<_> = page.rows.iter().map(|row| row.status.as_str()).collect();
    occurrences.sort_unstable();
    assert_eq!((occurrences, store.epoch().current().await.unwrap()), (vec!["pending", "running"], 10));
    // The next version of what was taken over is made as any other.
    workflows.new_version("greet", any_mutation()).await.unwrap();
    assert_eq!(workflows.statuses("greet").await.unwrap(), [Draft, Active, Active, Archived]);
}

pub(crate) async fn taken_over_schema_equals_a_fresh_one(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    migrate::run(&db.config).await.unwrap();
    let taken_over = shape(&db).await;
    migrate::revert(&db.config).await.unwrap();
    migrate::run(&db.config).await.unwrap();
    assert_eq!(taken_over, shape(&db).await);
}

pub(crate) async fn secrets_of_earlier_databases_move_with_their_keys(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(Some("b2"));
    let store = db.store().await;
    let orders = store.channels().latest("orders").await.unwrap().unwrap();
    assert_eq!(orders.content.config["auth"]["keys"], json!(["k1", "k2"]));
    let open = store.channels().latest("open").await.unwrap().unwrap();
    assert_eq!(open.content.config["auth"]["keys"], json!(["open-sesame", "env://SVC_TEST_KEY"]));
    let stored = store.connectors().list_stored(None).await.unwrap();
    let texts: Vec<_> = stored.iter().map(|stored| stored.config_text.clone().unwrap()).collect();
    assert!(texts[0].contains("s3al3d") && texts[1].contains("t0ps3cret"), "{texts:?}");
    // What was encrypted is under the new key; what was not stays as it was until it is re-encrypted.
    let report = reencrypt(&db.config).await.unwrap();
    assert_eq!((report.connectors, report.channels, report.failed), (1, 1, vec![]));
}

pub(crate) async fn earlier_database_without_its_keys_is_refused(mut db: TestDatabase) {
    load(&db).await;
    let before = dump(&db).await;
    let key = "a1".repeat(32);
    let reading_only = EnvelopeKeys::new(None, [key.as_str()]).unwrap();
    let other = EnvelopeKeys::new(Some(&"b2".repeat(32)), []).unwrap();
    for (keys, named) in [
        (EnvelopeKeys::default(), KEY_ID),
        (other, KEY_ID),
        (reading_only, "storage.connector_encryption_key is not set"),
    ] {
        db.config.connector_keys = keys;
        let refused = migrate::run(&db.config).await.unwrap_err();
        let line = refused.to_string();
        assert!(matches!(refused, OpenError::MissingKeys { .. }) && refused.is_configuration(), "{line}");
        assert!(line.contains(named) && line.contains("connector 'sealed'"), "{line}");
        assert!(matches!(db.open().await.err().unwrap(), OpenError::MissingKeys { .. }));
        assert_eq!(dump(&db).await, before, "nothing was written");
    }
    db.config.connector_keys = keys(None);
    assert_eq!(migrate::run(&db.config).await.unwrap()[0], SCHEMA);
}

pub(crate) async fn live_node_refuses_the_takeover(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    let insert = "INSERT INTO nodes (id, version, pid, lease_until) VALUES ('still-here', '0.0.9', 1, '2999-01-01 00:00:00')";
    db.execute(insert).await.unwrap();
    let before = dump(&db).await;
    let refused = migrate::run(&db.config).await.unwrap_err();
    let line = refused.to_string();
    assert!(matches!(refused, OpenError::LiveNodes { .. }) && !refused.is_configuration(), "{line}");
    assert!(line.contains("still-here") && line.contains("stop"), "{line}");
    assert!(matches!(db.open().await.err().unwrap(), OpenError::LiveNodes { .. }));
    assert_eq!(dump(&db).await, before, "nothing was written");
    db.execute("UPDATE nodes SET lease_until = '2020-01-01 00:00:00' WHERE id = 'still-here'").await.unwrap();
    assert_eq!(migrate::run(&db.config).await.unwrap()[0], SCHEMA);
}

pub(crate) async fn earlier_database_in_part_is_refused(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    db.execute("DELETE FROM __diesel_schema_migrations WHERE version = '20261128000019'").await.unwrap();
    let before = dump(&db).await;
    for refused in [
        migrate::pending(&db.config).await.unwrap_err(),
        migrate::run(&db.config).await.unwrap_err(),
        inspect::definitions(&db.config).await.unwrap_err(),
    ] {
        let line = refused.to_string();
        assert!(matches!(refused, OpenError::Incomplete { .. }) && refused.is_configuration(), "{line}");
        assert!(
            line.contains("2026-11-28-000019_node_keys") && line.contains("svc-server migrate"),
            "{line}"
        );
    }
    assert_eq!(dump(&db).await, before, "nothing was written");
}

pub(crate) async fn one_of_many_takes_over_others_wait(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    let start = Barrier::new(STARTING);
    let process = || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        start.wait();
        runtime.block_on(migrate::run(&db.config)).unwrap()
    };
    let applied = thread::scope(|scope| {
        let processes = [(); STARTING].map(|()| scope.spawn(process));
        processes.map(|process| process.join().unwrap())
    });
    // The one that took the database over may lose the race for the migrations that follow.
    let mut applied = applied.concat();
    let runs = applied.len();
    applied.sort_unstable();
    applied.dedup();
    assert_eq!((runs, applied.len(), applied[0].as_str()), (MIGRATIONS, MIGRATIONS, SCHEMA));
}

pub(crate) async fn damaged_definitions_are_taken_over_as_damaged(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    for statement in [
        "UPDATE workflows SET tasks_json = '{' WHERE workflow_id = 'idea'",
        "UPDATE connectors SET config_json = (SELECT config_json FROM connectors WHERE id = 'sealed') WHERE id = 'plain'",
    ] {
        db.execute(statement).await.unwrap();
    }
    let store = db.store().await;
    let WorkflowContent { tasks, .. } = store.workflows().latest("idea").await.unwrap().unwrap().content;
    assert!(tasks.iter().all(svc_model::is_unreadable), "{tasks:?}");
    let copied = store.connectors().list_stored(Some("plain")).await.unwrap().remove(0);
    assert!(copied.config_text.unwrap_err().to_string().contains("copied from another row"));
}

pub(crate) async fn backup_of_an_earlier_database_is_restored(mut db: TestDatabase) {
    load(&db).await;
    db.config.connector_keys = keys(None);
    let file = db.config.url.strip_prefix("sqlite:").unwrap().to_owned();
    let backup = db.directory().join("earlier.db");
    fs::rename(&file, &backup).unwrap();
    let report = restore(&db.config, &backup).unwrap();
    assert_eq!(report.pending[0], SCHEMA);
    let store = db.store().await;
    assert_eq!(store.workflows().statuses("idea").await.unwrap(), [Draft]);
}
