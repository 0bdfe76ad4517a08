//! The groups that this process knows to be stored.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use svc_model::ErrorGroup;
use tokio::time::Instant;

/// Time after which a known group is stored again, as seen. Far shorter than the age at which a group is deleted.
const KNOWN_FOR: Duration = Duration::from_secs(1800);

/// Groups that are known at most. Beyond that all are forgotten, which costs one write for each that fails again.
const MOST_KNOWN: usize = 10_000;

/// The ids of the stored groups, each with the instant of its last write. Survives restarts of the writer.
#[derive(Default)]
pub(crate) struct KnownGroups(Mutex<HashMap<String, Instant>>);

impl KnownGroups {
    /// Returns whether a group is to be stored.
    pub(crate) fn is_new(&self, group: &ErrorGroup) -> bool {
        self.0.lock().get(&group.id).is_none_or(|stored_at| stored_at.elapsed() >= KNOWN_FOR)
    }

    /// Remembers that a group is stored.
    pub(crate) fn remember(&self, group: &ErrorGroup) {
        let mut known = self.0.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(group.id.clone(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use svc_model::FailureFacts;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn known_group_is_stored_again_after_a_while() {
        let known = KnownGroups::default();
        let group = ErrorGroup::new(FailureFacts { channel: "orders", ..FailureFacts::default() });
        assert!(known.is_new(&group));
        known.remember(&group);
        assert!(!known.is_new(&group));
        tokio::time::advance(KNOWN_FOR).await;
        assert!(known.is_new(&group));
    }
}
