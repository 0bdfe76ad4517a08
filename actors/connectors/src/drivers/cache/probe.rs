//! The probe of a cache.

use svc_outbound::Outbound;
use svc_redis::RedisEntries;
use tokio::time::timeout;

use super::redis::RedisCache;
use super::settings::{CacheSettings, CacheStorage};
use crate::drivers::pool::OpenPools;
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};

/// The key that is read. Nothing is written.
const KEY: &str = "svc:probe";

/// The operation that a probe tries.
const OPERATION: &str = "read of one key";

/// Reads one key, over a connection of its own.
pub(crate) async fn probe(cache: &CacheSettings, outbound: &Outbound) -> ConnectorProbe {
    let CacheStorage::Redis(target) = &cache.backend else {
        return ConnectorProbe::reached(OPERATION);
    };
    let redis = RedisCache::new(target.clone(), outbound.clone(), OpenPools::new(1).slot());
    match timeout(PROBE_TIMEOUT, redis.read(KEY)).await {
        Ok(Ok(_)) => ConnectorProbe::reached(OPERATION),
        Ok(Err(failure)) => ConnectorProbe::failed(OPERATION, failure.to_string()),
        Err(_) => {
            let late = format!("no answer from '{}' within {} ms", target.place(), PROBE_TIMEOUT.as_millis());
            ConnectorProbe::failed(OPERATION, late)
        }
    }
}
