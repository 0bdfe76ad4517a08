//! The changes that this process makes itself, by the ids that its authors give them.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

/// Loaded changes that are remembered. The watcher loads a forgotten one once more, which does no harm.
const REMEMBERED: usize = 4096;
/// Time that the author of a change has to load it, before the watcher does.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state of a change of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalState {
    /// Its author commits or loads it.
    Pending,
    /// Its author has loaded it.
    Applied,
}

/// The register of the changes of this process. Cheap to clone.
#[derive(Clone, Default)]
pub struct LocalChanges {
    shared: Arc<LocalShared>,
}

#[derive(Default)]
struct LocalShared {
    register: Mutex<Register>,
    /// Notified when a change was loaded or given up.
    ended: Notify,
}

#[derive(Default)]
struct Register {
    /// The changes that their authors work on, with the begin.
    pending: HashMap<Uuid, Instant>,
    /// The loaded ones, the oldest first.
    applied: VecDeque<Uuid>,
}

impl LocalChanges {
    /// Registers a change that is about to be committed.
    #[must_use = "a dropped change is loaded by the watcher"]
    pub fn begin(&self, id: Uuid) -> LocalChange {
        self.shared.register.lock().pending.insert(id, Instant::now());
        LocalChange { id, changes: self.clone() }
    }

    /// Returns the state of a change; `None` if the watcher must load it.
    pub(crate) fn state(&self, change_id: &str) -> Option<LocalState> {
        let id = Uuid::try_parse(change_id).ok()?;
        let register = self.shared.register.lock();
        match register.pending.get(&id) {
            Some(begun) => (begun.elapsed() < PATIENCE).then_some(LocalState::Pending),
            None => register.applied.contains(&id).then_some(LocalState::Applied),
        }
    }

    /// Waits until a change was loaded or given up since the last wait.
    pub(crate) async fn wait_for_end(&self) {
        self.shared.ended.notified().await;
    }
}

/// A change that its author commits and then loads. Dropped before, it is left to the watcher.
pub struct LocalChange {
    id: Uuid,
    changes: LocalChanges,
}

impl LocalChange {
    /// Records that the change serves.
    pub fn record_applied(self) {
        let mut register = self.changes.shared.register.lock();
        register.applied.push_back(self.id);
        if register.applied.len() > REMEMBERED {
            register.applied.pop_front();
        }
    }
}

impl Drop for LocalChange {
    fn drop(&mut self) {
        self.changes.shared.register.lock().pending.remove(&self.id);
        self.changes.shared.ended.notify_one();
    }
}

impl fmt::Debug for LocalChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalChange").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn change_is_pending_until_applied_dropped_or_late() {
        let changes = LocalChanges::default();
        let [applied, dropped, late] = [1, 2, 3].map(Uuid::from_u128);
        let begun = [applied, dropped, late].map(|id| changes.begin(id));
        let states = || [applied, dropped, late].map(|id| changes.state(&id.to_string()));
        assert_eq!(states(), [Some(LocalState::Pending); 3]);
        let [first, second, _third] = begun;
        first.record_applied();
        drop(second);
        assert_eq!(states(), [Some(LocalState::Applied), None, Some(LocalState::Pending)]);
        tokio::time::advance(PATIENCE).await;
        assert_eq!(states()[2], None);
        assert_eq!(changes.state("of another program"), None);
    }

    #[test]
    fn only_so_many_applied_changes_are_remembered() {
        let changes = LocalChanges::default();
        for number in 0..=REMEMBERED {
            changes.begin(Uuid::from_u128(number as u128)).record_applied();
        }
        assert_eq!(changes.state(&Uuid::from_u128(0).to_string()), None);
        assert_eq!(changes.state(&Uuid::from_u128(1).to_string()), Some(LocalState::Applied));
    }
}
