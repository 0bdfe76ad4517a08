//! The actor of one cache.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};

use super::memory::MemoryCache;
use super::redis::RedisCache;
use super::settings::{Backend, CacheSettings};
use crate::drivers::failure::Failure;
use crate::drivers::{Driver, Kind, Spot};

/// The pause between two removals of entries beyond the bound; the library leaves some of a burst of writes until it is asked. Twice
/// within the second that the bound may lag behind.
const BOUND_INTERVAL: Duration = Duration::from_millis(500);

/// The text of a key; `None` for a miss.
#[derive(Clone, Message)]
#[rtype(result = "Result<Option<String>, Failure>")]
pub(crate) struct Read(pub(crate) String);

/// Keep a text under a key, for ever or for so many seconds. For 0 of them nothing is kept.
#[derive(Clone, Message)]
#[rtype(result = "Result<(), Failure>")]
pub(crate) struct Write {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) ttl_secs: Option<u64>,
}

/// Give a key that nobody has to an owner, for so many seconds; `false` where somebody has it. Of a cache that is shared.
#[derive(Clone, Message)]
#[rtype(result = "Result<bool, Failure>")]
pub(crate) struct Claim {
    pub(crate) key: String,
    pub(crate) owner: String,
    pub(crate) ttl_secs: u64,
}

/// Take a key from its owner, and from nobody else. Of a cache that is shared.
#[derive(Clone, Message)]
#[rtype(result = "Result<(), Failure>")]
pub(crate) struct Release {
    pub(crate) key: String,
    pub(crate) owner: String,
}

/// The actor.
pub(crate) struct CacheActor {
    store: Store,
    sweep: Duration,
}

/// Where this actor's entries are.
enum Store {
    Memory(MemoryCache),
    Redis(RedisCache),
}

impl Store {
    fn shared(&self) -> Result<RedisCache, Failure> {
        match self {
            Self::Memory(_) => {
                Err(Failure::Refused("its entries are in the memory of one process".to_owned()))
            }
            Self::Redis(redis) => Ok(redis.clone()),
        }
    }
}

impl Actor for CacheActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        if let Store::Memory(memory) = &self.store {
            let (expiring, bounded) = (memory.clone(), memory.clone());
            ctx.run_interval(self.sweep, move |_, _| expiring.sweep());
            ctx.run_interval(BOUND_INTERVAL, move |_, _| bounded.sweep_writes());
        }
    }
}

impl Supervised for CacheActor {}

impl ReadHandler<Read> for CacheActor {
    fn read(&self, Read(key): Read) -> ReadReply<<Read as Message>::Result> {
        match &self.store {
            Store::Memory(memory) => ReadReply::Now(Ok(memory.read(&key))),
            Store::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.read(&key).await })
            }
        }
    }
}

impl ReadHandler<Write> for CacheActor {
    fn read(&self, Write { key, text, ttl_secs }: Write) -> ReadReply<<Write as Message>::Result> {
        match &self.store {
            Store::Memory(memory) => {
                memory.write(key, &text, ttl_secs);
                ReadReply::Now(Ok(()))
            }
            Store::Redis(redis) => {
                let redis = redis.clone();
                ReadReply::later(async move { redis.write(&key, &text, ttl_secs).await })
            }
        }
    }
}

impl ReadHandler<Claim> for CacheActor {
    fn read(&self, Claim { key, owner, ttl_secs }: Claim) -> ReadReply<<Claim as Message>::Result> {
        match self.store.shared() {
            Ok(redis) => ReadReply::later(async move { redis.claim(&key, &owner, ttl_secs).await }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

impl ReadHandler<Release> for CacheActor {
    fn read(&self, Release { key, owner }: Release) -> ReadReply<<Release as Message>::Result> {
        match self.store.shared() {
            Ok(redis) => ReadReply::later(async move { redis.release(&key, &owner).await }),
            Err(own) => ReadReply::Now(Err(own)),
        }
    }
}

/// The way to a cache: its settings, and the actor that asks.
pub(crate) struct CacheDriver {
    pub(crate) settings: Arc<CacheSettings>,
    pub(crate) address: Address<CacheActor>,
}

impl CacheDriver {
    pub(crate) async fn start(settings: &Arc<CacheSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let (outbound, pools) = (spot.with.outbound.clone(), spot.pools.clone());
        let (bounds, of_actor) = (spot.with.memory_cache, Arc::clone(settings));
        let factory = move |_: StartContext| {
            let store = match &of_actor.backend {
                Backend::Memory => Store::Memory(MemoryCache::new(bounds.max_entries)),
                Backend::Redis(target) => {
                    Store::Redis(RedisCache::new(target.clone(), outbound.clone(), pools.slot()))
                }
            };
            let sweep = bounds.cleanup_interval.max(Duration::from_secs(1));
            std::future::ready(Ok::<_, StartError>(CacheActor { store, sweep }))
        };
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for CacheDriver {
    const NEEDED: &'static str = "of type cache";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Cache(cache) => Some(cache),
            _ => None,
        }
    }
}
