//! The queue of waiting writes and the stage of the current batch: pure, no clock, no I/O.

use crate::group::{MOST_BYTES, MemberQueue};

/// Maximum number of units in one transaction.
const MOST_UNITS: usize = 256;
/// Maximum number of rows in one transaction.
pub(crate) const MOST_ROWS: usize = 1024;
/// Maximum number of waiting rows.
const MOST_WAITING: usize = 8192;
/// Maximum bytes of the waiting rows: eight batches of the size of a transaction. A larger row waits alone. This
/// bounds the memory while the database stalls.
const MOST_WAITING_BYTES: usize = 8 * MOST_BYTES;

/// Natural group commit: everything that arrives while a transaction runs forms the next one.
///
/// Callers that write again as soon as they are answered would split into two groups, each waiting for the commit of
/// the other. If commits are slow, the callers just answered therefore get a moment before the next batch starts.
pub(crate) struct WriteQueue<U, R> {
    units: MemberQueue<U>,
    rows: MemberQueue<R>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// No task writes.
    Idle,
    /// A task writes and is about to take the next batch.
    Between,
    /// A batch of this size is being written.
    Running(usize),
    /// The writing task waits until this many writes are queued.
    Gathering(usize),
}

/// The action required after a write was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// None: the running task will write it.
    Nothing,
    /// Notify the writing task: as many writes wait as it waits for.
    Gathered,
    /// Start a task: none is writing.
    Start,
}

impl<U, R> WriteQueue<U, R> {
    pub(crate) const fn new() -> Self {
        Self { units: MemberQueue::new(), rows: MemberQueue::new(), stage: Stage::Idle }
    }

    pub(crate) fn push_unit(&mut self, unit: U) {
        // The mailbox of the writer bounds the units, whose bytes are not known.
        self.units.push(unit, 0);
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Returns the row if too many rows or bytes wait.
    pub(crate) fn push_row(&mut self, row: R, bytes: usize) -> Result<(), R> {
        let waiting = self.rows.bytes();
        let has_room = waiting == 0 || waiting.saturating_add(bytes) <= MOST_WAITING_BYTES;
        if self.rows.len() >= MOST_WAITING || !has_room {
            return Err(row);
        }
        self.rows.push(row, bytes);
        Ok(())
    }

    /// Returns the action required after a write was added.
    pub(crate) fn wake(&mut self) -> Wake {
        match self.stage {
            Stage::Idle if self.waiting() > 0 => {
                self.stage = Stage::Between;
                Wake::Start
            }
            Stage::Gathering(wanted) if self.waiting() >= wanted => Wake::Gathered,
            _ => Wake::Nothing,
        }
    }

    /// Returns the next batch of the writing task, in the order of arrival. If there is none, the task waits for the
    /// next write.
    pub(crate) fn start(&mut self) -> Option<(Vec<U>, Vec<R>)> {
        if self.waiting() == 0 {
            self.stage = Stage::Gathering(1);
            return None;
        }
        let batch = (self.units.take_group(MOST_UNITS), self.rows.take_group(MOST_ROWS));
        self.stage = Stage::Running(batch.0.len() + batch.1.len());
        Some(batch)
    }

    /// Records the end of a batch. Returns whether the next one waits for the callers of this one, until
    /// [`end_gathering`] ends the wait. A single caller is not waited for.
    ///
    /// [`end_gathering`]: Self::end_gathering
    pub(crate) fn finish_batch(&mut self, slow: bool) -> bool {
        self.stage = match self.stage {
            Stage::Running(size) if slow && size > 1 => {
                Stage::Gathering((size + self.waiting()).min(MOST_UNITS))
            }
            _ => Stage::Between,
        };
        self.is_gathering()
    }

    /// Returns whether the writing task waits for more writes than there are.
    pub(crate) fn is_gathering(&self) -> bool {
        matches!(self.stage, Stage::Gathering(wanted) if self.waiting() < wanted)
    }

    /// Ends a wait of the writing task.
    pub(crate) const fn end_gathering(&mut self) {
        self.stage = Stage::Between;
    }

    /// Ends the writing task if nothing waits. Returns whether it has ended.
    pub(crate) fn end_if_empty(&mut self) -> bool {
        let is_over = self.waiting() == 0;
        self.stage = if is_over { Stage::Idle } else { Stage::Between };
        is_over
    }

    /// Records that the writing task died.
    pub(crate) const fn task_died(&mut self) {
        self.stage = Stage::Idle;
    }

    /// Removes and returns everything that waits.
    pub(crate) fn take(&mut self) -> (Vec<U>, Vec<R>) {
        (self.units.take_all(), self.rows.take_all())
    }

    fn waiting(&self) -> usize {
        self.units.len() + self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_during_a_batch_join_next_in_order() {
        let mut queue = WriteQueue::new();
        assert_eq!(queue.wake(), Wake::Nothing);
        queue.push_unit(1);
        assert_eq!(queue.wake(), Wake::Start);
        assert_eq!(queue.start(), Some((vec![1], vec![])));
        queue.push_unit(2);
        queue.push_row('a', 1).unwrap();
        queue.push_unit(3);
        queue.push_row('b', 1).unwrap();
        assert_eq!(queue.wake(), Wake::Nothing, "somebody writes");
        assert!(!queue.finish_batch(false));
        assert_eq!(queue.start(), Some((vec![2, 3], vec!['a', 'b'])));
        assert!(!queue.finish_batch(false));
        assert_eq!(queue.wake(), Wake::Nothing, "the writer looks once more");
    }

    #[test]
    fn writing_task_waits_once_before_it_ends() {
        let mut queue: WriteQueue<u8, ()> = WriteQueue::new();
        queue.push_unit(1);
        assert_eq!((queue.wake(), queue.start()), (Wake::Start, Some((vec![1], vec![]))));
        assert!(!queue.finish_batch(false));
        assert_eq!(queue.start(), None);
        assert!(queue.is_gathering());
        queue.push_unit(2);
        assert_eq!(queue.wake(), Wake::Gathered);
        assert!(!queue.end_if_empty(), "it came just in time");
        assert_eq!(queue.start(), Some((vec![2], vec![])));
        assert!(!queue.finish_batch(false));
        assert_eq!(queue.start(), None);
        assert!(queue.end_if_empty());
        queue.push_unit(3);
        assert_eq!(queue.wake(), Wake::Start);
        assert_eq!(queue.wake(), Wake::Nothing, "once is enough");
    }

    #[test]
    fn a_batch_is_bounded_and_so_is_what_waits() {
        let mut queue = WriteQueue::new();
        (0..MOST_UNITS + 1).for_each(|unit| queue.push_unit(unit));
        (0..MOST_WAITING).for_each(|row| queue.push_row(row, 1).unwrap());
        assert_eq!(queue.push_row(7, 1), Err(7));
        let sizes = |(units, rows): (Vec<usize>, Vec<usize>)| (units.len(), rows.len());
        assert_eq!(queue.start().map(sizes), Some((MOST_UNITS, MOST_ROWS)));
        queue.finish_batch(false);
        assert_eq!(queue.start().map(sizes), Some((1, MOST_ROWS)));
        assert_eq!(queue.push_row(7, 1), Ok(()));
    }

    #[test]
    fn waiting_rows_are_bounded_by_bytes() {
        let mut queue: WriteQueue<(), u8> = WriteQueue::new();
        queue.push_row(1, MOST_WAITING_BYTES - 1).unwrap();
        assert_eq!(queue.push_row(2, 2), Err(2));
        queue.push_row(3, 1).unwrap();
        assert_eq!(queue.push_row(4, 0), Ok(()), "what has no bytes always has room");
        assert_eq!(queue.start(), Some((vec![], vec![1])));
        queue.push_row(5, MOST_WAITING_BYTES - 1).unwrap();
        queue.finish_batch(false);
        assert_eq!(queue.take(), (vec![], vec![3, 4, 5]));
        queue.push_row(6, usize::MAX).unwrap();
        assert_eq!(queue.push_row(7, 1), Err(7));
        assert_eq!(queue.start(), Some((vec![], vec![6])));
        queue.push_row(7, 1).unwrap();
    }

    #[test]
    fn callers_of_slow_commits_share_a_batch() {
        let mut queue: WriteQueue<(), u8> = WriteQueue::new();
        queue.push_row(1, 1).unwrap();
        queue.push_row(2, 1).unwrap();
        assert_eq!(queue.wake(), Wake::Start);
        assert!(queue.start().is_some());
        queue.push_row(3, 1).unwrap();
        assert!(queue.finish_batch(true));
        assert_eq!(queue.wake(), Wake::Nothing, "two more are expected");
        queue.push_row(1, 1).unwrap();
        assert_eq!(queue.wake(), Wake::Nothing);
        queue.push_row(2, 1).unwrap();
        assert_eq!(queue.wake(), Wake::Gathered);
        queue.end_gathering();
        assert_eq!(queue.start(), Some((vec![], vec![3, 1, 2])));
        assert!(queue.finish_batch(true));
        queue.push_row(1, 1).unwrap();
        queue.end_gathering();
        assert_eq!(queue.start(), Some((vec![], vec![1])), "the others did not come back");
        assert!(!queue.finish_batch(true), "one alone is not waited for");
    }

    #[test]
    fn waiting_rows_survive_death_of_writer_task() {
        let mut queue: WriteQueue<u8, ()> = WriteQueue::new();
        queue.push_unit(1);
        assert_eq!(queue.wake(), Wake::Start);
        queue.push_unit(2);
        queue.task_died();
        assert_eq!(queue.wake(), Wake::Start);
        assert_eq!(queue.start(), Some((vec![1, 2], vec![])));
    }
}
