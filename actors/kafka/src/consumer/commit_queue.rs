//! The partitions with something to commit, and the time before which nothing is sent. Pure, no clock, no I/O.
//!
//! The brokers refuse every commit of a group that rebalances. Without a delay each refusal would be followed by the
//! next commit at once, because further records are done by then.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::partition::handle::PartitionHandle;

/// Delay of the next commit after one that was refused.
const COMMIT_AGAIN: Duration = Duration::from_secs(1);

/// An offset to commit, and its partition.
pub(super) type DueOffset = (Arc<PartitionHandle>, i64);

/// The partitions with something to commit, each of them once.
#[derive(Default)]
pub(super) struct CommitQueue {
    due: Vec<Arc<PartitionHandle>>,
    /// Time before which no commit is sent; set by a refusal.
    held_until: Option<Instant>,
    /// Set from a refusal until a commit is stored.
    is_refused: bool,
}

impl CommitQueue {
    /// Adds the partition of an order to commit.
    pub(super) fn push(&mut self, handle: Arc<PartitionHandle>) {
        self.due.push(handle);
    }

    /// Takes what is due of the partitions that are assigned: another member may have committed more of those that
    /// were given up. Returns nothing after a refusal, until [`release`](Self::release).
    pub(super) fn take_due(&mut self, is_assigned: impl Fn(&Arc<PartitionHandle>) -> bool) -> Vec<DueOffset> {
        if self.held_until.is_some() {
            return Vec::new();
        }
        let due = std::mem::take(&mut self.due).into_iter().filter(is_assigned);
        let offsets = due.filter_map(|handle| {
            let offset = handle.take_commit()?;
            Some((handle, offset))
        });
        offsets.collect()
    }

    /// Notes that a commit is stored.
    pub(super) fn record_stored(&mut self, offsets: Vec<DueOffset>) {
        self.is_refused = false;
        for (handle, offset) in offsets {
            handle.record_commit(offset, true);
        }
    }

    /// Notes that a commit was refused: what it had is due again, after a delay. Returns `true` for the first refusal
    /// since a commit was stored.
    pub(super) fn record_refused(&mut self, offsets: Vec<DueOffset>, now: Instant) -> bool {
        self.held_until = Some(now + COMMIT_AGAIN);
        for (handle, offset) in offsets {
            handle.record_commit(offset, false);
            // A record that is done meanwhile has ordered it already.
            if handle.claim_commit_order() {
                self.due.push(handle);
            }
        }
        !std::mem::replace(&mut self.is_refused, true)
    }

    /// Returns the time at which the queue is to be released; `None` if it holds nothing back.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    /// Ends the delay after a refusal.
    pub(super) fn release(&mut self) {
        self.held_until = None;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::partition::fixtures::partition;
    use crate::partition::handle::ConsumerOrder;

    /// A partition and the queue of its consumer, at a time that the test counts.
    struct Commits {
        queue: CommitQueue,
        handle: Arc<PartitionHandle>,
        orders: mpsc::UnboundedReceiver<ConsumerOrder>,
        now: Instant,
        settled: i64,
    }

    impl Commits {
        fn new() -> Self {
            let (handle, orders) = partition();
            Self { queue: CommitQueue::default(), handle, orders, now: Instant::now(), settled: 0 }
        }

        /// Runs a record to its end, and hands its order to the queue.
        fn settle_record(&mut self) {
            let offset = self.settled;
            self.handle.begin(offset);
            self.handle.update(|state, _| state.finish(offset));
            self.handle.settle(offset);
            self.settled += 1;
            while let Ok(order) = self.orders.try_recv() {
                if let ConsumerOrder::Commit(handle) = order {
                    self.queue.push(handle);
                }
            }
        }

        /// Lets time pass, as the consumer does.
        fn advance(&mut self, by: Duration) {
            self.now += by;
            if self.queue.held_until().is_some_and(|until| until <= self.now) {
                self.queue.release();
            }
        }

        fn take_due(&mut self) -> Vec<DueOffset> {
            self.queue.take_due(|_| true)
        }

        fn take_offset(&mut self) -> Option<i64> {
            self.take_due().first().map(|(_, offset)| *offset)
        }

        /// Has the next commit refused.
        fn refuse(&mut self) -> bool {
            let offsets = self.take_due();
            assert!(!offsets.is_empty(), "a commit is sent");
            self.queue.record_refused(offsets, self.now)
        }
    }

    #[test]
    fn refused_commits_are_sent_once_a_second() {
        let mut commits = Commits::new();
        let (mut sent, mut reports) = (0, 0);
        for _ in 0..5_000 {
            commits.settle_record();
            let offsets = commits.take_due();
            if !offsets.is_empty() {
                sent += 1;
                reports += usize::from(commits.queue.record_refused(offsets, commits.now));
            }
            assert!(commits.queue.due.len() <= 1, "one order at a time");
            commits.advance(Duration::from_millis(1));
        }
        assert_eq!((sent, reports), (5, 1));
        let offsets = commits.take_due();
        assert_eq!(offsets[0].1, 5_000, "nothing is lost");
        commits.queue.record_stored(offsets);
        assert_eq!(commits.handle.read(|state, _| state.committed_offset()), Some(5_000));
        assert_eq!(commits.handle.read(|state, _| state.unconfirmed_offset()), None);
    }

    #[test]
    fn refused_offset_is_due_without_further_records() {
        let mut commits = Commits::new();
        commits.settle_record();
        assert!(commits.refuse());
        assert_eq!(commits.take_offset(), None);
        commits.advance(COMMIT_AGAIN);
        assert_eq!(commits.take_offset(), Some(1));
        assert_eq!(commits.take_offset(), None);
    }

    #[test]
    fn release_sends_held_commits_at_once() {
        let mut commits = Commits::new();
        commits.settle_record();
        commits.refuse();
        commits.settle_record();
        assert_eq!(commits.take_offset(), None);
        commits.queue.release();
        assert_eq!(commits.take_offset(), Some(2));
    }

    #[test]
    fn refusal_after_stored_commit_is_reported_again() {
        let mut commits = Commits::new();
        commits.settle_record();
        assert!(commits.refuse());
        commits.queue.release();
        assert!(!commits.refuse());
        commits.queue.release();
        let offsets = commits.take_due();
        commits.queue.record_stored(offsets);
        commits.settle_record();
        assert!(commits.refuse());
    }

    #[test]
    fn partition_given_up_is_not_committed_later() {
        let mut commits = Commits::new();
        commits.settle_record();
        commits.refuse();
        commits.queue.release();
        assert!(commits.queue.take_due(|_| false).is_empty());
        assert_eq!(commits.take_offset(), None, "it is due no more");
        assert_eq!(
            commits.handle.read(|state, _| state.unconfirmed_offset()),
            Some(1),
            "for the last commit"
        );
    }
}
