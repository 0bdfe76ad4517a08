//! Rates by key: a token bucket for each, in the form of the generic cell rate algorithm.
//!
//! # Memory
//! Callers choose the keys, so what a key costs is fixed (a keyed hash of it and an instant) and so is the
//! number of them. A bucket that is full again is as good as none and is dropped when its shard grows;
//! nothing runs in the background. A bucket that is not full is never dropped: no caller gets a fresh one by
//! flooding the table with other keys. Keys that find the table full of such buckets share a few with one
//! another until there is room. So a flood of invented keys is limited as a whole, a client that is known
//! stays limited on its own, and the price is paid by clients that are new during the flood.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::{StateInformationMiddleware, StateSnapshot};
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Independent parts of the table, so that threads rarely wait for one another. A power of two.
const SHARDS: usize = 8;
/// Keys with a bucket of their own in one shard, 65 536 in all.
const OWN: usize = 8_192;
/// Buckets in one shard for the keys that found no room, 1 024 in all.
const SHARED: usize = 128;
/// Size of a shard at which it is looked through for the first time.
const FIRST_SWEEP: usize = 128;
/// Minimum time between two sweeps of a full shard.
const PAUSE: Nanos = Nanos::new(100_000_000);

/// Admits so many requests each second for each key, and so many at once.
pub struct Limiter {
    buckets: RateLimiter<u64, Buckets, Ticks, StateInformationMiddleware>,
    hasher: RandomState,
}

impl Limiter {
    /// A limit of `rps` requests each second and `burst` at once, both at least 1. More than a thousand
    /// million each second is no limit that can be measured and counts as that.
    pub fn new(rps: u64, burst: u64) -> Self {
        let quota = quota(rps, burst);
        let buckets = RateLimiter::new(quota, Buckets::new(quota), Ticks(Instant::now()));
        Self { buckets, hasher: RandomState::new() }
    }

    /// Takes one token out of the key's bucket; `false` when it is empty, which costs the caller nothing.
    pub fn check<K: Hash + ?Sized>(&self, key: &K) -> bool {
        self.take(key).is_some()
    }

    /// As [`check`](Self::check), but returns the state of the bucket, which knows the tokens that are left; `None`
    /// when it is empty.
    pub(crate) fn take<K: Hash + ?Sized>(&self, key: &K) -> Option<StateSnapshot> {
        // 64 keyed bits: two of 65 536 keys meet once in ten thousand million tables, and not by anyone's
        // choice.
        self.buckets.check_key(&self.hasher.hash_one(key)).ok()
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}

fn quota(rps: u64, burst: u64) -> Quota {
    let period = Duration::from_nanos((1_000_000_000 / rps.max(1)).max(1));
    let burst =
        u32::try_from(burst).ok().map_or(NonZeroU32::MAX, |b| NonZeroU32::new(b).unwrap_or(NonZeroU32::MIN));
    Quota::with_period(period).unwrap_or_else(|| Quota::per_second(NonZeroU32::MAX)).allow_burst(burst)
}

/// The runtime's clock, which a test can move, as time since the limiter was made.
#[derive(Clone, Debug)]
struct Ticks(Instant);

impl Clock for Ticks {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX / 2))
    }
}

/// The instants at which buckets will be full again, by the hash of their key.
#[derive(Debug)]
struct Buckets {
    /// Time by which one request moves such an instant.
    period: Nanos,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug)]
struct Shard {
    own: HashMap<u64, Nanos>,
    shared: Vec<Nanos>,
    swept: Option<Nanos>,
    sweep_at: usize,
}

impl Buckets {
    fn new(quota: Quota) -> Self {
        let shard = || {
            Mutex::new(Shard { own: HashMap::new(), shared: Vec::new(), swept: None, sweep_at: FIRST_SWEEP })
        };
        Self { period: quota.replenish_interval().into(), shards: std::array::from_fn(|_| shard()) }
    }
}

impl StateStore for Buckets {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, key: &u64, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let (place, rest) = (*key as usize % SHARDS, *key as usize / SHARDS);
        let mut shard = self.shards[place].lock();
        if let Some(full_at) = shard.own.get_mut(key) {
            let (admitted, next) = measure(Some(*full_at))?;
            *full_at = next;
            return Ok(admitted);
        }
        let (admitted, next) = measure(None)?;
        // A full bucket becomes full again one period after the first request.
        if shard.has_room(next.saturating_sub(self.period)) {
            shard.own.insert(*key, next);
            return Ok(admitted);
        }
        let full_at = shard.shared_cell(rest);
        let (admitted, next) = measure(Some(*full_at))?;
        *full_at = next;
        Ok(admitted)
    }
}

impl Shard {
    /// Returns `true` if one more key may have a bucket of its own; drops the buckets that are full again
    /// when a sweep is due. A sweep follows a doubling or a pause, so that a request costs the same on
    /// average however many come.
    fn has_room(&mut self, now: Nanos) -> bool {
        if self.own.len() < self.sweep_at {
            return true;
        }
        let full = self.own.len() >= OWN;
        if full && self.swept.is_some_and(|swept| now.saturating_sub(swept) < PAUSE) {
            return false;
        }
        self.swept = Some(now);
        self.own.retain(|_, full_at| *full_at > now);
        self.sweep_at = (self.own.len() * 2).clamp(FIRST_SWEEP, OWN);
        self.own.shrink_to(self.sweep_at);
        self.own.len() < OWN
    }

    fn shared_cell(&mut self, place: usize) -> &mut Nanos {
        if self.shared.is_empty() {
            self.shared = vec![Nanos::new(0); SHARED];
        }
        &mut self.shared[place % SHARED]
    }
}

#[cfg(test)]
mod tests;
