//! The events of the last minutes, for viewers that come back.

use std::collections::VecDeque;

use bytes::Bytes;

/// Events that are kept: one a second for five minutes.
const MOST_EVENTS: usize = 300;
/// Bytes that are kept.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The last events, each with its number; the numbers have no gap.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    events: VecDeque<Bytes>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
}

impl Journal {
    /// Adds the event with the next number.
    pub(crate) fn push(&mut self, event: Bytes) {
        self.last += 1;
        self.bytes += event.len();
        self.events.push_back(event);
        while self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Returns the number of the next event.
    pub(crate) fn next(&self) -> u64 {
        self.last + 1
    }

    /// Forgets the events: what comes next does not follow them.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.bytes = 0;
        self.last += 1;
    }

    /// Returns the events after a number; `None` if some of them are gone.
    pub(crate) fn after(&self, number: u64) -> Option<VecDeque<Bytes>> {
        let missed = usize::try_from(self.last.checked_sub(number)?).ok()?;
        let first = self.events.len().checked_sub(missed)?;
        Some(self.events.iter().skip(first).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(events: u64) -> Journal {
        let mut journal = Journal::default();
        (0..events).for_each(|_| journal.push(Bytes::from_static(b"x")));
        journal
    }

    #[test]
    fn missed_events_are_returned_while_kept() {
        let journal = filled(400);
        assert_eq!(journal.after(400).map(|events| events.len()), Some(0));
        assert_eq!(journal.after(390).map(|events| events.len()), Some(10));
        assert_eq!(journal.after(100).map(|events| events.len()), Some(300));
        assert_eq!(journal.after(99), None);
        assert_eq!(journal.after(401), None, "a number of the future");
    }

    #[test]
    fn nothing_follows_across_a_pause() {
        let mut journal = filled(10);
        journal.clear();
        assert_eq!(journal.after(10), None);
        journal.push(Bytes::from_static(b"y"));
        assert_eq!((journal.after(11).map(|events| events.len()), journal.after(10)), (Some(1), None));
    }

    #[test]
    fn large_events_are_kept_by_their_bytes() {
        let mut journal = Journal::default();
        (0..20).for_each(|_| journal.push(Bytes::from(vec![0; 1024 * 1024])));
        assert_eq!((journal.events.len(), journal.after(12).is_some()), (8, true));
        assert_eq!(journal.after(11), None);
    }
}
