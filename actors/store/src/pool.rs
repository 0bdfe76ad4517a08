//! The pool that reads come from.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::config::{Backend, StoreConfig};
use crate::conn::{Conn, on_io};
use crate::connector::Connector;
use crate::error::{OpenError, StoreError};

/// A server that takes longer over a read than this is taken for dead.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// Reading connections, and where their work runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Readers {
    pool: bb8::Pool<Connector>,
    io: Handle,
    backend: Backend,
}

/// The connections of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolState {
    /// All of them.
    pub(crate) size: u32,
    /// Those nobody works with.
    pub(crate) idle: u32,
}

impl Readers {
    /// Opens the connections that are kept. Must run on the io runtime.
    pub(crate) async fn open(
        config: &StoreConfig,
        connector: Connector,
        io: Handle,
    ) -> Result<Self, OpenError> {
        let (backend, target) = (connector.target.backend(), connector.target.to_string());
        let pool = bb8::Pool::builder()
            .max_size(config.max_connections.max(1))
            .min_idle(config.min_connections.min(config.max_connections))
            .connection_timeout(config.acquire_timeout)
            .idle_timeout(config.idle_timeout)
            .build(connector)
            .await
            .map_err(|error| OpenError::Unreachable { target, detail: crate::migrate::detail(error) })?;
        Ok(Self { pool, io, backend })
    }

    /// How many connections there are now.
    pub(crate) fn state(&self) -> PoolState {
        let state = self.pool.state();
        PoolState { size: state.connections, idle: state.idle_connections }
    }

    /// Runs `work` with a connection of its own, on the io runtime.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        let task = self.io.spawn(async move {
            let mut conn = readers.pool.get_owned().await.map_err(|error| match error {
                bb8::RunError::User(error) => error,
                bb8::RunError::TimedOut => {
                    StoreError::Unavailable("no connection within the acquire timeout".into())
                }
            })?;
            let read = async move { timeout(READ_LIMIT, work(&mut conn)).await };
            let late = |_| Err(StoreError::Unavailable("the database did not answer in time".into()));
            on_io(&readers.io, readers.backend, read).await?.unwrap_or_else(late)
        });
        task.await.unwrap_or_else(|error| Err(StoreError::Database(error.to_string())))
    }
}
