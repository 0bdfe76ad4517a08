//! The actor of one cache.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_redis::RedisEntries;

use super::memory::MemoryCache;
use super::probe::probe;
use super::redis::RedisCache;
use super::settings::{CacheSettings, CacheStorage};
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::drivers::failure::CallFailure;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Period of the removal of entries beyond the bound, which the library leaves after a burst of writes. Twice in the second by
/// which the bound may lag behind.
const BOUND_INTERVAL: Duration = Duration::from_millis(500);

/// Reads the text of a key; `None` for a miss.
#[derive(Clone, Message)]
#[rtype(result = "Result<Option<String>, CallFailure>")]
pub(crate) struct ReadEntry(pub(crate) String);

/// Stores a text under a key, for ever or for so many seconds. With 0 seconds nothing is stored.
#[derive(Clone, Message)]
#[rtype(result = "Result<(), CallFailure>")]
pub(crate) struct WriteEntry {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) ttl_secs: Option<u64>,
}

/// Reads the texts of keys, in their order; `None` for a miss.
#[derive(Clone, Message)]
#[rtype(result = "Result<Vec<Option<String>>, CallFailure>")]
pub(crate) struct ReadEntries(pub(crate) Vec<String>);

/// Deletes keys, and returns the number of those that existed.
#[derive(Clone, Message)]
#[rtype(result = "Result<u64, CallFailure>")]
pub(crate) struct DeleteEntries(pub(crate) Vec<String>);

/// Adds to the number under a key, and returns the sum. A key that it creates lives for ever or for so many seconds.
#[derive(Clone, Message)]
#[rtype(result = "Result<i64, CallFailure>")]
pub(crate) struct AddToEntry {
    pub(crate) key: String,
    pub(crate) by: i64,
    pub(crate) ttl_secs: Option<u64>,
}

/// Claims a key that is free, or that the owner has, for so many seconds; `false` if the key has another owner. For
/// shared caches only.
#[derive(Clone, Message)]
#[rtype(result = "Result<bool, CallFailure>")]
pub(crate) struct ClaimCacheKey {
    pub(crate) key: String,
    pub(crate) owner: String,
    pub(crate) ttl_secs: u64,
}

/// Gives a key of an owner to its successor, for so many seconds; `false` if the owner does not have it. For shared caches
/// only.
#[derive(Clone, Message)]
#[rtype(result = "Result<bool, CallFailure>")]
pub(crate) struct TransferCacheKey {
    pub(crate) key: String,
    pub(crate) owner: String,
    pub(crate) successor: String,
    pub(crate) ttl_secs: u64,
}

/// Releases a key of this owner. For shared caches only.
#[derive(Clone, Message)]
#[rtype(result = "Result<(), CallFailure>")]
pub(crate) struct ReleaseCacheKey {
    pub(crate) key: String,
    pub(crate) owner: String,
}

/// Adds one to the number under a key, and returns the sum. For shared caches only.
#[derive(Clone, Message)]
#[rtype(result = "Result<u64, CallFailure>")]
pub(crate) struct IncrementCounter(pub(crate) String);

pub(crate) struct CacheActor {
    store: CacheEntries,
    sweep: Duration,
}

/// The place of this actor's entries.
enum CacheEntries {
    Memory(MemoryCache),
    Redis(RedisCache),
}

impl CacheEntries {
    fn redis_cache(&self) -> Result<RedisCache, CallFailure> {
        match self {
            Self::Memory(_) => {
                Err(CallFailure::Refused("its entries are in the memory of one process".to_owned()))
            }
            Self::Redis(redis) => Ok(redis.clone()),
        }
    }
}

impl Actor for CacheActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if let CacheEntries::Memory(memory) = &self.store {
            let (expiring, bounded) = (memory.clone(), memory.clone());
            ctx.run_interval(self.sweep, move |_, _| expiring.sweep());
            ctx.run_interval(BOUND_INTERVAL, move |_, _| bounded.sweep_writes());
        }
    }
}

impl Supervised for CacheActor {}

impl ReadHandler<ReadEntry> for CacheActor {
    fn read(&self, ReadEntry(key): ReadEntry) -> ReadReply<<ReadEntry as Message>::Result> {
        match &self.store {
            CacheEntries::Memory(memory) => ReadReply::Now(Ok(memory.read(&key))),
            CacheEntries::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.read(&key).await })
            }
        }
    }
}

impl ReadHandler<WriteEntry> for CacheActor {
    fn read(
        &self,
        WriteEntry { key, text, ttl_secs }: WriteEntry,
    ) -> ReadReply<<WriteEntry as Message>::Result> {
        match &self.store {
            CacheEntries::Memory(memory) => {
                memory.write(key, &text, ttl_secs);
                ReadReply::Now(Ok(()))
            }
            CacheEntries::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.write(&key, &text, ttl_secs).await })
            }
        }
    }
}

impl ReadHandler<ReadEntries> for CacheActor {
    fn read(&self, ReadEntries(keys): ReadEntries) -> ReadReply<<ReadEntries as Message>::Result> {
        match &self.store {
            CacheEntries::Memory(memory) => {
                ReadReply::Now(Ok(keys.iter().map(|key| memory.read(key)).collect()))
            }
            CacheEntries::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.read_all(&keys).await })
            }
        }
    }
}

impl ReadHandler<DeleteEntries> for CacheActor {
    fn read(&self, DeleteEntries(keys): DeleteEntries) -> ReadReply<<DeleteEntries as Message>::Result> {
        match &self.store {
            CacheEntries::Memory(memory) => {
                let deleted = keys.iter().map(|key| u64::from(memory.remove(key))).sum();
                ReadReply::Now(Ok(deleted))
            }
            CacheEntries::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.remove_all(&keys).await })
            }
        }
    }
}

impl ReadHandler<AddToEntry> for CacheActor {
    fn read(
        &self,
        AddToEntry { key, by, ttl_secs }: AddToEntry,
    ) -> ReadReply<<AddToEntry as Message>::Result> {
        match &self.store {
            CacheEntries::Memory(memory) => {
                let sum = memory.add(key, by, ttl_secs);
                ReadReply::Now(sum.map_err(|why| CallFailure::Refused(why.to_owned())))
            }
            CacheEntries::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.add(&key, by, ttl_secs).await })
            }
        }
    }
}

impl ReadHandler<ClaimCacheKey> for CacheActor {
    fn read(
        &self,
        ClaimCacheKey { key, owner, ttl_secs }: ClaimCacheKey,
    ) -> ReadReply<<ClaimCacheKey as Message>::Result> {
        match self.store.redis_cache() {
            Ok(redis) => ReadReply::later(async move { redis.claim(&key, &owner, ttl_secs).await }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

impl ReadHandler<TransferCacheKey> for CacheActor {
    fn read(&self, order: TransferCacheKey) -> ReadReply<<TransferCacheKey as Message>::Result> {
        match self.store.redis_cache() {
            Ok(redis) => ReadReply::later(async move {
                let TransferCacheKey { key, owner, successor, ttl_secs } = order;
                redis.transfer(&key, &owner, &successor, ttl_secs).await
            }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

impl ReadHandler<ReleaseCacheKey> for CacheActor {
    fn read(
        &self,
        ReleaseCacheKey { key, owner }: ReleaseCacheKey,
    ) -> ReadReply<<ReleaseCacheKey as Message>::Result> {
        match self.store.redis_cache() {
            Ok(redis) => ReadReply::later(async move { redis.release(&key, &owner).await }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

impl ReadHandler<IncrementCounter> for CacheActor {
    fn read(
        &self,
        IncrementCounter(key): IncrementCounter,
    ) -> ReadReply<<IncrementCounter as Message>::Result> {
        match self.store.redis_cache() {
            Ok(redis) => ReadReply::later(async move { redis.increment(&key).await }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

/// The driver of a cache: its settings and the address of its actor.
pub(crate) struct CacheDriver {
    pub(crate) settings: Arc<CacheSettings>,
    pub(crate) address: Address<CacheActor>,
}

impl CacheDriver {
    async fn start(settings: &Arc<CacheSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let (outbound, pools) = (context.settings.outbound.clone(), context.pools.clone());
        let (bounds, for_actor) = (context.settings.memory_cache, Arc::clone(settings));
        let factory = move |_: StartContext| {
            let store = match &for_actor.backend {
                CacheStorage::Memory => CacheEntries::Memory(MemoryCache::new(bounds.max_entries)),
                CacheStorage::Redis(target) => {
                    CacheEntries::Redis(RedisCache::new(target.clone(), outbound.clone(), pools.slot()))
                }
            };
            let sweep = bounds.cleanup_interval.max(Duration::from_secs(1));
            std::future::ready(Ok::<_, StartError>(CacheActor { store, sweep }))
        };
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for CacheDriver {
    const REQUIREMENT: &'static str = "of type cache";
}

impl DriverSettings for CacheSettings {
    type Driver = CacheDriver;

    async fn probe(&self, _: &str, settings: &Settings) -> ConnectorProbe {
        probe(self, &settings.outbound).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<CacheDriver, SpawnError> {
        CacheDriver::start(&self, context).await
    }
}
