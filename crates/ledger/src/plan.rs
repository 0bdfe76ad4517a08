//! The misfire plan: the choice of the passed instants that still run.

use std::ops::RangeInclusive;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, SecondsFormat, TimeDelta, Utc};

/// Maximum number of instants walked in one step.
pub const LONGEST_WALK: usize = 200_000;

/// The policy for instants that are late by more than the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misfire {
    /// None of them runs.
    Skip,
    /// The newest of them runs.
    Latest,
    /// At most this many of them run, the oldest first.
    CatchUp(u32),
}

impl Misfire {
    /// Returns the name in the definition of a channel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Latest => "latest",
            Self::CatchUp(_) => "catch_up",
        }
    }
}

/// A range of instants that do not run, recorded as one row. No instant within the range runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Number of instants.
    pub count: u64,
    /// The first instant.
    pub oldest: DateTime<Utc>,
    /// The last instant. It is the instant of the row.
    pub newest: DateTime<Utc>,
    /// The policy that dropped them.
    pub policy: Misfire,
}

impl Missed {
    /// Returns the message of the row.
    pub fn message(&self) -> String {
        let text = |instant: DateTime<Utc>| instant.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        format!(
            "skipped {} missed occurrence(s) between {} and {} (misfire_policy \"{}\")",
            self.count,
            text(self.oldest),
            text(self.newest),
            self.policy.name()
        )
    }

    /// Returns the instants of the row with this message, from the first one to the last one.
    pub fn read_range(message: &str) -> Option<RangeInclusive<NaiveDateTime>> {
        let (_, instants) = message.split_once(" between ")?;
        let (oldest, instants) = instants.split_once(" and ")?;
        let (newest, _) = instants.split_once(' ')?;
        let read = |text| DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.naive_utc());
        Some(read(oldest)?..=read(newest)?)
    }
}

/// The rows to write and the next position of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisfirePlan {
    /// The instants that run, oldest first.
    pub fire: Vec<DateTime<Utc>>,
    /// The instants that do not run.
    pub missed: Option<Missed>,
    /// The first instant after now; `None` if there is none.
    pub next: Option<DateTime<Utc>>,
}

/// Plans all instants from a cursor to now, both inclusive, in one step. `instants` are those of the
/// schedule, ascending. For a cursor far in the past, walk in bounded steps with a [`MisfirePlanner`].
pub fn plan(
    from: DateTime<Utc>,
    now: DateTime<Utc>,
    grace: Duration,
    policy: Misfire,
    instants: impl IntoIterator<Item = DateTime<Utc>>,
) -> MisfirePlan {
    let mut walk = MisfirePlanner::new(from, now, grace, policy);
    let mut instants = instants.into_iter();
    while !walk.advance(&mut instants, LONGEST_WALK) {}
    walk.plan()
}

/// A plan under construction. It holds only the instants that run, however many have passed.
#[derive(Clone, Debug)]
pub struct MisfirePlanner {
    from: DateTime<Utc>,
    now: DateTime<Utc>,
    late_before: DateTime<Utc>,
    policy: Misfire,
    fire: Vec<DateTime<Utc>>,
    /// The newest late instant so far; a newer one may follow.
    latest: Option<DateTime<Utc>>,
    missed: Option<Missed>,
    next: Option<DateTime<Utc>>,
}

impl MisfirePlanner {
    /// Starts at a cursor. An instant is late if it is older than `grace` at `now`.
    pub fn new(from: DateTime<Utc>, now: DateTime<Utc>, grace: Duration, policy: Misfire) -> Self {
        let grace = TimeDelta::from_std(grace).unwrap_or(TimeDelta::MAX);
        let late_before = now.checked_sub_signed(grace).unwrap_or(DateTime::<Utc>::MIN_UTC);
        Self { from, now, late_before, policy, fire: Vec::new(), latest: None, missed: None, next: None }
    }

    /// Walks the next instants, at most `most`. Returns whether the walk has ended.
    pub fn advance(&mut self, instants: &mut impl Iterator<Item = DateTime<Utc>>, most: usize) -> bool {
        let mut walked = 0;
        for instant in instants.take(most) {
            walked += 1;
            if instant > self.now {
                self.next = Some(instant);
                return true;
            }
            if instant >= self.from {
                self.pass(instant);
            }
        }
        walked < most
    }

    /// Returns the plan of the walked instants.
    pub fn plan(mut self) -> MisfirePlan {
        self.settle_latest();
        MisfirePlan { fire: self.fire, missed: self.missed, next: self.next }
    }

    fn pass(&mut self, instant: DateTime<Utc>) {
        if instant >= self.late_before {
            self.settle_latest();
            self.fire.push(instant);
            return;
        }
        match self.policy {
            Misfire::Skip => self.miss(instant),
            Misfire::Latest => {
                if let Some(older) = self.latest.replace(instant) {
                    self.miss(older);
                }
            }
            Misfire::CatchUp(most) if self.fire.len() < most as usize => self.fire.push(instant),
            Misfire::CatchUp(_) => self.miss(instant),
        }
    }

    fn settle_latest(&mut self) {
        self.fire.extend(self.latest.take());
    }

    fn miss(&mut self, instant: DateTime<Utc>) {
        let first = Missed { count: 0, oldest: instant, newest: instant, policy: self.policy };
        let missed = self.missed.get_or_insert(first);
        missed.count += 1;
        missed.newest = instant;
    }
}

#[cfg(test)]
mod tests;
