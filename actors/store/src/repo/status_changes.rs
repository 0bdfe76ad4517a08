//! Concurrent changes of status: one wins, the others are conflicts, even if they are processed much later.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use svc_model::{EntityKind, ServiceError};
use tokio::time::Instant;

use crate::clock;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::definitions::{Versioned, queries};

/// Time after which a change is forgotten: longer than any request takes.
const RETENTION: Duration = Duration::from_secs(300);
/// Smallest number of entries at which old ones are removed.
const SWEEP_ABOVE: usize = 1000;
/// The field that two channels may both claim.
const ROUTE: &str = "route_pattern";

type Key = (&'static str, String);

/// The changes of status that this process makes and has made recently.
#[derive(Default)]
pub(crate) struct StatusChanges(Mutex<RecentChanges>);

/// The changes by entity.
#[derive(Default)]
struct RecentChanges {
    by_entity: HashMap<Key, Changes>,
    /// Number of entries that the last removal of old ones left.
    swept_to: usize,
}

/// The changes of one entity.
#[derive(Clone, Copy, Default)]
struct Changes {
    in_progress: usize,
    committed: Option<Instant>,
}

impl Changes {
    /// Returns whether a change was, or may yet be, committed since `instant`.
    fn may_have_committed_since(&self, instant: Instant) -> bool {
        self.in_progress > 0 || self.committed.is_some_and(|at| at >= instant)
    }
}

/// A change that was made and may be committed, until dropped.
pub(super) struct ChangeInProgress {
    changes: Arc<StatusChanges>,
    key: Key,
    is_committed: bool,
}

impl ChangeInProgress {
    /// Records that the change is committed.
    pub(super) fn commit(mut self) {
        self.is_committed = true;
    }
}

impl Drop for ChangeInProgress {
    fn drop(&mut self) {
        let mut all = self.changes.lock();
        let changes = all.by_entity.entry(self.key.clone()).or_default();
        changes.in_progress = changes.in_progress.saturating_sub(1);
        if self.is_committed {
            changes.committed = Some(Instant::now());
        }
    }
}

impl StatusChanges {
    /// Records a change that a transaction has made and not yet committed.
    pub(super) fn begin(self: Arc<Self>, kind: EntityKind, id: &str) -> ChangeInProgress {
        let (now, key) = (Instant::now(), (kind.name(), id.to_owned()));
        let mut all = self.lock();
        // After twice as many entries, so that each is looked at a few times at most however many are recent.
        if all.by_entity.len() >= SWEEP_ABOVE.max(2 * all.swept_to) {
            let is_recent = |at: Instant| now.duration_since(at) < RETENTION;
            all.by_entity
                .retain(|_, changes| changes.in_progress > 0 || changes.committed.is_some_and(is_recent));
            all.swept_to = all.by_entity.len();
        }
        all.by_entity.entry(key.clone()).or_default().in_progress += 1;
        drop(all);
        ChangeInProgress { changes: self, key, is_committed: false }
    }

    /// Returns whether this process may have changed the entity since `instant`; without an id, any entity of
    /// the kind.
    fn may_have_committed_since(&self, kind: EntityKind, id: Option<&str>, instant: Instant) -> bool {
        let all = self.lock();
        match id {
            Some(id) => all
                .by_entity
                .get(&(kind.name(), id.to_owned()))
                .is_some_and(|changes| changes.may_have_committed_since(instant)),
            None => all
                .by_entity
                .iter()
                .any(|((of, _), changes)| *of == kind.name() && changes.may_have_committed_since(instant)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecentChanges> {
        self.0.lock()
    }
}

/// Returns the refusal of a change received at `received_at`. It becomes a conflict if it was caused by a
/// change that was committed since, on this node or another one.
pub(super) async fn classify<V: Versioned>(
    conn: &mut Conn,
    changes: &StatusChanges,
    id: &str,
    received_at: Instant,
    refusal: ServiceError,
) -> Result<ServiceError, StoreError> {
    let claims_route = refusal.details().iter().any(|detail| detail.path == ROUTE);
    let entity = match refusal.status() {
        404 => Some(id),
        400 if claims_route => None,
        _ => return Ok(refusal),
    };
    let is_overtaken = changes.may_have_committed_since(V::KIND, entity, received_at)
        || activated_elsewhere::<V>(conn, entity, received_at).await?;
    Ok(if is_overtaken { overtaken_conflict(&refusal) } else { refusal })
}

/// Returns whether the database says that another node activated a version since then. A SQLite file has a
/// single process, which knows its own changes.
async fn activated_elsewhere<V: Versioned>(
    conn: &mut Conn,
    id: Option<&str>,
    received_at: Instant,
) -> Result<bool, StoreError> {
    if !matches!(conn, Conn::Postgres(_)) {
        return Ok(false);
    }
    // Measured before the clock is read, so that no change before the request counts.
    let elapsed = received_at.elapsed();
    let since = clock::before_now(conn, elapsed).await?;
    queries::is_activated_since(conn, V::KIND, id, since).await
}

/// Returns a refusal as a conflict with an earlier change.
pub(super) fn overtaken_conflict(refusal: &ServiceError) -> ServiceError {
    ServiceError::conflict(format!("another change came first: {}", refusal.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn change_counts_until_requests_before_commit_end() {
        let (changes, received_at) = (Arc::new(StatusChanges::default()), Instant::now());
        let overtakes =
            |id: Option<&str>, instant| changes.may_have_committed_since(EntityKind::Channel, id, instant);
        assert!(!overtakes(Some("a"), received_at));
        tokio::time::advance(Duration::from_millis(1)).await;
        let begin = |id| Arc::clone(&changes).begin(EntityKind::Channel, id);
        let change = begin("a");
        assert!(overtakes(Some("a"), Instant::now()), "it is in progress");
        change.commit();
        drop(begin("b"));
        assert!(overtakes(Some("a"), received_at) && overtakes(None, received_at));
        assert!(!overtakes(Some("b"), received_at), "it was not committed");
        assert!(!changes.may_have_committed_since(EntityKind::Workflow, None, received_at), "another kind");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!overtakes(Some("a"), Instant::now()), "the request came after it");
    }

    #[tokio::test(start_paused = true)]
    async fn old_changes_are_forgotten_when_there_are_many() {
        let changes = Arc::new(StatusChanges::default());
        for n in 0..SWEEP_ABOVE {
            Arc::clone(&changes).begin(EntityKind::Workflow, &n.to_string()).commit();
        }
        tokio::time::advance(RETENTION).await;
        drop(Arc::clone(&changes).begin(EntityKind::Workflow, "next"));
        assert_eq!(changes.lock().by_entity.len(), 1);
    }
}
