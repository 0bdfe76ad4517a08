//! The move of a SQLite file to an empty PostgreSQL database.
//!
//! The rows are read within one transaction of the file and written within one transaction of the server, table after
//! table, in batches of bounded size. Each table is then read back and compared by the number and the digest of its rows,
//! before the commit. So the target has everything or nothing: after a failure, the move begins anew. Secrets are copied as
//! they are stored; the service needs the same encryption key afterwards.
//!
//! No table has a sequence or refers to another one, so that their order is of no account.

mod digest;
mod error;
mod source;
mod target;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};

use self::digest::{TransferColumn, TransferDigest};
pub use self::error::TransferError;
use self::source::SourceDatabase;
use self::target::TargetServer;
use crate::config::{DatabaseTarget, StoreConfig};
use crate::conn::Conn;
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::error::{OpenError, StoreError};
use crate::files::file_lock::FileLock;
use crate::migrate::{self, detail};

/// Tables that each database keeps for itself: its migrations, and the trial of its disk.
const OWN_TABLES: [&str; 3] = ["__diesel_schema_migrations", "migration_checksums", "write_trial"];
/// The table in which the migrations make a row, and the condition of a row that was changed since.
const MIGRATED_TABLE: (&str, &str) = ("config_epoch", "epoch <> 0 OR breaker_epoch <> 0");

/// A table whose copy is equal to its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferredTable {
    /// The name.
    pub table: String,
    /// The number of its rows.
    pub rows: u64,
    /// The digest of its rows, which both databases have: 64 hexadecimal digits.
    pub digest: String,
}

/// Moves all rows of the file that `source` names to the database of `target`, and calls `report` after each table. No
/// server may use the file meanwhile; a copy of the file may be moved while one does. Reads block the calling thread.
///
/// # Errors
/// [`TransferError`]; the target has no row then.
pub async fn transfer(
    source: &StoreConfig,
    target: &StoreConfig,
    report: &mut dyn FnMut(&TransferredTable),
) -> Result<Vec<TransferredTable>, TransferError> {
    let file = open_source(source).await?;
    let _file_lock = FileLock::acquire(source, "svc-server migrate-storage")?;
    let server = ConnectionManager::new(target)?;
    let place = server.target.to_string();
    if matches!(server.target, DatabaseTarget::Sqlite(_)) {
        return Err(TransferError::NoServer { target: place });
    }
    migrate::run_with(&server, &target.connector_keys).await?;
    let unreachable = |error| OpenError::Unreachable { target: place.clone(), detail: detail(error) };
    let mut conn = server.open(Purpose::Write).await.map_err(unreachable)?;
    conn.begin().await.map_err(unreachable)?;
    let Conn::Postgres(postgres) = &mut conn else {
        return Err(TransferError::NoServer { target: place.clone() });
    };
    let rows = RowTransfer { file, place: place.clone(), source: source_place(source) };
    let moved = rows.copy_tables(postgres, report).await;
    match moved {
        Ok(tables) => {
            conn.commit().await.map_err(unreachable)?;
            if let Conn::Postgres(postgres) = &mut conn {
                // Without figures of its own the planner would guess until the next automatic run.
                let _later = postgres.batch_execute("ANALYZE").await;
            }
            Ok(tables)
        }
        Err(error) => {
            // A connection whose rollback fails is broken, and nothing of the transaction is kept.
            let _undone = conn.rollback().await;
            Err(error)
        }
    }
}

/// Opens the file, if its schema is that of this program.
async fn open_source(config: &StoreConfig) -> Result<ConnectionManager, TransferError> {
    let manager = ConnectionManager::new(config)?;
    let target = manager.target.to_string();
    if !manager.target.file().is_some_and(|path| path.is_file()) {
        return Err(TransferError::NoSource { target });
    }
    let schema = migrate::pending_with(&manager).await?;
    let refuse = |migrations, remedy| Err(TransferError::OtherSchema { target, migrations, remedy });
    if !schema.migrations.is_empty() {
        return refuse(schema.migrations, "apply them with `svc-server migrate`");
    }
    if !schema.newer.is_empty() {
        return refuse(schema.newer, "run the version of the program that made them");
    }
    Ok(manager)
}

fn source_place(config: &StoreConfig) -> String {
    DatabaseTarget::parse(&config.url).map_or_else(|error| error.to_string(), |target| target.to_string())
}

/// The move of the rows, between two open databases.
struct RowTransfer {
    file: ConnectionManager,
    /// The location of the server.
    place: String,
    /// The location of the file.
    source: String,
}

impl RowTransfer {
    async fn copy_tables(
        &self,
        postgres: &mut AsyncPgConnection,
        report: &mut dyn FnMut(&TransferredTable),
    ) -> Result<Vec<TransferredTable>, TransferError> {
        let mut file = SourceDatabase::open(&self.file).map_err(self.read_failure("the file"))?;
        let mut server = TargetServer { conn: postgres };
        let mut tables = file.tables().map_err(self.read_failure("the list of tables"))?;
        tables.retain(|table| !OWN_TABLES.contains(&table.as_str()));
        let mut columns = Vec::with_capacity(tables.len());
        for table in &tables {
            columns.push(self.compare_columns(&mut file, &mut server, table).await?);
        }
        server.lock(&tables).await.map_err(self.write_failure("the lock of the tables"))?;
        self.require_empty(&mut server, &tables).await?;
        let mut moved = Vec::with_capacity(tables.len());
        for (table, columns) in tables.iter().zip(&columns) {
            let digest = self.copy_table(&mut file, &mut server, table, columns).await?;
            let done = TransferredTable { table: table.clone(), rows: digest.rows, digest: digest.to_hex() };
            report(&done);
            moved.push(done);
        }
        Ok(moved)
    }

    /// Returns the columns that both databases have.
    async fn compare_columns(
        &self,
        file: &mut SourceDatabase,
        server: &mut TargetServer<'_>,
        table: &str,
    ) -> Result<Vec<TransferColumn>, TransferError> {
        let source = file.columns(table).map_err(self.read_failure(table))?;
        let columns = server.columns(table).await.map_err(self.write_failure(table))?;
        let other = |name: &String| columns.iter().all(|column| column.name != *name);
        let missing: Vec<_> = source.iter().filter(|name| other(name)).cloned().collect();
        let further = columns.iter().map(|column| &column.name).filter(|name| !source.contains(*name));
        let further: Vec<_> = further.cloned().collect();
        if missing.is_empty() && further.is_empty() {
            return Ok(columns);
        }
        let names = missing.into_iter().chain(further).collect::<Vec<_>>().join(", ");
        let detail =
            format!("only one of them has {names}; take a database that this program alone migrates");
        Err(TransferError::OtherTable { table: table.to_owned(), detail })
    }

    async fn require_empty(
        &self,
        server: &mut TargetServer<'_>,
        tables: &[String],
    ) -> Result<(), TransferError> {
        for table in tables {
            let condition = if table == MIGRATED_TABLE.0 { MIGRATED_TABLE.1 } else { "TRUE" };
            let rows = server.count(table, condition).await.map_err(self.write_failure(table))?;
            if rows > 0 {
                let (target, table) = (self.place.clone(), table.clone());
                return Err(TransferError::NotEmpty { target, table, rows });
            }
        }
        let table = MIGRATED_TABLE.0;
        server.clear(table).await.map_err(self.write_failure(table))
    }

    /// Copies the rows of a table, and compares both sides.
    async fn copy_table(
        &self,
        file: &mut SourceDatabase,
        server: &mut TargetServer<'_>,
        table: &str,
        columns: &[TransferColumn],
    ) -> Result<TransferDigest, TransferError> {
        let unreadable = |detail| self.read_failure(table)(StoreError::Database(detail));
        let (mut digest, mut after) = (TransferDigest::default(), i64::MIN);
        loop {
            let batch = file.next_batch(table, columns, after).map_err(self.read_failure(table))?;
            if batch.documents.is_empty() {
                break;
            }
            for document in &batch.documents {
                digest.add_row(columns, document).map_err(unreadable)?;
            }
            server.insert(table, columns, &batch.documents).await.map_err(self.write_failure(table))?;
            after = batch.last;
        }
        let copied = server.digest(table, columns).await.map_err(self.write_failure(table))?;
        let unequal = |detail| TransferError::Unequal { table: table.to_owned(), detail };
        let copied = copied.map_err(unequal)?;
        let count = file.count(table).map_err(self.read_failure(table))?;
        if digest.rows != count || copied.rows != count {
            let detail =
                format!("{count} row(s), of which {} were read and {} stored", digest.rows, copied.rows);
            return Err(unequal(detail));
        }
        if digest != copied {
            let detail = format!("the digest is {}, that of the copy {}", digest.to_hex(), copied.to_hex());
            return Err(unequal(detail));
        }
        Ok(digest)
    }

    fn read_failure(&self, table: &str) -> impl Fn(StoreError) -> TransferError {
        failure(&self.source, table)
    }

    fn write_failure(&self, table: &str) -> impl Fn(StoreError) -> TransferError {
        failure(&self.place, table)
    }
}

fn failure(target: &str, table: &str) -> impl Fn(StoreError) -> TransferError + use<> {
    let (target, table) = (target.to_owned(), table.to_owned());
    move |error| TransferError::Failed { target: target.clone(), table: table.clone(), detail: detail(error) }
}
