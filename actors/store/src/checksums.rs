//! Checksums of migrations: each that is applied is on record, and one that differs from the record is refused.
//!
//! The record is a table of its own, beside the one of the library that runs migrations. A database from before it has
//! no record; what it has applied is taken as it is, once.

use diesel::QueryResult;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
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

/// PostgreSQL where calls block, as migrations want it.
pub(crate) type BlockingPostgres = AsyncConnectionWrapper<AsyncPgConnection>;

/// The record of a database.
pub(crate) trait Checksums {
    /// Returns the checksum that this program has for a migration, by its whole name.
    fn embedded(name: &str) -> Option<&'static str>;

    /// Reads the versions on record with their checksums; empty where there is no record yet.
    fn recorded(&mut self) -> QueryResult<Vec<(String, String)>>;

    /// Records migrations by their versions. Does nothing where there is no table for it.
    fn record(&mut self, migrations: &[(String, &'static str)]) -> QueryResult<()>;

    /// Removes a migration from the record.
    fn forget(&mut self, version: &str) -> QueryResult<()>;
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

macro_rules! checksums {
    ($connection:ty, $embedded:expr, $exists:literal) => {
        impl Checksums for $connection {
            fn embedded(name: &str) -> Option<&'static str> {
                $embedded.iter().find(|(known, _)| *known == name).map(|(_, checksum)| *checksum)
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
    "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table' AND name = 'migration_checksums'"
);
checksums!(
    BlockingPostgres,
    embedded::postgres(),
    "SELECT count(*) AS n FROM pg_catalog.pg_class WHERE oid = to_regclass('migration_checksums')"
);
