//! The queue of changes: one runs, the others wait; consecutive reloads of one kind are merged.

use std::collections::VecDeque;

use crate::scope::ReloadScope;
use crate::worker::WorkerThread;

/// A change of the snapshot that takes time.
#[derive(Clone, Debug)]
pub(crate) enum SnapshotChange {
    Reload(ReloadScope),
    Join(WorkerThread),
    Leave(usize),
}

/// Changes with their waiters. `W` notifies one waiter.
#[derive(Debug)]
pub(crate) struct ChangeQueue<W> {
    running: Option<(SnapshotChange, Vec<W>)>,
    waiting: VecDeque<(SnapshotChange, Vec<W>)>,
    /// The scope of failed reloads; the next reload includes it.
    unapplied: Option<ReloadScope>,
}

impl<W> Default for ChangeQueue<W> {
    fn default() -> Self {
        Self { running: None, waiting: VecDeque::new(), unapplied: None }
    }
}

impl<W> ChangeQueue<W> {
    /// Puts a change at the end of the line; a reload joins a reload that is last there. One of everything is
    /// kept apart from those of single changes: an unchanged definition may fail it, and must not fail
    /// them.
    pub(crate) fn push(&mut self, change: SnapshotChange, waiter: Option<W>) {
        match (self.waiting.back_mut(), change) {
            (Some((SnapshotChange::Reload(last), waiters)), SnapshotChange::Reload(scope))
                if (*last == ReloadScope::All) == (scope == ReloadScope::All) =>
            {
                last.merge(scope);
                waiters.extend(waiter);
            }
            (_, change) => self.waiting.push_back((change, waiter.into_iter().collect())),
        }
    }

    /// Returns the change to run now; `None` while one runs.
    pub(crate) fn begin_next(&mut self) -> Option<SnapshotChange> {
        if self.running.is_some() {
            return None;
        }
        let (mut change, waiters) = self.waiting.pop_front()?;
        if let SnapshotChange::Reload(scope) = &mut change
            && let Some(unapplied) = self.unapplied.take()
        {
            scope.merge(unapplied);
        }
        self.running = Some((change.clone(), waiters));
        Some(change)
    }

    /// Ends the running change and returns its waiters.
    pub(crate) fn finish(&mut self) -> Vec<W> {
        self.running.take().map(|(_, waiters)| waiters).unwrap_or_default()
    }

    /// Ends the running change as failed and returns its waiters; the scope of a reload is kept for the next
    /// one.
    pub(crate) fn fail(&mut self) -> Vec<W> {
        match self.running.take() {
            Some((SnapshotChange::Reload(scope), waiters)) => {
                match &mut self.unapplied {
                    Some(unapplied) => unapplied.merge(scope),
                    None => self.unapplied = Some(scope),
                }
                waiters
            }
            Some((_, waiters)) => waiters,
            None => Vec::new(),
        }
    }

    /// Returns `true` while the scope of a failed reload has not been reloaded.
    pub(crate) fn has_unapplied(&self) -> bool {
        self.unapplied.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(change: Option<SnapshotChange>) -> Option<ReloadScope> {
        match change? {
            SnapshotChange::Reload(scope) => Some(scope),
            _ => None,
        }
    }

    #[test]
    fn one_job_runs_and_queued_reloads_become_one() {
        let mut queue = ChangeQueue::default();
        queue.push(SnapshotChange::Reload(ReloadScope::channel("a")), Some(1));
        assert_eq!(scope(queue.begin_next()), Some(ReloadScope::channel("a")));
        queue.push(SnapshotChange::Reload(ReloadScope::channel("b")), Some(2));
        queue.push(SnapshotChange::Reload(ReloadScope::workflow("w")), Some(3));
        queue.push(SnapshotChange::Reload(ReloadScope::channel("b")), Some(4));
        assert!(queue.begin_next().is_none(), "one is running");
        assert_eq!(queue.finish(), [1]);
        let merged = ReloadScope::Changed { workflows: vec!["w".into()], channels: vec!["b".into()] };
        assert_eq!(scope(queue.begin_next()), Some(merged));
        assert_eq!(queue.finish(), [2, 3, 4]);
        assert!(queue.begin_next().is_none());
    }

    #[test]
    fn full_reload_is_separate_from_single_changes() {
        let mut queue = ChangeQueue::<()>::default();
        queue.push(SnapshotChange::Reload(ReloadScope::channel("a")), None);
        queue.push(SnapshotChange::Reload(ReloadScope::All), None);
        queue.push(SnapshotChange::Reload(ReloadScope::All), None);
        queue.push(SnapshotChange::Reload(ReloadScope::channel("b")), None);
        for expected in [ReloadScope::channel("a"), ReloadScope::All, ReloadScope::channel("b")] {
            assert_eq!(scope(queue.begin_next()), Some(expected));
            queue.finish();
        }
        assert!(queue.begin_next().is_none());
    }

    #[test]
    fn other_jobs_leave_missed_changes_to_the_reload() {
        let mut queue = ChangeQueue::<()>::default();
        queue.push(SnapshotChange::Reload(ReloadScope::channel("a")), None);
        queue.begin_next();
        queue.fail();
        queue.push(SnapshotChange::Leave(0), None);
        assert!(matches!(queue.begin_next(), Some(SnapshotChange::Leave(0))));
        queue.finish();
        assert!(queue.has_unapplied());
        queue.push(SnapshotChange::Reload(ReloadScope::channel("b")), None);
        let both = ReloadScope::Changed { workflows: vec![], channels: vec!["b".into(), "a".into()] };
        assert_eq!(scope(queue.begin_next()), Some(both));
    }

    #[test]
    fn the_order_of_other_jobs_is_kept() {
        let mut queue = ChangeQueue::<()>::default();
        queue.push(SnapshotChange::Reload(ReloadScope::All), None);
        queue.push(SnapshotChange::Leave(0), None);
        queue.push(SnapshotChange::Reload(ReloadScope::channel("a")), None);
        assert_eq!(scope(queue.begin_next()), Some(ReloadScope::All));
        queue.finish();
        assert!(matches!(queue.begin_next(), Some(SnapshotChange::Leave(0))));
        queue.finish();
        assert_eq!(scope(queue.begin_next()), Some(ReloadScope::channel("a")));
    }

    #[test]
    fn next_reload_includes_changes_of_failed_one() {
        let mut queue = ChangeQueue::default();
        queue.push(SnapshotChange::Reload(ReloadScope::channel("a")), Some(1));
        queue.begin_next();
        assert_eq!(queue.fail(), [1]);
        assert!(queue.has_unapplied());
        queue.push(SnapshotChange::Reload(ReloadScope::channel("b")), Some(2));
        let both = ReloadScope::Changed { workflows: vec![], channels: vec!["b".into(), "a".into()] };
        assert_eq!(scope(queue.begin_next()), Some(both));
        assert!(!queue.has_unapplied());
    }
}
