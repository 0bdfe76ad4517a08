//! Caches: in the memory of this process, or in a Redis server.
//!
//! The actor of a connector owns what it reaches: the entries themselves, or the connection to the server. Messages in:
//! [`ReadEntry`], [`ReadEntries`], [`WriteEntry`], [`DeleteEntries`], [`AddToEntry`], [`ClaimCacheKey`] and
//! [`ReleaseCacheKey`], read-only, so that calls run concurrently and end with their callers. Keys go to the backend as
//! they are written.
//!
//! Entries in memory belong to one actor: no other connector and no other node sees them, and a restart of the actor or a
//! change of the connector begins with none. What is in a server stays there.

mod actor;
mod memory;
mod probe;
mod redis;
mod settings;

use svc_model::config::connector::CacheConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::{
    AddToEntry, CacheActor, CacheDriver, ClaimCacheKey, DeleteEntries, IncrementCounter, ReadEntries,
    ReadEntry, ReleaseCacheKey, TransferCacheKey, WriteEntry,
};
pub(crate) use settings::CacheSettings;

/// Resolves the config of a cache.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &CacheConfig) -> ResolveResult {
    CacheSettings::new(config).map(erase_type)
}
