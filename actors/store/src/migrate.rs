//! The schema: embedded migrations, one ordered set per backend.
//!
//! A database with a migration that this program does not know was migrated by a newer program, and its schema is not
//! changed. The program runs on it if those migrations only added to the schema that it knows
//! (`compatibility`). A database whose recorded checksum of a migration differs from this program
//! is refused. Processes that start at the same time migrate one after the other.

use std::path::Path;

use diesel::QueryableByName;
use diesel::backend::Backend;
use diesel::migration::{Migration, MigrationSource, MigrationVersion};
use diesel::pg::Pg;
use diesel::sql_types::Text;
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use svc_secrets::EnvelopeKeys;
use tokio::runtime::Handle;

use crate::checksums::{BlockingPostgres, Checksums, RecordedMigration, embedded_checksum};
use crate::compatibility::is_compatible;
use crate::config::{DatabaseTarget, StoreConfig};
use crate::conn::Conn;
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::earlier;
use crate::error::{OpenError, StoreError};

const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// Key of the advisory lock under which nodes migrate one after the other. Any fixed number works.
pub(crate) const ADVISORY_LOCK: i64 = 0x7376_635f_6d69_6772;

/// Encodings of a server that take every text.
const WIDE_ENCODINGS: [&str; 2] = ["UTF8", "SQL_ASCII"];

/// The operation on the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Pending,
    Run,
    Revert,
}

/// The result of an operation on the schema.
#[derive(Debug, Default)]
pub(crate) struct SchemaReport {
    /// The names of the migrations that are pending, were run, or were reverted, in order.
    pub(crate) migrations: Vec<String>,
    /// The versions of the applied migrations that this program does not know and is compatible with.
    pub(crate) newer: Vec<String>,
    /// True for a database of the builds before 0.1.0.
    pub(crate) is_earlier: bool,
}

/// Returns the pending migrations, in order, and changes nothing. A SQLite file that does not exist has all of them
/// pending, and is not created.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened or its schema does not fit this program.
pub async fn pending(config: &StoreConfig) -> Result<Vec<String>, OpenError> {
    Ok(pending_with(&ConnectionManager::new(config)?).await?.migrations)
}

/// Returns the display line of a migration, such as `sqlite 001 — definitions`: the backend, the position in the order in
/// which migrations are applied, and the name.
///
/// # Errors
/// [`OpenError::Url`] if the database URL is invalid.
pub fn describe(config: &StoreConfig, name: &str) -> Result<String, OpenError> {
    let target = ConnectionManager::new(config)?.target;
    let all = match &target {
        DatabaseTarget::Sqlite(_) => all_sqlite(&target.to_string())?,
        DatabaseTarget::Postgres(_) => names::<Pg>(&POSTGRES, &target.to_string())?,
    };
    // A version is a date and a number; the date goes first where two were written at the same time.
    let position = all.iter().position(|known| known == name).map_or(0, |index| index + 1);
    let title = name.split_once('_').map_or("", |(_, title)| title).replace('_', " ");
    Ok(format!("{} {position:0>3} — {title}", target.backend()))
}

/// Returns every migration of SQLite, in order.
pub(crate) fn all_sqlite(target: &str) -> Result<Vec<String>, OpenError> {
    names::<Sqlite>(&SQLITE, target)
}

/// Returns the names of all migrations of a backend, in the order in which they are applied.
fn names<DB: Backend>(source: &EmbeddedMigrations, target: &str) -> Result<Vec<String>, OpenError>
where
    EmbeddedMigrations: MigrationSource<DB>,
{
    let migrations: Vec<Box<dyn Migration<DB>>> = source
        .migrations()
        .map_err(|error| OpenError::Migration { target: target.to_owned(), detail: error.to_string() })?;
    let mut names: Vec<_> = migrations.iter().map(|migration| migration.name().to_string()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Runs the pending migrations and returns their names. Each migration is a transaction of its own; in a SQLite file
/// all of them are one. A database of the builds before 0.1.0 is taken over first, in one transaction.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened, its schema does not fit this program, or it refuses a migration.
pub async fn run(config: &StoreConfig) -> Result<Vec<String>, OpenError> {
    Ok(run_with(&ConnectionManager::new(config)?, &config.connector_keys).await?.migrations)
}

/// Reverts the latest migration, including its data, and returns its name; empty if there is none.
///
/// # Errors
/// [`OpenError`] if the database cannot be opened, is newer than this program, or refuses to revert.
pub async fn revert(config: &StoreConfig) -> Result<Vec<String>, OpenError> {
    Ok(perform(&ConnectionManager::new(config)?, Task::Revert).await?.migrations)
}

/// Does the work of [`pending`] with an existing connection manager.
pub(crate) async fn pending_with(connector: &ConnectionManager) -> Result<SchemaReport, OpenError> {
    if let DatabaseTarget::Sqlite(path) = &connector.target
        && !Path::new(path).exists()
    {
        let migrations = all_sqlite(&connector.target.to_string())?;
        return Ok(SchemaReport { migrations, ..SchemaReport::default() });
    }
    perform(connector, Task::Pending).await
}

/// Does the work of [`pending`] with an open file.
pub(crate) fn pending_in(conn: &mut SqliteConnection, target: &str) -> Result<SchemaReport, OpenError> {
    perform_sqlite(conn, Task::Pending, target)
}

/// Does the work of [`run`] with an existing connection manager.
pub(crate) async fn run_with(
    connector: &ConnectionManager,
    keys: &EnvelopeKeys,
) -> Result<SchemaReport, OpenError> {
    connector.target.check_directory()?;
    let mut migrations: Vec<String> = earlier::take_over(connector, keys).await?.into_iter().collect();
    let report = perform(connector, Task::Run).await?;
    migrations.extend(report.migrations);
    Ok(SchemaReport { migrations, ..report })
}

async fn perform(connector: &ConnectionManager, task: Task) -> Result<SchemaReport, OpenError> {
    let target = connector.target.to_string();
    let unreachable =
        |error: StoreError| OpenError::Unreachable { target: target.clone(), detail: detail(error) };
    let purpose = if task == Task::Pending { Purpose::Inspect } else { Purpose::Write };
    match &connector.target {
        DatabaseTarget::Sqlite(_) => {
            let (connector, target) = (connector.clone(), target.clone());
            blocking(move || {
                let mut conn = connector.open_sqlite(purpose).map_err(|error| OpenError::Unreachable {
                    target: target.clone(),
                    detail: detail(error),
                })?;
                perform_sqlite(&mut conn, task, &target)
            })
            .await
        }
        DatabaseTarget::Postgres(_) => {
            let conn = match connector.open(purpose).await.map_err(unreachable)? {
                Conn::Postgres(conn) => *conn,
                Conn::Sqlite(_) => return Err(OpenError::Url("not a postgres database".into())),
            };
            if connector.is_pooled() && task != Task::Pending {
                return check_behind_pooler(conn, task, target).await;
            }
            perform_postgres(conn, task, target).await
        }
    }
}

/// Locks the file before it reads the pending migrations, so that a second process sees the work of the first.
fn perform_sqlite(conn: &mut SqliteConnection, task: Task, target: &str) -> Result<SchemaReport, OpenError> {
    if task == Task::Pending {
        return apply::<Sqlite, _>(conn, &SQLITE, task, target);
    }
    let applied = conn.immediate_transaction(|conn| Ok(apply::<Sqlite, _>(conn, &SQLITE, task, target)?));
    applied.map_err(|aborted| match aborted {
        Aborted::Migration(error) => error,
        Aborted::Lock(error) => OpenError::Migration { target: target.into(), detail: error.to_string() },
    })
}

/// The reason why nothing was changed under the lock of a file.
#[derive(Debug, thiserror::Error)]
enum Aborted {
    #[error(transparent)]
    Migration(#[from] OpenError),
    #[error(transparent)]
    Lock(#[from] diesel::result::Error),
}

/// Checks that nothing is to be migrated, and refuses otherwise: the lock would stay with the connection of the pooler,
/// which the next client gets.
async fn check_behind_pooler(
    conn: AsyncPgConnection,
    task: Task,
    target: String,
) -> Result<SchemaReport, OpenError> {
    let report = perform_postgres(conn, Task::Pending, target.clone()).await?;
    if task == Task::Run && report.migrations.is_empty() {
        return Ok(report);
    }
    let detail = format!(
        "a pooler lies between, and migrations need a session of their own: run `svc-server migrate` with the URL of the \
         server itself (pending: {})",
        report.migrations.join(", ")
    );
    Err(OpenError::Migration { target, detail })
}

async fn perform_postgres(
    mut conn: AsyncPgConnection,
    task: Task,
    target: String,
) -> Result<SchemaReport, OpenError> {
    if task == Task::Run {
        refuse_narrow_encoding(&mut conn, &target).await?;
    }
    if task != Task::Pending {
        // The lock ends with the connection, which is dropped at the end of this function.
        conn.batch_execute(&format!("SELECT pg_advisory_lock({ADVISORY_LOCK})"))
            .await
            .map_err(|error| OpenError::Migration { target: target.clone(), detail: error.to_string() })?;
    }
    let io = Handle::current();
    blocking(move || {
        let _entered = io.enter();
        apply::<Pg, _>(&mut BlockingPostgres::from(conn), &POSTGRES, task, &target)
    })
    .await
}

#[derive(QueryableByName)]
struct NewDatabase {
    #[diesel(sql_type = Text)]
    encoding: String,
}

/// Refuses a database without tables whose encoding cannot store every text: payloads would be refused one by one.
async fn refuse_narrow_encoding(conn: &mut AsyncPgConnection, target: &str) -> Result<(), OpenError> {
    let query = "SELECT current_setting('server_encoding') AS encoding \
                 WHERE to_regclass('__diesel_schema_migrations') IS NULL";
    let failed = |detail: String| OpenError::Migration { target: target.to_owned(), detail };
    let found: Vec<NewDatabase> =
        diesel::sql_query(query).load(conn).await.map_err(|error| failed(error.to_string()))?;
    match found.iter().find(|new| !WIDE_ENCODINGS.contains(&new.encoding.as_str())) {
        Some(NewDatabase { encoding }) => Err(failed(format!(
            "its encoding {encoding} cannot store every text: create the database with ENCODING 'UTF8'"
        ))),
        None => Ok(()),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OpenError> + Send + 'static,
) -> Result<T, OpenError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(OpenError::Migration { target: "the database".into(), detail: error.to_string() })
    })
}

fn apply<DB, H>(
    harness: &mut H,
    source: &EmbeddedMigrations,
    task: Task,
    target: &str,
) -> Result<SchemaReport, OpenError>
where
    DB: Backend,
    H: MigrationHarness<DB> + Checksums,
    EmbeddedMigrations: MigrationSource<DB>,
{
    let failed = |error: HarnessError| migration_error(target, error);
    let embedded: Vec<Box<dyn Migration<DB>>> = source.migrations().map_err(failed)?;
    // Read before the versions: another process may take a database of before over in between.
    let recorded = harness.recorded_checksums().map_err(|error| failed(Box::new(error)))?;
    let applied: Vec<MigrationVersion<'static>> = match task {
        // The harness would create its table.
        Task::Pending => harness.applied_versions().map_err(|error| failed(Box::new(error)))?,
        Task::Run | Task::Revert => harness.applied_migrations().map_err(failed)?,
    };
    let versions: Vec<String> = applied.iter().map(ToString::to_string).collect();
    if earlier::is_earlier(H::BACKEND, &versions, &recorded, target)? {
        return report_earlier(&embedded, task, target);
    }
    let schema = StoredSchema { embedded, recorded, applied };
    let newer = schema.find_newer(harness, task, target)?;
    schema.refuse_altered::<H>(target)?;
    let migrations = match task {
        Task::Pending => list_names(&schema.list_pending()),
        Task::Run => schema.run_pending(harness, target)?,
        Task::Revert => schema.revert_latest(harness, target)?,
    };
    Ok(SchemaReport { migrations, newer, is_earlier: false })
}

/// The error of a harness.
type HarnessError = Box<dyn std::error::Error + Send + Sync>;

fn migration_error(target: &str, error: HarnessError) -> OpenError {
    OpenError::Migration { target: target.into(), detail: error.to_string() }
}

/// Returns the full names of migrations.
fn list_names<DB: Backend>(migrations: &[&dyn Migration<DB>]) -> Vec<String> {
    migrations.iter().map(|migration| migration.name().to_string()).collect()
}

/// The migrations of this program, and those of a database.
struct StoredSchema<DB: Backend> {
    embedded: Vec<Box<dyn Migration<DB>>>,
    /// The recorded versions with their checksums.
    recorded: Vec<(String, String)>,
    applied: Vec<MigrationVersion<'static>>,
}

impl<DB: Backend> StoredSchema<DB> {
    fn is_applied(&self, migration: &dyn Migration<DB>) -> bool {
        self.applied.contains(&migration.name().version())
    }

    /// Returns the versions of the applied migrations that this program does not know.
    ///
    /// # Errors
    /// [`OpenError::Newer`] if it does not run on a schema with them.
    fn find_newer<H: Checksums>(
        &self,
        harness: &mut H,
        task: Task,
        target: &str,
    ) -> Result<Vec<String>, OpenError> {
        let is_known = |version: &MigrationVersion<'_>| {
            self.embedded.iter().any(|migration| migration.name().version() == *version)
        };
        let unknown: Vec<String> =
            self.applied.iter().filter(|version| !is_known(version)).map(ToString::to_string).collect();
        if unknown.is_empty() {
            return Ok(unknown);
        }
        let versions: Vec<_> =
            self.embedded.iter().map(|migration| migration.name().version().to_string()).collect();
        let is_complete = self.embedded.iter().all(|migration| self.is_applied(migration.as_ref()));
        let fits = task != Task::Revert
            && is_complete
            && is_compatible(
                &versions,
                &unknown,
                &harness.requirements().map_err(|error| migration_error(target, Box::new(error)))?,
            );
        match fits {
            true => Ok(unknown),
            false => Err(OpenError::Newer { target: target.into(), versions: unknown }),
        }
    }

    /// Refuses a database with a migration that has another checksum than the embedded one.
    fn refuse_altered<H: Checksums>(&self, target: &str) -> Result<(), OpenError> {
        let altered: Vec<String> = self
            .embedded
            .iter()
            .filter(|migration| differs::<H, DB>(&self.recorded, migration.as_ref()))
            .map(|migration| migration.name().to_string())
            .collect();
        match altered.is_empty() {
            true => Ok(()),
            false => Err(OpenError::Altered { target: target.into(), migrations: altered }),
        }
    }

    /// Returns the migrations that are not applied, in order.
    fn list_pending(&self) -> Vec<&dyn Migration<DB>> {
        let embedded = self.embedded.iter().filter(|migration| !self.is_applied(migration.as_ref()));
        let mut pending: Vec<&dyn Migration<DB>> = embedded.map(|migration| &**migration).collect();
        pending.sort_by_key(|migration| migration.name().to_string());
        pending
    }

    /// Runs the pending migrations, and records all that are not on record. Returns the names of those that were run.
    fn run_pending<H>(&self, harness: &mut H, target: &str) -> Result<Vec<String>, OpenError>
    where
        H: MigrationHarness<DB> + Checksums,
    {
        let pending = self.list_pending();
        for migration in pending.iter().copied() {
            harness.run_migration(migration).map_err(|error| migration_error(target, error))?;
        }
        let unrecorded = self
            .embedded
            .iter()
            .filter_map(|migration| missing_record::<H, DB>(&self.recorded, migration.as_ref()));
        harness
            .record(&unrecorded.collect::<Vec<_>>())
            .map_err(|error| migration_error(target, Box::new(error)))?;
        Ok(list_names(&pending))
    }

    /// Reverts the latest migration, if one is applied. Returns its name.
    fn revert_latest<H>(&self, harness: &mut H, target: &str) -> Result<Vec<String>, OpenError>
    where
        H: MigrationHarness<DB> + Checksums,
    {
        let latest = self
            .embedded
            .iter()
            .filter(|migration| self.is_applied(migration.as_ref()))
            .max_by_key(|migration| migration.name().to_string());
        let Some(latest) = latest else { return Ok(Vec::new()) };
        harness.revert_migration(latest.as_ref()).map_err(|error| migration_error(target, error))?;
        let version = latest.name().version().to_string();
        harness.forget(&version).map_err(|error| migration_error(target, Box::new(error)))?;
        Ok(vec![latest.name().to_string()])
    }
}

/// Returns the report of a database of the builds before 0.1.0, which lacks every migration of this program.
fn report_earlier<DB: Backend>(
    embedded_migrations: &[Box<dyn Migration<DB>>],
    task: Task,
    target: &str,
) -> Result<SchemaReport, OpenError> {
    if task != Task::Pending {
        let detail = "it is one of a build before 0.1.0; `svc-server migrate` takes it over".to_owned();
        return Err(OpenError::Migration { target: target.to_owned(), detail });
    }
    let mut migrations: Vec<_> =
        embedded_migrations.iter().map(|migration| migration.name().to_string()).collect();
    migrations.sort_unstable();
    Ok(SchemaReport { migrations, newer: Vec::new(), is_earlier: true })
}

/// Returns whether a recorded migration has another checksum than the embedded one.
fn differs<H: Checksums, DB: Backend>(recorded: &[(String, String)], migration: &dyn Migration<DB>) -> bool {
    let (version, checksum) = (
        migration.name().version().to_string(),
        embedded_checksum(H::BACKEND, &migration.name().to_string()),
    );
    recorded.iter().any(|(known, sum)| *known == version && checksum.is_some_and(|now| now != sum))
}

/// Returns the record of a migration that is not recorded.
fn missing_record<H: Checksums, DB: Backend>(
    recorded: &[(String, String)],
    migration: &dyn Migration<DB>,
) -> Option<RecordedMigration> {
    let (version, name) = (migration.name().version().to_string(), migration.name().to_string());
    let (checksum, requires) = (embedded_checksum(H::BACKEND, &name)?, H::required_version(&name));
    let is_recorded = recorded.iter().any(|(known, _)| *known == version);
    (!is_recorded).then_some(RecordedMigration { version, checksum, requires })
}

/// Returns the message of the driver. The target is named separately.
pub(crate) fn detail(error: StoreError) -> String {
    match error {
        StoreError::Unavailable(outage) | StoreError::Unanswered(outage) => outage.to_string(),
        StoreError::Database(text) => text,
        StoreError::Refused(error) => error.to_string(),
    }
}
