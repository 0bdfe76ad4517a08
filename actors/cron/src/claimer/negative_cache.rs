//! A negative cache of channels that occurrences name and this node does not have.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Lifetime of an entry: the backlog of a deleted channel must not cost a load for each row.
const COUNTS: Duration = Duration::from_secs(1);

/// Channels that a reload did not find, each for a moment.
#[derive(Debug, Default)]
pub(super) struct NegativeCache(Mutex<HashMap<String, AbsentChannel>>);

#[derive(Debug)]
struct AbsentChannel {
    version: i64,
    generation: u64,
    at: Instant,
}

impl NegativeCache {
    /// Records that a channel is absent in that version, as of that snapshot.
    pub(super) fn insert(&self, channel_id: &str, version: i64, generation: u64) {
        let now = Instant::now();
        let mut vain = self.lock();
        vain.retain(|_, vain| now.duration_since(vain.at) < COUNTS);
        vain.insert(channel_id.to_owned(), AbsentChannel { version, generation, at: now });
    }

    /// Returns true if the channel was absent a moment ago in this snapshot, so that a reload would not find
    /// it.
    pub(super) fn contains(&self, channel_id: &str, version: i64, generation: u64) -> bool {
        self.lock().get(channel_id).is_some_and(|vain| {
            vain.version >= version && vain.generation == generation && vain.at.elapsed() < COUNTS
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbsentChannel>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn absent_channel_is_cached_briefly_by_version() {
        let absent = NegativeCache::default();
        assert!(!absent.contains("c", 1, 7));
        absent.insert("c", 2, 7);
        assert!(absent.contains("c", 2, 7) && absent.contains("c", 1, 7));
        assert!(!absent.contains("c", 3, 7) && !absent.contains("c", 2, 8) && !absent.contains("d", 2, 7));
        tokio::time::advance(COUNTS).await;
        assert!(!absent.contains("c", 2, 7));
    }
}
