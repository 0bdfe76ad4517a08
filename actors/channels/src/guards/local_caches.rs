//! The caches that channels keep in the memory of this process: idempotency keys and cached responses.
//!
//! A cache removes its expired entries as a side effect of its use, all of them on the thread of the request that uses it
//! next. After a pause that would stop a worker of the HTTP server for as long as a million removals take, and until then
//! their memory would be held.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::{JoinError, spawn_blocking};

/// Longest life of an entry, a hundred years: beyond it instants cannot be computed safely.
pub(super) const LONGEST_LIFE: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Bytes of answers that one cache of a channel keeps at most, 64 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// Estimated size of an answer without its texts, in bytes.
const OVERHEAD: usize = 256;

/// The bound of a cache of answers: a number of entries and 64 MiB, held by one weight.
#[derive(Clone, Copy)]
pub(super) struct AnswerBound {
    /// Least weight of an entry: its share of the bytes, so that no more entries fit than there may be.
    share: u64,
    /// The weight of all entries at most.
    pub(super) capacity: u64,
}

impl AnswerBound {
    /// Creates the bound of at most `max_entries` entries; 0 for any number.
    pub(super) fn new(max_entries: u64) -> Self {
        let share = MAX_BYTES.checked_div(max_entries).unwrap_or(0);
        Self { share, capacity: if share == 0 { MAX_BYTES } else { share * max_entries } }
    }

    /// Returns the weight of an entry whose texts have so many bytes.
    pub(super) fn weigh(self, bytes: usize) -> u32 {
        u32::try_from(self.share.max((OVERHEAD + bytes) as u64)).unwrap_or(u32::MAX)
    }
}

/// A cache whose entries expire.
pub(super) trait ExpiringCache: Send + Sync {
    /// Removes the entries that have expired. Others may use the cache meanwhile; if they fill its log of writes, further
    /// writes block their thread until there is room.
    fn remove_expired(&self);
}

impl<C: ExpiringCache> ExpiringCache for OnceLock<C> {
    fn remove_expired(&self) {
        if let Some(cache) = self.get() {
            cache.remove_expired();
        }
    }
}

/// The local caches of all channels of a process. Cheap to clone; clones share the list. A cache is on it as long as a
/// channel uses it.
#[derive(Clone, Default)]
pub struct LocalCaches(Arc<Mutex<Vec<Weak<dyn ExpiringCache>>>>);

impl LocalCaches {
    /// Adds a cache to the list.
    pub(super) fn add<C: ExpiringCache + 'static>(&self, cache: &Arc<C>) {
        let cache: Weak<C> = Arc::downgrade(cache);
        self.0.lock().push(cache);
    }

    /// Removes the expired entries of every cache, off the thread that asks. Called once a second, it keeps what is left
    /// for the next request small.
    ///
    /// # Errors
    /// The removal panicked, or the runtime ended before it began.
    pub async fn remove_expired(&self) -> Result<(), JoinError> {
        let caches = self.in_use();
        if caches.is_empty() {
            return Ok(());
        }
        spawn_blocking(move || caches.iter().for_each(|cache| cache.remove_expired())).await
    }

    /// Returns the number of caches that channels use now.
    pub fn count(&self) -> usize {
        self.in_use().len()
    }

    /// Returns the caches that channels still use, and forgets the others.
    fn in_use(&self) -> Vec<Arc<dyn ExpiringCache>> {
        let mut caches = self.0.lock();
        caches.retain(|cache| cache.strong_count() > 0);
        caches.iter().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for LocalCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalCaches").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct SweepCounter(AtomicUsize);

    impl ExpiringCache for SweepCounter {
        fn remove_expired(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn caches_in_use_are_swept_and_others_are_forgotten() {
        let caches = LocalCaches::default();
        let (kept, gone) = (Arc::<SweepCounter>::default(), Arc::<SweepCounter>::default());
        caches.add(&kept);
        caches.add(&gone);
        caches.remove_expired().await.unwrap();
        assert_eq!((kept.0.load(Ordering::Relaxed), gone.0.load(Ordering::Relaxed)), (1, 1));
        drop(gone);
        caches.remove_expired().await.unwrap();
        assert_eq!((kept.0.load(Ordering::Relaxed), caches.0.lock().len()), (2, 1));
    }
}
