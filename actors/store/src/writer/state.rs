//! Which units wait and whether a batch is under way: pure, no clock, no I/O.

use std::collections::VecDeque;

/// Units in one transaction, at most.
pub(crate) const LARGEST_BATCH: usize = 256;

/// Natural group commit: whatever arrives while a transaction runs makes up the next one.
pub(crate) struct Queue<U> {
    waiting: VecDeque<U>,
    running: bool,
}

impl<U> Queue<U> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), running: false }
    }

    pub(crate) fn push(&mut self, unit: U) {
        self.waiting.push_back(unit);
    }

    /// The next batch, in the order of arrival; none while one runs or nothing waits.
    pub(crate) fn start(&mut self) -> Option<Vec<U>> {
        if self.running || self.waiting.is_empty() {
            return None;
        }
        self.running = true;
        let size = self.waiting.len().min(LARGEST_BATCH);
        Some(self.waiting.drain(..size).collect())
    }

    pub(crate) const fn finished(&mut self) {
        self.running = false;
    }

    /// Everything that waits, for a writer that ends.
    pub(crate) fn take(&mut self) -> Vec<U> {
        self.waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_queue_while_a_batch_runs_and_leave_in_order() {
        let mut queue = Queue::new();
        assert!(queue.start().is_none());
        queue.push(1);
        assert_eq!(queue.start(), Some(vec![1]));
        queue.push(2);
        queue.push(3);
        assert_eq!(queue.start(), None);
        queue.finished();
        assert_eq!(queue.start(), Some(vec![2, 3]));
    }

    #[test]
    fn a_batch_is_bounded() {
        let mut queue = Queue::new();
        (0..LARGEST_BATCH + 1).for_each(|unit| queue.push(unit));
        assert_eq!(queue.start().map(|batch| batch.len()), Some(LARGEST_BATCH));
        queue.finished();
        assert_eq!(queue.start(), Some(vec![LARGEST_BATCH]));
    }
}
