//! Rests of reservations that no channel holds any more, until they are given back: those of a quota whose settings
//! have changed, and those of keys that were forgotten for others.

use std::sync::Arc;

use parking_lot::Mutex;

use super::quota_store::{QuotaKey, QuotaStore};

/// Rests that are noted at most; what is beyond is lost.
const MAX_RESTS: usize = 65_536;

/// The rests of a process. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub(super) struct UnusedCalls(Arc<Mutex<Vec<UnusedRest>>>);

/// Requests of a part of a window that were reserved and will not be admitted.
pub(super) struct UnusedRest {
    pub(super) key: QuotaKey,
    pub(super) slice: i64,
    pub(super) count: u64,
}

impl UnusedCalls {
    /// Notes a rest.
    pub(super) fn add(&self, rest: UnusedRest) {
        let mut rests = self.0.lock();
        if rests.len() < MAX_RESTS {
            rests.push(rest);
        }
    }

    /// Gives one rest back; `false` if there is none. What cannot be given back is lost.
    pub(super) async fn give_one_back(&self, store: &dyn QuotaStore) -> bool {
        let rest = self.0.lock().pop();
        let Some(UnusedRest { key, slice, count }) = rest else { return false };
        let _ = store.give_back(key, slice, count).await;
        true
    }
}
