//! A queue with delayed entries: pure, no clock, no I/O.

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;

/// A first-in, first-out queue with a set of entries that are not due yet.
#[derive(Debug)]
pub(crate) struct DelayQueue<T> {
    ready: VecDeque<T>,
    later: BTreeMap<(Instant, u64), T>,
    arrivals: u64,
}

/// The result of taking from the queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PopResult<T> {
    /// An entry, and whether another one is available now.
    Job(T, bool),
    /// No entry is due before this instant.
    At(Instant),
    /// The queue is empty.
    Nothing,
}

impl<T> DelayQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { ready: VecDeque::new(), later: BTreeMap::new(), arrivals: 0 }
    }

    /// Appends an entry.
    pub(crate) fn push(&mut self, job: T) {
        self.ready.push_back(job);
    }

    /// Adds an entry that is due at `at`.
    pub(crate) fn push_later(&mut self, at: Instant, job: T) {
        self.later.insert((at, self.arrivals), job);
        self.arrivals += 1;
    }

    /// Takes the next entry. A delayed entry that is due goes first, because it waited longer.
    pub(crate) fn pop(&mut self, now: Instant) -> PopResult<T> {
        let due = self.later.first_entry().filter(|first| first.key().0 <= now).map(|first| first.remove());
        if let Some(job) = due.or_else(|| self.ready.pop_front()) {
            return PopResult::Job(
                job,
                !self.ready.is_empty() || self.next_later().is_some_and(|at| at <= now),
            );
        }
        self.next_later().map_or(PopResult::Nothing, PopResult::At)
    }

    /// Takes out the entries for which `is_wanted` is true, due or not.
    pub(crate) fn extract(&mut self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let (mut taken, mut kept) = (Vec::new(), VecDeque::with_capacity(self.ready.len()));
        for job in self.ready.drain(..) {
            if is_wanted(&job) {
                taken.push(job);
            } else {
                kept.push_back(job);
            }
        }
        self.ready = kept;
        let later: Vec<_> =
            self.later.iter().filter(|(_, job)| is_wanted(job)).map(|(place, _)| *place).collect();
        taken.extend(later.iter().filter_map(|place| self.later.remove(place)));
        taken
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.later.len()
    }

    /// Counts the entries that are available now.
    pub(crate) fn count_due(&self, now: Instant) -> usize {
        self.ready.len() + self.later.range(..=(now, u64::MAX)).count()
    }

    fn next_later(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_keeps_the_order_of_arrival() {
        let (mut line, now) = (DelayQueue::new(), Instant::now());
        line.push(1);
        line.push(2);
        assert_eq!(line.pop(now), PopResult::Job(1, true));
        assert_eq!(line.pop(now), PopResult::Job(2, false));
        assert_eq!(line.pop(now), PopResult::Nothing);
    }

    #[test]
    fn extracted_entries_leave_the_others_in_order() {
        let (mut line, now) = (DelayQueue::new(), Instant::now());
        (1..=4).for_each(|job| line.push(job));
        line.push_later(now, 6);
        line.push_later(now, 5);
        assert_eq!(line.extract(|job| job % 2 == 0), [2, 4, 6]);
        let left: Vec<_> = std::iter::from_fn(|| match line.pop(now) {
            PopResult::Job(job, _) => Some(job),
            _ => None,
        })
        .collect();
        assert_eq!(left, [5, 1, 3]);
    }

    #[test]
    fn delayed_job_blocks_none_and_goes_first_later() {
        let (mut line, now) = (DelayQueue::new(), Instant::now());
        let due = now + Duration::from_secs(1);
        line.push_later(due, 1);
        line.push_later(due, 2);
        line.push(3);
        assert_eq!([now, due].map(|at| line.count_due(at)), [1, 3]);
        assert_eq!(line.pop(now), PopResult::Job(3, false));
        assert_eq!(line.pop(now), PopResult::At(due));
        line.push(4);
        assert_eq!(line.pop(due), PopResult::Job(1, true));
        assert_eq!(line.pop(due), PopResult::Job(2, true));
        assert_eq!(line.pop(due), PopResult::Job(4, false));
    }
}
