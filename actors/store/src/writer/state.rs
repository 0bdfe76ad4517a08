//! What waits and whether a batch is under way: pure, no clock, no I/O.

use std::collections::VecDeque;

/// Units in one transaction, at most.
pub(crate) const MOST_UNITS: usize = 256;
/// Rows in one transaction, at most.
pub(crate) const MOST_ROWS: usize = 1024;
/// Bytes of the rows in one transaction, at most; a larger row is alone.
pub(crate) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Natural group commit: whatever arrives while a transaction runs makes up the next one.
///
/// Callers that come back as soon as they are answered would so fall into two groups, each waiting for the commit of
/// the other. Where commits are slow, those just answered are therefore given a moment before the next batch starts.
pub(crate) struct Queue<U, R> {
    units: VecDeque<U>,
    /// With the bytes of each.
    rows: VecDeque<(R, usize)>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Idle,
    /// A batch of that size is under way.
    Running(usize),
    /// Until that many wait.
    Gathering(usize),
}

impl<U, R> Queue<U, R> {
    pub(crate) const fn new() -> Self {
        Self { units: VecDeque::new(), rows: VecDeque::new(), stage: Stage::Idle }
    }

    pub(crate) fn push_unit(&mut self, unit: U) {
        self.units.push_back(unit);
    }

    pub(crate) fn push_row(&mut self, row: R, bytes: usize) {
        self.rows.push_back((row, bytes));
    }

    /// The next batch, in the order of arrival; none while one runs, more are expected or nothing waits.
    pub(crate) fn start(&mut self) -> Option<(Vec<U>, Vec<R>)> {
        match self.stage {
            Stage::Running(_) => return None,
            Stage::Gathering(wanted) if self.waiting() < wanted => return None,
            Stage::Idle | Stage::Gathering(_) if self.waiting() == 0 => return None,
            Stage::Idle | Stage::Gathering(_) => {}
        }
        let batch = (first(&mut self.units, MOST_UNITS), self.first_rows(MOST_ROWS, MOST_BYTES));
        self.stage = Stage::Running(batch.0.len() + batch.1.len());
        Some(batch)
    }

    /// The batch has ended; tells whether the next one waits for those of it who come back, until [`gathered`] says
    /// that they had their moment. One caller alone is no group to keep together.
    ///
    /// [`gathered`]: Self::gathered
    pub(crate) fn finished(&mut self, slow: bool) -> bool {
        self.stage = match self.stage {
            Stage::Running(size) if slow && size > 1 => {
                Stage::Gathering((size + self.waiting()).min(MOST_UNITS))
            }
            _ => Stage::Idle,
        };
        matches!(self.stage, Stage::Gathering(_))
    }

    /// Who has not come back by now is not waited for.
    pub(crate) fn gathered(&mut self) {
        if let Stage::Gathering(_) = self.stage {
            self.stage = Stage::Idle;
        }
    }

    /// Everything that waits, for a writer that ends.
    pub(crate) fn take(&mut self) -> (Vec<U>, Vec<R>) {
        (first(&mut self.units, usize::MAX), self.first_rows(usize::MAX, usize::MAX))
    }

    fn first_rows(&mut self, most: usize, most_bytes: usize) -> Vec<R> {
        let mut bytes = 0_usize;
        let fitting = self.rows.iter().take(most).take_while(|(_, size)| {
            bytes = bytes.saturating_add(*size);
            bytes <= most_bytes
        });
        let rows = fitting.count().max(1).min(self.rows.len());
        self.rows.drain(..rows).map(|(row, _)| row).collect()
    }

    fn waiting(&self) -> usize {
        self.units.len() + self.rows.len()
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
        queue.push_row('a', 1);
        queue.push_unit(3);
        queue.push_row('b', 1);
        assert_eq!(queue.start(), None);
        assert!(!queue.finished(false));
        assert_eq!(queue.start(), Some((vec![2, 3], vec!['a', 'b'])));
    }

    #[test]
    fn a_batch_is_bounded() {
        let mut queue = Queue::new();
        (0..MOST_UNITS + 1).for_each(|unit| queue.push_unit(unit));
        (0..MOST_ROWS + 2).for_each(|row| queue.push_row(row, 1));
        let sizes = |(units, rows): (Vec<usize>, Vec<usize>)| (units.len(), rows.len());
        assert_eq!(queue.start().map(sizes), Some((MOST_UNITS, MOST_ROWS)));
        queue.finished(false);
        assert_eq!(queue.start().map(sizes), Some((1, 2)));
    }

    #[test]
    fn a_batch_is_bounded_by_bytes_and_a_row_beyond_them_is_alone() {
        let mut queue: Queue<(), u8> = Queue::new();
        for (row, bytes) in [(1, MOST_BYTES / 2), (2, MOST_BYTES / 2), (3, 1), (4, MOST_BYTES + 1), (5, 0)] {
            queue.push_row(row, bytes);
        }
        for expected in [vec![1, 2], vec![3], vec![4], vec![5]] {
            assert_eq!(queue.start(), Some((vec![], expected)));
            queue.finished(false);
        }
    }

    #[test]
    fn callers_of_a_slow_commit_come_back_into_one_batch() {
        let mut queue: Queue<(), u8> = Queue::new();
        queue.push_row(1, 1);
        queue.push_row(2, 1);
        assert!(queue.start().is_some());
        queue.push_row(3, 1);
        assert!(queue.finished(true));
        assert!(queue.start().is_none(), "two more are expected");
        queue.push_row(1, 1);
        assert!(queue.start().is_none());
        queue.push_row(2, 1);
        assert_eq!(queue.start(), Some((vec![], vec![3, 1, 2])));
        assert!(queue.finished(true));
        queue.push_row(1, 1);
        assert!(queue.start().is_none());
        queue.gathered();
        assert_eq!(queue.start(), Some((vec![], vec![1])), "the others did not come back");
        assert!(!queue.finished(true), "one alone is not waited for");
    }
}
