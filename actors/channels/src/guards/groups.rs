//! The rate limits shared by several channels.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use super::limiter::Limiter;
use parking_lot::Mutex;

/// The block of a channel that names a group. The two never share buckets, whatever the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RateGroupKind {
    /// `rate_limit`.
    Limit,
    /// `principal_rate_limit`.
    Quota,
}

/// A group as its channels see it: those that ask for another rate have other buckets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GroupKey {
    pub(super) kind: RateGroupKind,
    pub(super) name: String,
    pub(super) rps: u64,
    pub(super) burst: u64,
}

/// The limiters of all groups of a process. Cheap to clone; clones share the limiters. A limiter lives as
/// long as a channel of its group does.
#[derive(Clone, Default)]
pub struct RateGroups(Arc<Mutex<HashMap<GroupKey, Weak<Limiter>>>>);

impl RateGroups {
    /// Returns the limiter of a group, and `true` when channels of the group that serve now ask for another
    /// rate.
    pub(super) fn limiter(&self, key: &GroupKey) -> (Arc<Limiter>, bool) {
        let mut groups = self.0.lock();
        groups.retain(|_, limiter| limiter.strong_count() > 0);
        let differs =
            groups.keys().any(|other| (other.kind, &other.name) == (key.kind, &key.name) && other != key);
        if let Some(limiter) = groups.get(key).and_then(Weak::upgrade) {
            return (limiter, differs);
        }
        let limiter = Arc::new(Limiter::new(key.rps, key.burst));
        groups.insert(key.clone(), Arc::downgrade(&limiter));
        (limiter, differs)
    }
}

impl fmt::Debug for RateGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateGroups").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: RateGroupKind, rps: u64) -> GroupKey {
        GroupKey { kind, name: "api".to_owned(), rps, burst: 1 }
    }

    #[test]
    fn equal_rates_share_buckets_and_others_are_reported() {
        let groups = RateGroups::default();
        let (one, differs) = groups.limiter(&key(RateGroupKind::Limit, 5));
        let (other, _) = groups.limiter(&key(RateGroupKind::Limit, 5));
        assert!(Arc::ptr_eq(&one, &other) && !differs);
        let (faster, differs) = groups.limiter(&key(RateGroupKind::Limit, 9));
        assert!(!Arc::ptr_eq(&one, &faster) && differs);
        let (quota, differs) = groups.limiter(&key(RateGroupKind::Quota, 5));
        assert!(!Arc::ptr_eq(&one, &quota) && !differs);
    }

    #[test]
    fn group_ends_with_its_last_channel() {
        let groups = RateGroups::default();
        drop(groups.limiter(&key(RateGroupKind::Limit, 5)));
        let (_limiter, differs) = groups.limiter(&key(RateGroupKind::Limit, 9));
        assert!(!differs && groups.0.lock().len() == 1);
    }
}
