//! The iteration over the instants of a schedule.

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};

use crate::Schedule;

/// The last year with instants: the limit of the library that enumerates.
const LAST_YEAR: i32 = 2100;

/// The instants of a schedule after a given one, ascending, each once.
#[derive(Clone, Debug)]
pub struct Upcoming<'s> {
    schedule: &'s Schedule,
    after: DateTime<Utc>,
    probes: u64,
}

impl<'s> Upcoming<'s> {
    pub(crate) fn new(schedule: &'s Schedule, after: DateTime<Utc>) -> Self {
        Self { schedule, after, probes: 0 }
    }

    /// Returns the number of local times examined so far, as a measure of the work done.
    pub const fn probes(&self) -> u64 {
        self.probes
    }

    fn next_local(&mut self, local: NaiveDateTime) -> Option<NaiveDateTime> {
        self.probes += 1;
        self.schedule.parts().expression.next_local(local)
    }

    /// Finds the next instant of an expression that names its hours. Local times that resolve to the same
    /// instant count once.
    fn next_of_named_hours(&mut self) -> Option<DateTime<Utc>> {
        let zone = self.schedule.parts().zone;
        let mut local = zone.furthest(self.after);
        loop {
            local = self.next_local(local)?;
            let at = zone.resolve(local)?;
            // The first one always is, unless the clock is set back twice within one repetition.
            if at > self.after {
                return Some(at);
            }
        }
    }

    /// Finds the next instant of an expression whose hour is a wildcard or has a step: every instant whose
    /// local time matches, so a change of the clock causes neither a gap nor a burst.
    fn next_of_elapsed_time(&mut self) -> Option<DateTime<Utc>> {
        let zone = self.schedule.parts().zone;
        let mut from = self.after;
        let mut local = zone.clock(from);
        loop {
            let at = self.next_local(local)?.and_utc() - zone.offset(from);
            let Some(change) = zone.change(from, at) else { return Some(at) };
            from = change;
            local = zone.clock(from) - TimeDelta::nanoseconds(1);
        }
    }
}

impl Iterator for Upcoming<'_> {
    type Item = DateTime<Utc>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.after.year() > LAST_YEAR {
            return None;
        }
        self.after = self.after.max(DateTime::UNIX_EPOCH - TimeDelta::seconds(1));
        let next = match self.schedule.parts().expression.follows_elapsed_time {
            true => self.next_of_elapsed_time(),
            false => self.next_of_named_hours(),
        };
        self.after = next.unwrap_or(DateTime::<Utc>::MAX_UTC);
        next
    }
}

impl std::iter::FusedIterator for Upcoming<'_> {}
