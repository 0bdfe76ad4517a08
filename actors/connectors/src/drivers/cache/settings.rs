//! The settings of a cache, ready for use.

use svc_model::config::connector::{CacheBackend, CacheConfig, OperationSwitches};
use svc_redis::RedisTarget;

pub(crate) struct CacheSettings {
    pub(super) backend: CacheStorage,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
}

/// The backend that keeps the entries.
#[derive(Clone)]
pub(super) enum CacheStorage {
    /// The memory of this process.
    Memory,
    /// A Redis server.
    Redis(RedisTarget),
}

impl CacheSettings {
    /// # Errors
    /// A URL that cannot be used, without its text.
    pub(crate) fn new(config: &CacheConfig) -> Result<Self, String> {
        let backend = match &config.backend {
            CacheBackend::Memory => CacheStorage::Memory,
            CacheBackend::Redis { url } => {
                let target = RedisTarget::new(url.expose(), config.allow_private_urls);
                CacheStorage::Redis(target.map_err(|reason| format!("url: {reason}"))?)
            }
        };
        Ok(Self { backend, operations: config.operations.clone() })
    }

    /// Returns true if other processes reach the same entries.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.backend, CacheStorage::Redis(_))
    }
}
