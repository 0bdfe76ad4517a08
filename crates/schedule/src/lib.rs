//! Cron schedules: the expressions of authors, and the instants they name.
//!
//! A [`Schedule`] is an expression and a time zone. Expressions have six fields (second, minute, hour, day of
//! month, month, day of week from Sunday as 1; both kinds of days must match), five fields with their meaning
//! on Unix, or are one of five short names. Anything outside the grammar is refused with the field, the
//! position and a remedy.
//!
//! At changes of the clock:
//! - An expression that names its hours fires once for each local time it names. A local time in a gap fires
//!   at the first instant after the gap; a local time that occurs twice fires at the first of the two.
//! - An expression whose hour is a wildcard or has a step follows elapsed time: it fires at every instant
//!   whose local time matches, and at no other.
//!
//! ```
//! use chrono::{DateTime, Utc};
//! use svc_schedule::Schedule;
//!
//! let now: DateTime<Utc> = "2026-03-28T12:00:00Z".parse()?;
//! let schedule = Schedule::parse("30 2 * * *", "Europe/Berlin")?;
//! let next: Vec<String> = schedule.upcoming(now).take(3).map(|instant| instant.to_rfc3339()).collect();
//! // On 29 March the clock passes over 02:30: the schedule fires at the end of the gap.
//! assert_eq!(
//!     next,
//!     ["2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00", "2026-03-31T00:30:00+00:00"]
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here reads a clock or keeps state: the caller passes the instant to start from. Instants end with
//! the year 2100.

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

/// The time within which a new schedule must fire: five years of 365 days.
pub const HORIZON: TimeDelta = TimeDelta::days(5 * 365);

/// Number of instants in a preview.
const PREVIEW: usize = 5;

/// An expression in a time zone. Clones share both.
#[derive(Clone)]
pub struct Schedule(Arc<ScheduleParts>);

pub(crate) struct ScheduleParts {
    pub(crate) expression: CronExpression,
    pub(crate) zone: Zone,
}

impl Schedule {
    /// Parses an expression and a zone of the IANA database; a blank zone is UTC. It does not check that the
    /// schedule ever fires: a schedule that was valid when it was written stays valid.
    ///
    /// # Errors
    /// [`ScheduleError::Expression`] if the expression is outside the grammar; otherwise
    /// [`ScheduleError::Zone`] if the zone is unknown or an abbreviation.
    pub fn parse(expression: &str, zone: &str) -> Result<Self, ScheduleError> {
        let expression =
            CronExpression::parse(expression).map_err(|faults| ScheduleError::Expression { faults })?;
        Ok(Self(Arc::new(ScheduleParts { expression, zone: Zone::parse(zone)? })))
    }

    /// Parses a schedule that is new at `now`. Like [`Schedule::parse`], and the schedule must fire soon
    /// enough.
    ///
    /// # Errors
    /// Those of [`Schedule::parse`], and [`ScheduleError::NeverFires`] if no instant comes within
    /// [`HORIZON`].
    pub fn parse_at(expression: &str, zone: &str, now: DateTime<Utc>) -> Result<Self, ScheduleError> {
        let schedule = Self::parse(expression, zone)?;
        match schedule.next_after(now) {
            Some(next) if next - now <= HORIZON => Ok(schedule),
            _ => Err(ScheduleError::NeverFires { from: now }),
        }
    }

    /// Returns every reason to refuse a schedule that is new at `now`. A blank or invalid zone does not hide
    /// the faults of the expression.
    pub fn problems(expression: &str, zone: &str, now: DateTime<Utc>) -> Vec<ScheduleError> {
        let wrong_zone = Zone::parse(zone).err();
        let zone = if wrong_zone.is_some() { "" } else { zone };
        Self::parse_at(expression, zone, now).err().into_iter().chain(wrong_zone).collect()
    }

    /// Returns the expression as written.
    pub fn expression(&self) -> &str {
        &self.0.expression.source
    }

    /// Returns the name of the zone; `UTC` if it was blank.
    pub fn zone(&self) -> &str {
        self.0.zone.name()
    }

    /// Returns the first instant strictly after `after`, in whole seconds.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.upcoming(after).next()
    }

    /// Iterates over the instants strictly after `after`, in ascending order.
    pub fn upcoming(&self, after: DateTime<Utc>) -> Upcoming<'_> {
        Upcoming::new(self, after)
    }

    /// Returns the next five instants after `after`, for a preview; fewer at the end of the supported years.
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
