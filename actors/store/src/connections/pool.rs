//! The connection pool: for reads, and for the transactions on a server that must not wait for those of
//! others.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use actix_supervision::Backoff;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::config::{Backend, StoreConfig};
use crate::conn::{Conn, run_on_io};
use crate::connections::connection_manager::ConnectionManager;
use crate::connections::listener::ConfigListener;
use crate::error::{OpenError, StoreError};

/// Time limit of a read or a transaction; a server that takes longer counts as dead.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// Attempts of a transaction that conflicts with others.
const ATTEMPTS: u32 = 5;
/// Delays between these attempts.
const CONTENTION_BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(40));

/// The body of a transaction. It may run more than once; only the last run takes effect.
pub(crate) type TransactionFn<I, T> = for<'c> fn(&'c mut Conn, &'c I) -> BoxFuture<'c, Result<T, StoreError>>;

/// Pooled connections with the runtime that drives them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionPool {
    pool: bb8::Pool<ConnectionManager>,
    io: Handle,
    backend: Backend,
    connector: ConnectionManager,
}

/// The number of connections in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolState {
    /// All connections.
    pub(crate) size: u32,
    /// Idle connections.
    pub(crate) idle: u32,
}

impl ConnectionPool {
    /// Opens the connections that stay open. Must run on the io runtime.
    pub(crate) async fn open(
        config: &StoreConfig,
        connector: ConnectionManager,
        io: Handle,
    ) -> Result<Self, OpenError> {
        let (backend, target) = (connector.target.backend(), connector.target.to_string());
        let pool = bb8::Pool::builder()
            .max_size(config.max_connections.max(1))
            .min_idle(config.min_connections.min(config.max_connections))
            .connection_timeout(config.acquire_timeout)
            .idle_timeout(config.idle_timeout)
            .build(connector.clone())
            .await
            .map_err(|error| OpenError::Unreachable { target, detail: crate::migrate::detail(error) })?;
        Ok(Self { pool, io, backend, connector })
    }

    /// Returns the current number of connections.
    pub(crate) fn state(&self) -> PoolState {
        let state = self.pool.state();
        PoolState { size: state.connections, idle: state.idle_connections }
    }

    /// Returns the io runtime.
    pub(crate) fn io(&self) -> &Handle {
        &self.io
    }

    /// Opens a connection that receives announcements of changes; `None` if this database makes none.
    pub(crate) async fn listen(&self) -> Result<Option<ConfigListener>, StoreError> {
        let connector = self.connector.clone();
        let task = self.io.spawn(async move { ConfigListener::open(&connector).await });
        task.await.unwrap_or_else(|error| Err(StoreError::Database(error.to_string())))
    }

    /// Runs `work` with a pooled connection, on the io runtime. A read of a file costs one move to a blocking thread and
    /// one back: next to other work, each move is a wait for the processor.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.backend {
            Backend::Sqlite => {
                let conn = within(&self.io, self.acquire()).await?;
                run_on_io(&self.io, self.backend, read_with(conn, work)).await?
            }
            Backend::Postgres => {
                let readers = self.clone();
                let read = async move { read_with(readers.acquire().await?, work).await };
                run_on_io(&self.io, self.backend, read).await?
            }
        }
    }

    /// Runs `step` in a transaction on a connection of its own, and returns after the commit. Repeats a
    /// transaction that the database rolled back because of others. For a server only: a file has one writer.
    pub(crate) async fn transact<I, T>(&self, input: I, step: TransactionFn<I, T>) -> Result<T, StoreError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let readers = self.clone();
        let task = self.io.spawn(async move {
            let mut delays = CONTENTION_BACKOFF.delays();
            for _ in 1..ATTEMPTS {
                match readers.attempt(&input, step).await {
                    Err(error) if error.is_contention() => sleep(delays.next_delay()).await,
                    outcome => return outcome,
                }
            }
            readers.attempt(&input, step).await
        });
        task.await.unwrap_or_else(|error| Err(StoreError::Unanswered(error.to_string().into())))
    }

    async fn attempt<I, T>(&self, input: &I, step: TransactionFn<I, T>) -> Result<T, StoreError> {
        let mut conn = self.acquire().await?;
        match timeout(READ_LIMIT, transaction(&mut conn, input, step)).await {
            Ok(outcome) => {
                if outcome.as_ref().is_err_and(StoreError::is_not_primary) {
                    self.connector.give_up();
                }
                outcome
            }
            // The connection is dropped inside its transaction, which ends both.
            Err(_) => Err(StoreError::Unanswered("the transaction took too long".into())),
        }
    }

    async fn acquire(&self) -> Result<bb8::PooledConnection<'static, ConnectionManager>, StoreError> {
        self.pool.get_owned().await.map_err(|error| match error {
            bb8::RunError::User(error) => error,
            bb8::RunError::TimedOut => {
                StoreError::Unavailable("no connection within the acquire timeout".into())
            }
        })
    }
}

/// Runs a read, for which a server has a limited time.
async fn read_with<T>(
    mut conn: bb8::PooledConnection<'static, ConnectionManager>,
    work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::Unavailable("the database did not answer in time".into()));
    timeout(READ_LIMIT, work(&mut conn)).await.unwrap_or_else(late)
}

/// Awaits a future on the thread of the caller. Its timers and the tasks that it starts belong to `io`.
async fn within<T>(io: &Handle, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = io.enter();
        future.as_mut().poll(context)
    })
    .await
}

async fn transaction<I, T>(conn: &mut Conn, input: &I, step: TransactionFn<I, T>) -> Result<T, StoreError> {
    conn.begin().await?;
    match step(conn, input).await {
        Ok(value) => conn.commit().await.map_err(StoreError::into_commit_failure).map(|()| value),
        Err(error) => {
            // A connection whose rollback fails is broken, and the pool detects that.
            let _undone = conn.rollback().await;
            Err(error)
        }
    }
}
