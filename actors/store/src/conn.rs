//! A connection to either backend.

use std::error::Error;
use std::future::Future;

use diesel::SqliteConnection;
use diesel::connection::AnsiTransactionManager as SyncAnsi;
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, TransactionManager};
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::config::Backend;
use crate::error::StoreError;

/// SQLite behind the asynchronous interface.
pub(crate) type Sqlite = SyncConnectionWrapper<SqliteConnection, InlineExecutor>;

/// An open connection. A query is written once and runs on either backend with [`on!`].
pub enum Conn {
    Sqlite(Sqlite),
    Postgres(Box<AsyncPgConnection>),
}

/// Runs `$body` with the native connection of the driver: `on!(conn, c => query.execute(c).await)`.
///
/// An optional second name is the type of the backend, for boxed queries: `on!(conn, c: Db => …)`.
macro_rules! on {
    ($conn:expr, $c:ident => $body:expr) => {
        match $conn {
            $crate::conn::Conn::Sqlite($c) => $body,
            $crate::conn::Conn::Postgres($c) => {
                let $c = &mut **$c;
                $body
            }
        }
    };
    ($conn:expr, $c:ident: $db:ident => $body:expr) => {
        match $conn {
            $crate::conn::Conn::Sqlite($c) => {
                type $db = diesel::sqlite::Sqlite;
                $body
            }
            $crate::conn::Conn::Postgres($c) => {
                type $db = diesel::pg::Pg;
                let $c = &mut **$c;
                $body
            }
        }
    };
}
pub(crate) use on;

/// Loads all rows of a large result and converts each: `load_rows!(conn, query => Row, convert).await`.
///
/// A row of SQLite is converted while the statement is at it. The asynchronous interface copies every value of every
/// row first, into memory of the C library, which keeps it.
macro_rules! load_rows {
    ($conn:expr, $query:expr => $row:ty, $convert:expr) => {
        async {
            let convert = $convert;
            match $conn {
                $crate::conn::Conn::Sqlite(c) => {
                    let load = move |c: &mut diesel::SqliteConnection| {
                        diesel::RunQueryDsl::load_iter::<$row, diesel::connection::DefaultLoadingMode>(
                            $query, c,
                        )?
                        .map(|row| row.map(&convert))
                        .collect::<diesel::QueryResult<Vec<_>>>()
                    };
                    c.spawn_blocking(load).await
                }
                $crate::conn::Conn::Postgres(c) => {
                    let rows = diesel_async::RunQueryDsl::load::<$row>($query, &mut **c).await?;
                    Ok(rows.into_iter().map(convert).collect())
                }
            }
        }
    };
}
pub(crate) use load_rows;

/// Runs SQLite calls on the calling thread. A whole transaction then costs one move to a blocking thread
/// ([`run_on_io`]) instead of one per statement.
pub struct InlineExecutor;

impl SpawnBlocking for InlineExecutor {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        Box::pin(async move { Ok(task()) })
    }

    fn get_runtime() -> Self {
        Self
    }
}

/// Runs work with a connection on the right threads of its backend: SQLite on a blocking thread, PostgreSQL
/// on the runtime itself. The work completes even if the caller is dropped, so no transaction is left half
/// done.
///
/// # Errors
/// [`StoreError::Database`] if the work panicked or the runtime is shutting down.
pub(crate) async fn run_on_io<T: Send + 'static>(
    io: &Handle,
    backend: Backend,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let task = match backend {
        Backend::Sqlite => {
            let inner = io.clone();
            io.spawn_blocking(move || inner.block_on(work))
        }
        Backend::Postgres => io.spawn(work),
    };
    task.await.map_err(|error| StoreError::Database(format!("a database task ended early: {error}")))
}

impl Conn {
    pub(crate) const fn backend(&self) -> Backend {
        match self {
            Self::Sqlite(_) => Backend::Sqlite,
            Self::Postgres(_) => Backend::Postgres,
        }
    }

    /// Begins a transaction that will write. SQLite takes its write lock at once, so no later statement of
    /// the transaction can fail for lack of it.
    pub(crate) async fn begin(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(c) => {
                c.spawn_blocking(|c| SyncAnsi::begin_transaction_sql(c, "BEGIN IMMEDIATE")).await?
            }
            Self::Postgres(c) => begin(&mut **c).await?,
        }
        Ok(())
    }

    /// Opens a savepoint inside a transaction.
    pub(crate) async fn savepoint(&mut self) -> Result<(), StoreError> {
        Ok(on!(self, c => begin(c).await)?)
    }

    /// Commits the transaction, or releases the innermost savepoint.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        Ok(on!(self, c => commit(c).await)?)
    }

    /// Rolls back the transaction, or to the innermost savepoint.
    pub(crate) async fn rollback(&mut self) -> Result<(), StoreError> {
        Ok(on!(self, c => rollback(c).await)?)
    }

    /// Checks that the connection is alive.
    pub(crate) async fn ping(&mut self) -> Result<(), StoreError> {
        on!(self, c => diesel::sql_query("SELECT 1").execute(c).await)?;
        Ok(())
    }

    /// Writes unused data inside a transaction, to test whether the database accepts writes. On SQLite it
    /// writes as much as a batch may take, because the journal may still have room for a few pages on a full
    /// disk; [`clear_trial`](Self::clear_trial) removes the data.
    pub(crate) async fn write_trial(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(c) => {
                diesel::sql_query("CREATE TABLE IF NOT EXISTS write_trial (filler BLOB)").execute(c).await?;
                diesel::sql_query("INSERT INTO write_trial VALUES (zeroblob(262144))").execute(c).await?;
            }
            Self::Postgres(c) => {
                diesel::sql_query("UPDATE config_epoch SET epoch = epoch").execute(&mut **c).await?;
            }
        }
        Ok(())
    }

    /// Removes the data of [`write_trial`](Self::write_trial).
    pub(crate) async fn clear_trial(&mut self) -> Result<(), StoreError> {
        if let Self::Sqlite(c) = self {
            diesel::sql_query("DROP TABLE IF EXISTS write_trial").execute(c).await?;
        }
        Ok(())
    }

    /// Returns whether the connection must not be reused: it is closed, or was left inside a transaction.
    pub(crate) fn is_broken(&mut self) -> bool {
        use diesel_async::pooled_connection::PoolableConnection;
        on!(self, c => PoolableConnection::is_broken(c))
    }
}

async fn begin<C: AsyncConnection>(c: &mut C) -> diesel::QueryResult<()> {
    C::TransactionManager::begin_transaction(c).await
}

async fn commit<C: AsyncConnection>(c: &mut C) -> diesel::QueryResult<()> {
    C::TransactionManager::commit_transaction(c).await
}

async fn rollback<C: AsyncConnection>(c: &mut C) -> diesel::QueryResult<()> {
    C::TransactionManager::rollback_transaction(c).await
}
