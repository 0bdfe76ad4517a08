//! Checksums of migrations. Every applied migration is recorded, and a migration that differs from its record is
//! refused.
//!
//! The record is a table of its own, not the table of the migration library. A database older than the record has
//! none; its applied migrations are then recorded once, as they are.

use diesel::QueryResult;
use diesel::migration::MigrationVersion;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;

use crate::compatibility::Requirement;
use crate::config::Backend;
use crate::schema::migration_checksums;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/checksums.rs"));

    /// A migration: its name, its checksum, and the version of the migration that it requires.
    pub(super) type Embedded = (&'static str, &'static str, Option<&'static str>);

    pub(super) const fn sqlite() -> &'static [Embedded] {
        SQLITE
    }

    pub(super) const fn postgres() -> &'static [Embedded] {
        POSTGRES
    }
}

/// A blocking PostgreSQL connection, as migrations need it.
pub(crate) type BlockingPostgres = AsyncConnectionWrapper<AsyncPgConnection>;

/// A migration to be recorded.
pub(crate) struct RecordedMigration {
    pub(crate) version: String,
    pub(crate) checksum: &'static str,
    pub(crate) requires: Option<&'static str>,
}

/// Returns the checksum of an embedded migration, by its full name.
pub(crate) fn embedded_checksum(backend: Backend, name: &str) -> Option<&'static str> {
    let migrations = match backend {
        Backend::Sqlite => embedded::sqlite(),
        Backend::Postgres => embedded::postgres(),
    };
    migrations.iter().find(|(known, ..)| *known == name).map(|(_, checksum, _)| *checksum)
}

/// The checksum record of a database.
pub(crate) trait Checksums {
    /// The kind of the database.
    const BACKEND: Backend;

    /// Reads the versions of the applied migrations, and changes nothing; empty before the first migration.
    fn applied_versions(&mut self) -> QueryResult<Vec<MigrationVersion<'static>>>;

    /// Reads the recorded versions with their checksums; empty if there is no record yet.
    fn recorded_checksums(&mut self) -> QueryResult<Vec<(String, String)>>;

    /// Returns the version of the migration that a program must know once a migration, by its full name, is applied.
    fn required_version(name: &str) -> Option<&'static str>;

    /// Reads the recorded versions with the versions that they require. The record must have been brought up to date.
    fn requirements(&mut self) -> QueryResult<Vec<Requirement>>;

    /// Records migrations. Does nothing if the table does not exist.
    fn record(&mut self, migrations: &[RecordedMigration]) -> QueryResult<()>;

    /// Removes a migration from the record.
    fn forget(&mut self, version: &str) -> QueryResult<()>;
}

#[derive(QueryableByName)]
struct AppliedMigration {
    #[diesel(sql_type = Text)]
    version: String,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

macro_rules! checksums {
    ($connection:ty, $backend:expr, $embedded:expr, $exists:literal, $has_history:literal) => {
        impl Checksums for $connection {
            const BACKEND: Backend = $backend;

            fn required_version(name: &str) -> Option<&'static str> {
                $embedded.iter().find(|(known, ..)| *known == name).and_then(|(.., required)| *required)
            }

            fn applied_versions(&mut self) -> QueryResult<Vec<MigrationVersion<'static>>> {
                if diesel::sql_query($has_history).get_result::<Count>(self)?.n == 0 {
                    return Ok(Vec::new());
                }
                let rows = diesel::sql_query("SELECT version FROM __diesel_schema_migrations");
                let rows = rows.load::<AppliedMigration>(self)?;
                Ok(rows.into_iter().map(|row| MigrationVersion::from(row.version)).collect())
            }

            fn recorded_checksums(&mut self) -> QueryResult<Vec<(String, String)>> {
                if diesel::sql_query($exists).get_result::<Count>(self)?.n == 0 {
                    return Ok(Vec::new());
                }
                migration_checksums::table
                    .select((migration_checksums::version, migration_checksums::checksum))
                    .load(self)
            }

            fn requirements(&mut self) -> QueryResult<Vec<Requirement>> {
                let rows: Vec<(String, Option<String>)> = migration_checksums::table
                    .select((migration_checksums::version, migration_checksums::requires))
                    .load(self)?;
                Ok(rows.into_iter().map(|(version, requires)| Requirement { version, requires }).collect())
            }

            fn record(&mut self, migrations: &[RecordedMigration]) -> QueryResult<()> {
                if diesel::sql_query($exists).get_result::<Count>(self)?.n == 0 {
                    return Ok(());
                }
                for RecordedMigration { version, checksum, requires } in migrations {
                    let row = (
                        migration_checksums::version.eq(version),
                        migration_checksums::checksum.eq(*checksum),
                    );
                    diesel::insert_into(migration_checksums::table).values(row).execute(self)?;
                    // The column is younger than the table.
                    if let Some(requires) = requires {
                        diesel::update(migration_checksums::table.find(version))
                            .set(migration_checksums::requires.eq(*requires))
                            .execute(self)?;
                    }
                }
                Ok(())
            }

            fn forget(&mut self, version: &str) -> QueryResult<()> {
                if diesel::sql_query($exists).get_result::<Count>(self)?.n == 0 {
                    return Ok(());
                }
                diesel::delete(migration_checksums::table.find(version)).execute(self).map(drop)
            }
        }
    };
}

checksums!(
    SqliteConnection,
    Backend::Sqlite,
    embedded::sqlite(),
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = 'migration_checksums'",
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = '__diesel_schema_migrations'"
);
checksums!(
    BlockingPostgres,
    Backend::Postgres,
    embedded::postgres(),
    "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('migration_checksums')",
    "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('__diesel_schema_migrations')"
);
