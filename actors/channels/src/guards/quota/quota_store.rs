//! The port to the store of quotas.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use svc_model::config::QuotaTerms;

use crate::shared_cache::CacheError;

/// A key of a quota, in the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaKey {
    pub channel_id: Arc<str>,
    /// The key that is counted.
    pub key: String,
}

/// Requests that this node may admit. The store has counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedCalls {
    /// Their number; 0 if the quota is used up.
    pub count: u64,
    /// The part of the window that they are counted in.
    pub slice: i64,
    /// The time until that part ends, and with it the reservation.
    pub slice_left: Duration,
    /// The time until the window has room again.
    pub window_left: Duration,
}

/// The store that counts for all nodes. A port: the program implements it over its database.
pub trait QuotaStore: Send + Sync {
    /// Reserves requests of a key.
    fn reserve(&self, key: QuotaKey, terms: QuotaTerms) -> BoxFuture<'_, Result<ReservedCalls, CacheError>>;

    /// Gives back requests of a part of the window that were reserved and not admitted.
    fn give_back(&self, key: QuotaKey, slice: i64, count: u64) -> BoxFuture<'_, Result<(), CacheError>>;
}
