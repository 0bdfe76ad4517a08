//! Databases of the builds before 0.1.0, which are recognised by their migrations and taken over in one transaction.
//!
//! Definitions move to the table of documents. Every other table stays as it is, with its rows. No program of before
//! runs on the database afterwards.

mod migrations;
mod tables;

use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use svc_secrets::EnvelopeKeys;

use crate::checksums::embedded_checksum;
use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::error::{OpenError, StoreError};
use crate::migrate::{ADVISORY_LOCK, detail};
use crate::repo::{DefinitionRow, NodeStatus, insert_row, list_nodes};
use migrations::earlier_migrations;
use tables::EarlierDefinitions;

/// The migration that a database has afterwards.
const SCHEMA: &str = "2026-11-28-000020_schema";
/// Begin of the part of that migration that a database of before lacks.
const DEFINITIONS: &str = "\n-- Definitions\n";

const SQLITE_SCHEMA: &str = include_str!("../../../../migrations/sqlite/2026-11-28-000020_schema/up.sql");
const POSTGRES_SCHEMA: &str = include_str!("../../../../migrations/postgres/2026-11-28-000020_schema/up.sql");

/// Drops the tables whose rows have moved.
const DROP_TABLES: &str = "DROP VIEW current_workflows; DROP VIEW current_channels; DROP TABLE workflows; \
    DROP TABLE channels; DROP TABLE connectors;";
/// Drops the functions that only their triggers used.
const DROP_FUNCTIONS: &str =
    "DROP FUNCTION supersede_workflow; DROP FUNCTION supersede_channel; DROP FUNCTION refuse_active_edit;";

/// Keeps every node of before from writing until the transaction ends.
const LOCK_TABLES: &str =
    "LOCK TABLE config_epoch, nodes, workflows, channels, connectors IN ACCESS EXCLUSIVE MODE";

/// The migrations of a database: the versions that were applied, and the checksums that were recorded for them.
#[derive(Debug, Default)]
struct MigrationHistory {
    applied: Vec<String>,
    recorded: Vec<(String, String)>,
}

#[derive(QueryableByName)]
struct TableCount {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

#[derive(QueryableByName)]
struct VersionRow {
    #[diesel(sql_type = Text)]
    version: String,
}

#[derive(QueryableByName)]
struct ChecksumRow {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = Text)]
    checksum: String,
}

/// Returns whether a database is one of before, complete and unaltered.
///
/// # Errors
/// [`OpenError::Incomplete`] with only a part of the migrations of before, [`OpenError::Altered`] if the checksum of
/// one differs.
pub(crate) fn is_earlier(
    backend: Backend,
    applied: &[String],
    recorded: &[(String, String)],
    target: &str,
) -> Result<bool, OpenError> {
    let known = earlier_migrations(backend);
    let names = |of: &[&(&str, &str)]| of.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let missing: Vec<_> = known.iter().filter(|(name, _)| !applied.contains(&version_of(name))).collect();
    // A database with migrations of neither is one of a newer program.
    if missing.len() == known.len() || applied.len() > known.len() {
        return Ok(false);
    }
    if !missing.is_empty() {
        return Err(OpenError::Incomplete { target: target.to_owned(), missing: names(&missing) });
    }
    let is_recorded = |name: &str, checksum: &str| {
        recorded.iter().any(|(version, recorded)| *version == version_of(name) && recorded == checksum)
    };
    let altered: Vec<_> = known.iter().filter(|(name, checksum)| !is_recorded(name, checksum)).collect();
    match altered.is_empty() {
        true => Ok(true),
        false => Err(OpenError::Altered { target: target.to_owned(), migrations: names(&altered) }),
    }
}

/// Returns the version of a migration as the record of applied migrations writes it.
fn version_of(name: &str) -> String {
    name.split('_').next().unwrap_or_default().replace('-', "")
}

/// Takes a database of before over. Returns the name of the migration that it has now; `None` for any other database.
///
/// # Errors
/// [`OpenError`]; nothing was changed then. Besides those of [`is_earlier`]: [`OpenError::LiveNodes`] while a node of
/// before runs, [`OpenError::MissingKeys`] without the keys of its secrets.
pub(crate) async fn take_over(
    connector: &ConnectionManager,
    keys: &EnvelopeKeys,
) -> Result<Option<String>, OpenError> {
    let target = connector.target.to_string();
    let failed = |error| OpenError::Migration { target: target.clone(), detail: detail(error) };
    let mut conn = connector
        .open(Purpose::Write)
        .await
        .map_err(|error| OpenError::Unreachable { target: target.clone(), detail: detail(error) })?;
    let history = read_history(&mut conn).await.map_err(failed)?;
    // Behind a pooler nothing is migrated.
    if !is_earlier(conn.backend(), &history.applied, &history.recorded, &target)? || connector.is_pooled() {
        return Ok(None);
    }
    conn.begin().await.map_err(failed)?;
    match replace_tables(&mut conn, &target, keys).await {
        Ok(schema) => conn.commit().await.map(|()| schema).map_err(failed),
        Err(error) => {
            // A connection whose rollback fails is broken, and nothing of the transaction is kept.
            let _undone = conn.rollback().await;
            Err(error)
        }
    }
}

/// Moves the definitions in a transaction. Returns `None` if another process did so meanwhile.
async fn replace_tables(
    conn: &mut Conn,
    target: &str,
    keys: &EnvelopeKeys,
) -> Result<Option<String>, OpenError> {
    let failed = |error| OpenError::Migration { target: target.to_owned(), detail: detail(error) };
    let backend = conn.backend();
    if backend == Backend::Postgres {
        let lock = format!("SELECT pg_advisory_xact_lock({ADVISORY_LOCK})");
        execute(conn, &lock).await.map_err(failed)?;
    }
    let history = read_history(conn).await.map_err(failed)?;
    if !is_earlier(backend, &history.applied, &history.recorded, target)? {
        return Ok(None);
    }
    if backend == Backend::Postgres {
        execute(conn, LOCK_TABLES).await.map_err(failed)?;
    }
    let live = list_nodes(conn).await.map_err(failed)?;
    let nodes: Vec<_> =
        live.into_iter().filter(|node| node.status == NodeStatus::Live).map(|node| node.id).collect();
    if !nodes.is_empty() {
        return Err(OpenError::LiveNodes { target: target.to_owned(), nodes });
    }
    let EarlierDefinitions { rows, unmoved } = tables::read(conn, keys).await.map_err(failed)?;
    if !unmoved.is_empty() {
        return Err(OpenError::MissingKeys { target: target.to_owned(), secrets: unmoved });
    }
    create_definitions(conn, rows).await.map_err(failed)?;
    Ok(Some(SCHEMA.to_owned()))
}

/// Puts the table of definitions in the place of the earlier ones, and its migration in the place of theirs.
async fn create_definitions(conn: &mut Conn, rows: Vec<DefinitionRow>) -> Result<(), StoreError> {
    execute(conn, DROP_TABLES).await?;
    if conn.backend() == Backend::Postgres {
        execute(conn, DROP_FUNCTIONS).await?;
    }
    execute(conn, definitions_schema(conn.backend())).await?;
    for row in rows {
        insert_row(conn, row).await?;
    }
    let checksum = embedded_checksum(conn.backend(), SCHEMA)
        .ok_or_else(|| StoreError::Database(format!("the migration {SCHEMA} is missing")))?;
    let version = version_of(SCHEMA);
    let record = format!(
        "DELETE FROM __diesel_schema_migrations; \
         INSERT INTO __diesel_schema_migrations (version) VALUES ('{version}'); \
         DELETE FROM migration_checksums; \
         INSERT INTO migration_checksums (version, checksum) VALUES ('{version}', '{checksum}');"
    );
    execute(conn, &record).await
}

/// Returns the part of the schema that a database of before lacks.
fn definitions_schema(backend: Backend) -> &'static str {
    let schema = match backend {
        Backend::Sqlite => SQLITE_SCHEMA,
        Backend::Postgres => POSTGRES_SCHEMA,
    };
    schema.split_once(DEFINITIONS).map_or(schema, |(_, definitions)| definitions)
}

/// Reads the definitions of a database of before as they will be taken over. Changes nothing.
pub(crate) async fn read_definitions(
    conn: &mut Conn,
    keys: &EnvelopeKeys,
) -> Result<Vec<DefinitionRow>, StoreError> {
    Ok(tables::read(conn, keys).await?.rows)
}

/// Reads the checksums first: between the two reads another process may take the database over, which is then none of
/// before.
async fn read_history(conn: &mut Conn) -> Result<MigrationHistory, StoreError> {
    let mut history = MigrationHistory::default();
    if has_table(conn, "migration_checksums").await? {
        let rows = sql_query("SELECT version, checksum FROM migration_checksums");
        let rows: Vec<ChecksumRow> = on!(conn, c => rows.load(c).await)?;
        history.recorded = rows.into_iter().map(|row| (row.version, row.checksum)).collect();
    }
    if has_table(conn, "__diesel_schema_migrations").await? {
        let rows = sql_query("SELECT version FROM __diesel_schema_migrations");
        let rows: Vec<VersionRow> = on!(conn, c => rows.load(c).await)?;
        history.applied = rows.into_iter().map(|row| row.version).collect();
    }
    Ok(history)
}

async fn has_table(conn: &mut Conn, name: &'static str) -> Result<bool, StoreError> {
    let tables = match conn.backend() {
        Backend::Sqlite => {
            format!("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = '{name}'")
        }
        Backend::Postgres => {
            format!("SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('{name}')")
        }
    };
    let count: TableCount = on!(conn, c => sql_query(tables).get_result(c).await)?;
    Ok(count.n > 0)
}

async fn execute(conn: &mut Conn, statements: &str) -> Result<(), StoreError> {
    Ok(on!(conn, c => c.batch_execute(statements).await)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the history that the builds of before leave.
    fn history(backend: Backend) -> MigrationHistory {
        let known = earlier_migrations(backend);
        MigrationHistory {
            applied: known.iter().map(|(name, _)| version_of(name)).collect(),
            recorded: known.iter().map(|(name, sum)| (version_of(name), (*sum).to_owned())).collect(),
        }
    }

    fn judge(history: &MigrationHistory) -> Result<bool, OpenError> {
        is_earlier(Backend::Sqlite, &history.applied, &history.recorded, "a file")
    }

    #[test]
    fn complete_history_of_before_is_recognised() {
        for backend in [Backend::Sqlite, Backend::Postgres] {
            let MigrationHistory { applied, recorded } = history(backend);
            assert!(is_earlier(backend, &applied, &recorded, "a file").unwrap());
        }
        assert!(!judge(&MigrationHistory::default()).unwrap(), "an empty database is a new one");
        let current = MigrationHistory { applied: vec![version_of(SCHEMA)], ..MigrationHistory::default() };
        assert!(!judge(&current).unwrap());
    }

    #[test]
    fn partial_history_is_refused_naming_what_is_missing() {
        let mut partial = history(Backend::Sqlite);
        partial.applied.pop();
        let refused = judge(&partial).unwrap_err();
        assert!(refused.to_string().contains("2026-11-28-000019_node_keys"), "{refused}");
        assert!(refused.is_configuration() && !refused.to_string().contains('\n'), "{refused}");
    }

    #[test]
    fn altered_history_is_refused_by_name() {
        let mut altered = history(Backend::Sqlite);
        altered.recorded[2].1 = "of another text".to_owned();
        let refused = judge(&altered).unwrap_err();
        assert!(refused.to_string().contains("2026-11-20-000003_runs"), "{refused}");
    }

    #[test]
    fn schema_has_the_part_that_earlier_databases_lack() {
        for backend in [Backend::Sqlite, Backend::Postgres] {
            let definitions = definitions_schema(backend);
            assert!(
                definitions.contains("CREATE TABLE definitions (") && !definitions.contains("TABLE traces")
            );
        }
    }
}
