//! The cluster's Redis as the store of the guards that its nodes share.
//!
//! No circuit breaker is needed: each operation is bounded, and after a failure calls fail at once but for the one that
//! tries to connect.

use svc_channels::{CacheError, CacheFuture, ClusterStore, SharedCache};
use svc_redis::{RedisClient, RedisEntries, RedisFailure};

/// The entries and counts of guards in the Redis server of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct RedisClusterStore(pub(crate) RedisClient);

impl SharedCache for RedisClusterStore {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        Box::pin(async move { self.0.read(&key).await.map_err(cache_error) })
    }

    fn write(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, ()> {
        Box::pin(async move { self.0.write(&key, &text, Some(ttl_secs)).await.map_err(cache_error) })
    }

    fn claim(&self, key: String, owner: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        Box::pin(async move { self.0.claim(&key, &owner, ttl_secs).await.map_err(cache_error) })
    }

    fn transfer(
        &self,
        key: String,
        owner: String,
        successor: String,
        ttl_secs: u64,
    ) -> CacheFuture<'_, bool> {
        Box::pin(
            async move { self.0.transfer(&key, &owner, &successor, ttl_secs).await.map_err(cache_error) },
        )
    }

    fn release(&self, key: String, owner: String) -> CacheFuture<'_, ()> {
        Box::pin(async move { self.0.release(&key, &owner).await.map_err(cache_error) })
    }

    fn increment(&self, key: String) -> CacheFuture<'_, u64> {
        Box::pin(async move { self.0.increment(&key).await.map_err(cache_error) })
    }
}

impl ClusterStore for RedisClusterStore {
    fn count_in_second(&self, key: String) -> CacheFuture<'_, u64> {
        Box::pin(async move { self.0.count_in_second(&key).await.map_err(cache_error) })
    }
}

fn cache_error(failure: RedisFailure) -> CacheError {
    let reason = format!("the Redis server of the cluster: {failure}");
    if failure.is_unconfirmed() { CacheError::Unconfirmed(reason) } else { CacheError::NotDone(reason) }
}
