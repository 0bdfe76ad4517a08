//! The caches that channels share with other processes. A port: the connectors crate implements it.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;

/// The connectors, as channels see them.
pub trait ConnectorAccess: Send + Sync {
    /// Returns the cache of a connector, for a channel.
    ///
    /// # Errors
    /// [`CacheUnavailable::NotLoaded`] for a cache that is not in use now, [`CacheUnavailable::NotShared`] for a
    /// connector that is no shared cache.
    fn shared_cache(&self, connector: &str, channel: &str) -> Result<Arc<dyn SharedCache>, CacheUnavailable>;

    /// Returns `true` for a connector that is not in use because the secret store could not be read.
    fn lacks_secrets(&self, connector: &str) -> bool;
}

/// The result of a cache operation.
pub type CacheFuture<'c, T> = LocalBoxFuture<'c, Result<T, CacheError>>;

/// A cache in a server that other processes reach too.
///
/// Every operation fails with [`CacheError`] when the server did not answer or did not confirm it.
pub trait SharedCache: Send + Sync {
    /// Reads the text of a key.
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>>;

    /// Stores a text for `ttl_secs` seconds, a hundred years at most.
    fn write(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, ()>;

    /// Gives a key that is free, or that `owner` has, to `owner` for `ttl_secs` seconds, a hundred years at most; `false`
    /// if another owner has it.
    fn claim(&self, key: String, owner: String, ttl_secs: u64) -> CacheFuture<'_, bool>;

    /// Gives a key that `owner` has to `successor`, for `ttl_secs` seconds from now; `false` if `owner` does not have it.
    fn transfer(&self, key: String, owner: String, successor: String, ttl_secs: u64)
    -> CacheFuture<'_, bool>;

    /// Gives a key back if `owner` still has it.
    fn release(&self, key: String, owner: String) -> CacheFuture<'_, ()>;

    /// Adds one to the number under a key, 0 if there is none, and returns the sum.
    fn increment(&self, key: String) -> CacheFuture<'_, u64>;
}

/// The store that the nodes of a cluster share: a cache that counts too.
pub trait ClusterStore: SharedCache {
    /// Counts one message of a key in the current second of the store's clock. Returns the number of messages in that
    /// second, this one included.
    fn count_in_second(&self, key: String) -> CacheFuture<'_, u64>;
}

/// The reason why a cache operation failed. For operators; holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// It was not carried out.
    #[error("{0}")]
    NotDone(String),
    /// No answer came: it may have been carried out.
    #[error("{0}")]
    Unconfirmed(String),
}

/// The reason why a connector gives no shared cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheUnavailable {
    /// The connector is a cache that is not in use now: its load failed, or it is switched off.
    #[error("{0}")]
    NotLoaded(CacheError),
    /// There is no connector of this name, it is no cache, it keeps its entries in the memory of one process, or it may
    /// not be read and written.
    #[error("{0}")]
    NotShared(CacheError),
}
