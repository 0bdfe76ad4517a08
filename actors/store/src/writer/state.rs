//! What waits and whether a batch is under way: pure, no clock, no I/O.

use std::collections::VecDeque;

/// Units in one transaction, at most.
pub(crate) const MOST_UNITS: usize = 256;
/// Rows in one transaction, at most.
pub(crate) const MOST_ROWS: usize = 1024;

/// Natural group commit: whatever arrives while a transaction runs makes up the next one.
pub(crate) struct Queue<U, R> {
    units: VecDeque<U>,
    rows: VecDeque<R>,
    running: bool,
}

impl<U, R> Queue<U, R> {
    pub(crate) const fn new() -> Self {
        Self { units: VecDeque::new(), rows: VecDeque::new(), running: false }
    }

    pub(crate) fn push_unit(&mut self, unit: U) {
        self.units.push_back(unit);
    }

    pub(crate) fn push_row(&mut self, row: R) {
        self.rows.push_back(row);
    }

    /// The next batch, in the order of arrival; none while one runs or nothing waits.
    pub(crate) fn start(&mut self) -> Option<(Vec<U>, Vec<R>)> {
        if self.running || (self.units.is_empty() && self.rows.is_empty()) {
            return None;
        }
        self.running = true;
        Some((first(&mut self.units, MOST_UNITS), first(&mut self.rows, MOST_ROWS)))
    }

    pub(crate) const fn finished(&mut self) {
        self.running = false;
    }

    /// Everything that waits, for a writer that ends.
    pub(crate) fn take(&mut self) -> (Vec<U>, Vec<R>) {
        (first(&mut self.units, usize::MAX), first(&mut self.rows, usize::MAX))
    }
}

fn first<T>(waiting: &mut VecDeque<T>, most: usize) -> Vec<T> {
    waiting.drain(..waiting.len().min(most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_while_a_batch_runs_leaves_in_order_with_the_next() {
        let mut queue = Queue::new();
        assert!(queue.start().is_none());
        queue.push_unit(1);
        assert_eq!(queue.start(), Some((vec![1], vec![])));
        queue.push_unit(2);
        queue.push_row('a');
        queue.push_unit(3);
        queue.push_row('b');
        assert_eq!(queue.start(), None);
        queue.finished();
        assert_eq!(queue.start(), Some((vec![2, 3], vec!['a', 'b'])));
    }

    #[test]
    fn a_batch_is_bounded() {
        let mut queue = Queue::new();
        (0..MOST_UNITS + 1).for_each(|unit| queue.push_unit(unit));
        (0..MOST_ROWS + 2).for_each(|row| queue.push_row(row));
        let sizes = |(units, rows): (Vec<usize>, Vec<usize>)| (units.len(), rows.len());
        assert_eq!(queue.start().map(sizes), Some((MOST_UNITS, MOST_ROWS)));
        queue.finished();
        assert_eq!(queue.start().map(sizes), Some((1, 2)));
    }
}
