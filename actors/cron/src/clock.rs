//! The database clock, as far as this node knows it without asking.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

/// A correction that whoever sleeps until an instant has to know of.
const JUMP: TimeDelta = TimeDelta::seconds(1);

/// A reading of the database clock, advanced by the node's own monotonic clock.
///
/// It never shows more than the database does, so nothing planned by it is early: an answer was given before
/// it was received. A better answer moves it forward; one that contradicts it, because a clock was set,
/// replaces it.
#[derive(Debug, Default)]
pub(crate) struct DatabaseClock {
    known: Mutex<Option<Reading>>,
    jumped: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    at: Instant,
    shown: NaiveDateTime,
}

impl Reading {
    fn time_at(self, instant: Instant) -> NaiveDateTime {
        plus(self.shown, instant.saturating_duration_since(self.at))
    }

    /// Combines a reading with one more answer of the database.
    fn combine(known: Option<Self>, sent: Instant, received: Instant, shown: NaiveDateTime) -> Self {
        let answer = Self { at: received, shown };
        let latest = plus(shown, received.saturating_duration_since(sent));
        known.filter(|known| (shown..=latest).contains(&known.time_at(received))).unwrap_or(answer)
    }
}

impl DatabaseClock {
    /// Takes an answer into account.
    pub(crate) fn record_reading(&self, sent: Instant, shown: NaiveDateTime) {
        let received = Instant::now();
        let mut reading = self.lock();
        let before = *reading;
        let better = Reading::combine(before, sent, received, shown);
        *reading = Some(better);
        drop(reading);
        if before.is_some_and(|before| (better.time_at(received) - before.time_at(received)).abs() > JUMP) {
            self.jumped.notify_waiters();
        }
    }

    /// Until the clock turns out to have been set after this call: to be made before the clock is read.
    pub(crate) fn jump(&self) -> Notified<'_> {
        self.jumped.notified()
    }

    /// Returns the database's time now; `None` before the first answer.
    pub(crate) fn now(&self) -> Option<DateTime<Utc>> {
        self.lock().map(|known| known.time_at(Instant::now()).and_utc())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reading>> {
        self.known.lock()
    }
}

fn plus(instant: NaiveDateTime, duration: Duration) -> NaiveDateTime {
    let delta = TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
    instant.checked_add_signed(delta).unwrap_or(NaiveDateTime::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn displayed_time(millis: i64) -> NaiveDateTime {
        DateTime::from_timestamp_millis(1_800_000_000_000 + millis).unwrap().naive_utc()
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_shows_more_than_the_database() {
        let clock = DatabaseClock::default();
        assert_eq!(clock.now(), None);
        // The database shows the milliseconds since `start`; an answer takes 100 ms and was given somewhere
        // in it.
        let start = Instant::now();
        for given_after in [0, 100, 40, 99, 1] {
            let begin = Instant::now();
            let answer = displayed_time(begin.duration_since(start).as_millis() as i64 + given_after);
            tokio::time::advance(Duration::from_millis(100)).await;
            clock.record_reading(begin, answer);
            let truth = displayed_time(start.elapsed().as_millis() as i64).and_utc();
            assert!(clock.now().unwrap() <= truth);
        }
        // The answer given last of all is known exactly from then on.
        assert_eq!(clock.now().unwrap(), displayed_time(start.elapsed().as_millis() as i64).and_utc());
    }

    #[tokio::test(start_paused = true)]
    async fn clock_set_back_or_forward_is_followed() {
        let clock = DatabaseClock::default();
        for millis in [0, 60_000, 5_000] {
            clock.record_reading(Instant::now(), displayed_time(millis));
            assert_eq!(clock.now().unwrap(), displayed_time(millis).and_utc());
        }
    }
}
