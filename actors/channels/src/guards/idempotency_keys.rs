//! Idempotency keys: the first delivery of a key claims it for the window, every other one is a duplicate.
//!
//! Keys are kept as digests, so that a caller's long key costs no more than a short one. With a cap on their number the
//! oldest claims are forgotten first: a key that comes back after so many others is no longer known as a duplicate.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::ops::compute::{CompResult, Op};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::time::Instant;

use super::local_caches::{ExpiringCache, LONGEST_LIFE};
use crate::digest::{self, Digest};

/// The keys seen within the window. Cheap to clone; clones share the claims.
#[derive(Clone)]
pub(crate) struct IdempotencyKeys {
    held: Cache<Digest, KeyHolder>,
    tokens: Arc<AtomicU64>,
    window: Duration,
}

#[derive(Clone, Copy)]
struct KeyHolder {
    token: u64,
    /// The message that may be delivered again; `None` for a key that refuses every request.
    owner: Option<Digest>,
    until: Instant,
}

impl IdempotencyKeys {
    /// Creates keys whose claims last for `window`, at most `max_entries` of them; 0 for any number.
    pub(crate) fn new(window: Duration, max_entries: u64) -> Self {
        let window = window.min(LONGEST_LIFE);
        // Least recently used: the default policy may refuse to keep a newcomer, which would let its duplicate pass.
        let cache = Cache::builder().eviction_policy(EvictionPolicy::lru()).time_to_live(window);
        let cache = if max_entries == 0 { cache } else { cache.max_capacity(max_entries) };
        Self { held: cache.build(), tokens: Arc::default(), window }
    }

    /// Claims the key from now until the window has passed; `None` when it is held. Of any number of callers
    /// at once exactly one gets the claim. An `owner` that holds the key gets it again.
    pub(crate) fn claim(&self, key: &str, owner: Option<&str>) -> Option<KeyClaim> {
        let digest = digest::digest_bytes(key.as_bytes());
        let owner = owner.map(|owner| digest::digest_bytes(owner.as_bytes()));
        let (now, token) = (Instant::now(), self.tokens.fetch_add(1, Ordering::Relaxed));
        let new_holder = KeyHolder { token, owner, until: now + self.window };
        let is_taken = |holder: &KeyHolder| now < holder.until && (owner.is_none() || holder.owner != owner);
        let outcome = self.held.entry(digest).and_compute_with(|entry| match entry {
            Some(entry) if is_taken(entry.value()) => Op::Nop,
            _ => Op::Put(new_holder),
        });
        match outcome {
            CompResult::Inserted(_) | CompResult::ReplacedWith(_) => {
                Some(KeyClaim { held: self.held.clone(), digest, token, window: self.window })
            }
            _ => None,
        }
    }
}

impl ExpiringCache for IdempotencyKeys {
    fn remove_expired(&self) {
        self.held.run_pending_tasks();
    }
}

impl fmt::Debug for IdempotencyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyKeys").field("window", &self.window).finish_non_exhaustive()
    }
}

/// A claimed key. Dropping it keeps the claim: whatever happens to the request, a duplicate of it is refused.
pub(crate) struct KeyClaim {
    held: Cache<Digest, KeyHolder>,
    digest: Digest,
    token: u64,
    window: Duration,
}

impl KeyClaim {
    /// Gives the key back for a request that was not admitted. A claim that has expired, and may belong to another request
    /// now, is not touched.
    pub(crate) fn release(self) {
        let Self { held, digest, token, .. } = self;
        held.entry(digest).and_compute_with(|entry| match entry {
            Some(entry) if entry.value().token == token => Op::Remove,
            _ => Op::Nop,
        });
    }

    /// Settles the key for a whole window from now: it refuses all, its owner too. A claim that belongs to another
    /// request now is not touched.
    pub(crate) fn confirm(self) {
        let Self { held, digest, token, window } = self;
        let settled = KeyHolder { token, owner: None, until: Instant::now() + window };
        held.entry(digest).and_compute_with(|entry| match entry {
            Some(entry) if entry.value().token != token => Op::Nop,
            _ => Op::Put(settled),
        });
    }
}

impl fmt::Debug for KeyClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyClaim").field("token", &self.token).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
