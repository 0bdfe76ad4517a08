//! Cron schedules: what an author writes, and the instants it names.
//!
//! A [`Schedule`] is an expression and a time zone. Expressions have six fields (second, minute, hour, day of month,
//! month, day of week from Sunday as 1, and days must match both ways), five fields with the meaning they have on Unix,
//! or are one of five short names. Whatever is outside the grammar is refused with the field, the place and a remedy.
//!
//! Behaviour at changes of the clock:
//! - An expression that names its hours fires once for each local time it names. One that the clock passes over fires at the
//!   first instant after the gap; one that the clock shows twice fires at the first of the two.
//! - An expression whose hour is a wildcard or has a step follows elapsed time: it fires at every instant whose local
//!   time matches, and at no other.
//!
//! Nothing here reads a clock or keeps state: the instant to start from is handed in. Instants end with the year 2100.

mod error;
mod expression;
mod field;
mod upcoming;
mod zone;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use expression::CronExpression;
use zone::Zone;

pub use error::{ExpressionFault, ScheduleError};
pub use upcoming::Upcoming;

/// A new schedule has an instant within this time: five years of 365 days.
pub const HORIZON: TimeDelta = TimeDelta::days(5 * 365);

/// Number of instants in a preview.
const PREVIEW: usize = 5;

/// An expression in a time zone. A clone shares both.
#[derive(Clone)]
pub struct Schedule(Arc<ScheduleParts>);

pub(crate) struct ScheduleParts {
    pub(crate) expression: CronExpression,
    pub(crate) zone: Zone,
}

impl Schedule {
    /// Reads an expression and a zone of the IANA database; a blank zone is UTC. Does not ask whether it ever fires:
    /// one that was valid when it was written stays so.
    ///
    /// # Errors
    /// The expression is outside the grammar, or else the zone is unknown or an abbreviation.
    pub fn parse(expression: &str, zone: &str) -> Result<Self, ScheduleError> {
        let expression =
            CronExpression::parse(expression).map_err(|faults| ScheduleError::Expression { faults })?;
        Ok(Self(Arc::new(ScheduleParts { expression, zone: Zone::parse(zone)? })))
    }

    /// Reads a schedule that is new at `now`: as [`Schedule::parse`], and it must fire soon enough.
    ///
    /// # Errors
    /// As [`Schedule::parse`], or no instant comes within [`HORIZON`].
    pub fn parse_at(expression: &str, zone: &str, now: DateTime<Utc>) -> Result<Self, ScheduleError> {
        let schedule = Self::parse(expression, zone)?;
        match schedule.next_after(now) {
            Some(next) if next - now <= HORIZON => Ok(schedule),
            _ => Err(ScheduleError::NeverFires { from: now }),
        }
    }

    /// Every reason to refuse a schedule that is new at `now`; a blank or wrong zone keeps no fault of the expression
    /// back.
    pub fn problems(expression: &str, zone: &str, now: DateTime<Utc>) -> Vec<ScheduleError> {
        let wrong_zone = Zone::parse(zone).err();
        let zone = if wrong_zone.is_some() { "" } else { zone };
        Self::parse_at(expression, zone, now).err().into_iter().chain(wrong_zone).collect()
    }

    /// The expression as it was written.
    pub fn expression(&self) -> &str {
        &self.0.expression.source
    }

    /// The name of the zone, `UTC` where it was blank.
    pub fn zone(&self) -> &str {
        self.0.zone.name()
    }

    /// The first instant strictly after `after`, in whole seconds.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.upcoming(after).next()
    }

    /// The instants strictly after `after`, rising.
    pub fn upcoming(&self, after: DateTime<Utc>) -> Upcoming<'_> {
        Upcoming::new(self, after)
    }

    /// The five instants after `after` that a preview shows; fewer at the end of the years.
    pub fn next_fires(&self, after: DateTime<Utc>) -> Vec<DateTime<Utc>> {
        self.upcoming(after).take(PREVIEW).collect()
    }

    pub(crate) fn parts(&self) -> &ScheduleParts {
        &self.0
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.expression() == other.expression() && self.zone() == other.zone()
    }
}

impl Eq for Schedule {}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({:?} in {})", self.expression(), self.zone())
    }
}
