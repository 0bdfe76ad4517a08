//! Checksums of migrations. Every applied migration is recorded, and a migration that differs from its record is
//! refused.
//!
//! The record is a table of its own, beside the table of the migration library. A database older than the record has
//! none; its applied migrations are then recorded once, as they are.

use diesel::QueryResult;
use diesel::migration::MigrationVersion;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::SqliteConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;

use crate::schema::migration_checksums;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/checksums.rs"));

    pub(super) const fn sqlite() -> &'static [(&'static str, &'static str)] {
        SQLITE
    }

    pub(super) const fn postgres() -> &'static [(&'static str, &'static str)] {
        POSTGRES
    }
}

/// A blocking PostgreSQL connection, as migrations need it.
pub(crate) type BlockingPostgres = AsyncConnectionWrapper<AsyncPgConnection>;

/// The checksum record of a database.
pub(crate) trait Checksums {
    /// Returns the embedded checksum of a migration, by its full name.
    fn embedded(name: &str) -> Option<&'static str>;

    /// Reads the versions of the applied migrations, and changes nothing; empty before the first migration.
    fn applied(&mut self) -> QueryResult<Vec<MigrationVersion<'static>>>;

    /// Reads the recorded versions with their checksums; empty if there is no record yet.
    fn recorded(&mut self) -> QueryResult<Vec<(String, String)>>;

    /// Records migrations by their versions. Does nothing if the table does not exist.
    fn record(&mut self, migrations: &[(String, &'static str)]) -> QueryResult<()>;

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
    ($connection:ty, $embedded:expr, $exists:literal, $has_history:literal) => {
        impl Checksums for $connection {
            fn embedded(name: &str) -> Option<&'static str> {
                $embedded.iter().find(|(known, _)| *known == name).map(|(_, checksum)| *checksum)
            }

            fn applied(&mut self) -> QueryResult<Vec<MigrationVersion<'static>>> {
                if diesel::sql_query($has_history).get_result::<Count>(self)?.n == 0 {
                    return Ok(Vec::new());
                }
                let rows = diesel::sql_query("SELECT version FROM __diesel_schema_migrations");
                let rows = rows.load::<AppliedMigration>(self)?;
                Ok(rows.into_iter().map(|row| MigrationVersion::from(row.version)).collect())
            }

            fn recorded(&mut self) -> QueryResult<Vec<(String, String)>> {
                if diesel::sql_query($exists).get_result::<Count>(self)?.n == 0 {
                    return Ok(Vec::new());
                }
                migration_checksums::table.load(self)
            }

            fn record(&mut self, migrations: &[(String, &'static str)]) -> QueryResult<()> {
                if diesel::sql_query($exists).get_result::<Count>(self)?.n == 0 {
                    return Ok(());
                }
                for (version, checksum) in migrations {
                    let row = (
                        migration_checksums::version.eq(version),
                        migration_checksums::checksum.eq(*checksum),
                    );
                    diesel::insert_into(migration_checksums::table).values(row).execute(self)?;
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
    embedded::sqlite(),
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = 'migration_checksums'",
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = '__diesel_schema_migrations'"
);
checksums!(
    BlockingPostgres,
    embedded::postgres(),
    "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('migration_checksums')",
    "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('__diesel_schema_migrations')"
);
