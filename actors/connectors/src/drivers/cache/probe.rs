//! Whether a cache answers.

use svc_outbound::Outbound;
use tokio::time::timeout;

use super::redis::RedisCache;
use super::settings::{Backend, CacheSettings};
use crate::drivers::OpenPools;
use crate::probe::{LIMIT, Probe};

/// The key that is read. Nothing is written.
const KEY: &str = "svc:probe";

/// Reads one key, over a connection of its own.
pub(crate) async fn probe(cache: &CacheSettings, outbound: &Outbound) -> Probe {
    let what = "read of one key";
    let Backend::Redis(target) = &cache.backend else {
        return Probe { reachable: true, supported: true, probe: what, error: None };
    };
    let redis = RedisCache::new(target.clone(), outbound.clone(), OpenPools::new(1).slot());
    match timeout(LIMIT, redis.read(KEY)).await {
        Ok(Ok(_)) => Probe { reachable: true, supported: true, probe: what, error: None },
        Ok(Err(failure)) => Probe::failed(true, what, failure.to_string()),
        Err(_) => {
            let late = format!("no answer from '{}' within {} ms", target.place(), LIMIT.as_millis());
            Probe::failed(true, what, late)
        }
    }
}
