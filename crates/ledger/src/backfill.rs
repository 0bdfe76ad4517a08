//! The plan of a backfill: the instants of a range that never ran.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use svc_model::Timestamp;

use crate::status::OccurrenceStatus;

/// Maximum number of instants of the range of a backfill.
pub const MOST_BACKFILLED: usize = 10_000;

/// A range of instants to be made up for, in UTC, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillRange {
    /// The first instant.
    pub from: NaiveDateTime,
    /// The last instant.
    pub until: NaiveDateTime,
    /// True if instants before the oldest kept occurrence count as missed.
    pub assume_missed: bool,
}

/// The reason why a range is not backfilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackfillRefusal {
    /// The range ends before it begins.
    #[error("the range of 'from' and 'until' ends before it begins")]
    Reversed,
    /// No occurrence of the schedule is kept.
    #[error(
        "no ended occurrence of this schedule is kept, so it is unknown whether these instants ran; \
         assume_missed takes them as missed"
    )]
    NothingKept,
    /// The range begins before the oldest kept occurrence.
    #[error(
        "the range begins before the oldest kept occurrence, {}: older ones may have run; begin there, or \
         assume_missed takes them as missed",
        show_instant(.0)
    )]
    BeginsBeforeOldest(NaiveDateTime),
    /// The range has too many instants.
    #[error("the range has {0} instants, and {most} are the most: split it", most = MOST_BACKFILLED)]
    TooMany(usize),
    /// The range has so many instants that they are not counted further.
    #[error("the range has {0} instants or more, and {most} are the most: split it", most = MOST_BACKFILLED)]
    Countless(usize),
}

fn show_instant(instant: &NaiveDateTime) -> Timestamp {
    Timestamp::from_naive(*instant)
}

impl BackfillRange {
    /// Checks the range against the instant since which every occurrence of the schedule is known.
    ///
    /// # Errors
    /// [`BackfillRefusal::Reversed`], or, unless the caller assumes that all was missed,
    /// [`BackfillRefusal::NothingKept`] and [`BackfillRefusal::BeginsBeforeOldest`].
    pub fn check(&self, known_since: Option<NaiveDateTime>) -> Result<(), BackfillRefusal> {
        if self.until < self.from {
            return Err(BackfillRefusal::Reversed);
        }
        match known_since {
            _ if self.assume_missed => Ok(()),
            None => Err(BackfillRefusal::NothingKept),
            Some(oldest) if self.from < oldest => Err(BackfillRefusal::BeginsBeforeOldest(oldest)),
            Some(_) => Ok(()),
        }
    }
}

/// The rows of a schedule by their instants. A status that no rule knows is `None`.
pub type KeptOccurrences = HashMap<NaiveDateTime, Option<OccurrenceStatus>>;

/// Returns the instants that never ran: those without a row, and those that were skipped. `instants` are those of the
/// schedule within the range, ascending. The instants that the row of a misfire sums up have no row of their own.
///
/// # Errors
/// [`BackfillRefusal::TooMany`] with the number of instants, [`BackfillRefusal::Countless`] for `most_counted` or more.
pub fn plan_backfill(
    instants: impl IntoIterator<Item = NaiveDateTime>,
    kept: &KeptOccurrences,
    most_counted: usize,
) -> Result<Vec<NaiveDateTime>, BackfillRefusal> {
    let (mut count, mut missed) = (0, Vec::new());
    for instant in instants.into_iter().take(most_counted) {
        count += 1;
        let is_missed =
            kept.get(&instant).is_none_or(|status| status.is_some_and(OccurrenceStatus::is_skipped));
        if is_missed && count <= MOST_BACKFILLED {
            missed.push(instant);
        }
    }
    match count {
        ..=MOST_BACKFILLED => Ok(missed),
        count if count < most_counted => Err(BackfillRefusal::TooMany(count)),
        count => Err(BackfillRefusal::Countless(count)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn minute(number: i64) -> NaiveDateTime {
        NaiveDateTime::default() + TimeDelta::minutes(number)
    }

    fn plan(minutes: i64, kept: &[(i64, Option<OccurrenceStatus>)]) -> Result<Vec<i64>, BackfillRefusal> {
        let kept = kept.iter().map(|(number, status)| (minute(*number), *status)).collect();
        let planned = plan_backfill((0..minutes).map(minute), &kept, 20_000)?;
        Ok(planned.into_iter().map(|instant| (instant - minute(0)).num_minutes()).collect())
    }

    #[test]
    fn only_instants_without_a_run_are_planned() {
        use OccurrenceStatus::{Completed, Failed, Pending, Running, SkippedMisfire, SkippedSingleton};
        for (kept, expected) in [
            (vec![], vec![0, 1, 2, 3]),
            (vec![(1, Some(Completed))], vec![0, 2, 3]),
            (vec![(0, Some(Pending)), (1, Some(Running)), (2, Some(Failed)), (3, None)], vec![]),
            (vec![(0, Some(SkippedMisfire)), (2, Some(SkippedSingleton))], vec![0, 1, 2, 3]),
            // The row of a misfire at 2 sums up 0 and 1.
            (vec![(2, Some(SkippedMisfire)), (3, Some(Completed))], vec![0, 1, 2]),
            // A run by hand lies between two instants.
            (vec![(9, Some(Completed))], vec![0, 1, 2, 3]),
        ] {
            assert_eq!(plan(4, &kept).unwrap(), expected, "{kept:?}");
        }
    }

    #[test]
    fn long_range_is_refused_with_its_count() {
        assert_eq!(plan(10_000, &[]).unwrap().len(), 10_000);
        assert_eq!(plan(10_001, &[]), Err(BackfillRefusal::TooMany(10_001)));
        assert_eq!(plan(90_000, &[]), Err(BackfillRefusal::Countless(20_000)));
        assert!(BackfillRefusal::Countless(20_000).to_string().contains("20000 instants or more"));
        let message = BackfillRefusal::TooMany(10_001).to_string();
        assert!(message.contains("10001 instants") && message.contains("10000"), "{message}");
    }

    #[test]
    fn range_needs_known_occurrences_unless_missed() {
        let range = |from, until, assume_missed| BackfillRange {
            from: minute(from),
            until: minute(until),
            assume_missed,
        };
        let oldest = Some(minute(5));
        for (range, known_since, expected) in [
            (range(5, 9, false), oldest, Ok(())),
            (range(5, 5, false), oldest, Ok(())),
            (range(4, 9, false), oldest, Err(BackfillRefusal::BeginsBeforeOldest(minute(5)))),
            (range(4, 9, true), oldest, Ok(())),
            (range(5, 9, false), None, Err(BackfillRefusal::NothingKept)),
            (range(5, 9, true), None, Ok(())),
            (range(9, 5, true), oldest, Err(BackfillRefusal::Reversed)),
        ] {
            assert_eq!(range.check(known_since), expected, "{range:?}");
        }
        let message = BackfillRefusal::BeginsBeforeOldest(minute(5)).to_string();
        assert!(message.contains("1970-01-01T00:05:00"), "{message}");
    }
}
