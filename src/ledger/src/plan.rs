//! The selection of past instants that still run.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

/// Instants looked at in one go, at most.
pub const LONGEST_WALK: usize = 200_000;

/// The policy for instants that are older than the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misfire {
    /// None of them runs.
    Skip,
    /// The newest of them runs.
    Latest,
    /// So many of them run, the oldest first.
    CatchUp(u32),
}

impl Misfire {
    /// The name in a channel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Latest => "latest",
            Self::CatchUp(_) => "catch_up",
        }
    }
}

/// Instants that do not run, in one row: none between them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Number of missed instants.
    pub count: u64,
    /// The first.
    pub oldest: DateTime<Utc>,
    /// The last; the row stands for it.
    pub newest: DateTime<Utc>,
    /// The policy that dropped them.
    pub policy: Misfire,
}

impl Missed {
    /// Returns the error message of the row.
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
}

/// The instants to write, and the new position of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisfirePlan {
    /// The instants that run, oldest first.
    pub fire: Vec<DateTime<Utc>>,
    /// Those that do not.
    pub missed: Option<Missed>,
    /// The first instant after now, which is not due yet; `None` when there is none.
    pub next: Option<DateTime<Utc>>,
}

/// Plans everything from a cursor, inclusive, to now, inclusive, in one go; `instants` are those of the schedule,
/// ascending. What can be long ago is better walked in stretches: see [`MisfirePlanner`].
pub fn plan(
    from: DateTime<Utc>,
    now: DateTime<Utc>,
    grace: Duration,
    policy: Misfire,
    instants: impl IntoIterator<Item = DateTime<Utc>>,
) -> MisfirePlan {
    let mut walk = MisfirePlanner::new(from, now, grace, policy);
    let mut instants = instants.into_iter();
    while !walk.through(&mut instants, LONGEST_WALK) {}
    walk.plan()
}

/// A plan in the making. Holds the instants that run and no others, however many have passed.
#[derive(Clone, Debug)]
pub struct MisfirePlanner {
    from: DateTime<Utc>,
    now: DateTime<Utc>,
    late_before: DateTime<Utc>,
    policy: Misfire,
    fire: Vec<DateTime<Utc>>,
    /// The newest of the late ones, while a newer one may come.
    latest: Option<DateTime<Utc>>,
    missed: Option<Missed>,
    next: Option<DateTime<Utc>>,
}

impl MisfirePlanner {
    /// Begins at a cursor. Late is what is older than `grace` at `now`.
    pub fn new(from: DateTime<Utc>, now: DateTime<Utc>, grace: Duration, policy: Misfire) -> Self {
        let grace = TimeDelta::from_std(grace).unwrap_or(TimeDelta::MAX);
        let late_before = now.checked_sub_signed(grace).unwrap_or(DateTime::<Utc>::MIN_UTC);
        Self { from, now, late_before, policy, fire: Vec::new(), latest: None, missed: None, next: None }
    }

    /// Looks at the next instants, at most so many; answers whether the walk is over.
    pub fn through(&mut self, instants: &mut impl Iterator<Item = DateTime<Utc>>, most: usize) -> bool {
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

    /// The plan of what was walked.
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
#[path = "plan_tests.rs"]
mod tests;
