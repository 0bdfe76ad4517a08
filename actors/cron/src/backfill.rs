//! The plan of a backfill from a schedule and what is known of it.

use chrono::{NaiveDateTime, TimeDelta};
pub use svc_ledger::{BackfillRange, BackfillRefusal};
use svc_ledger::{LONGEST_WALK, plan_backfill};
use svc_schedule::Schedule;
use svc_store::ScheduleHistory;

/// Returns the instants of a range that never ran, ascending, without those that the schedule still puts on record by
/// itself. Walks the instants of the range, so it is no work for a thread that serves.
///
/// # Errors
/// [`BackfillRefusal`] for a range that ends before it begins, is too long, or begins before all that is known.
pub fn plan_missed_instants(
    schedule: &Schedule,
    range: BackfillRange,
    history: &ScheduleHistory,
) -> Result<Vec<NaiveDateTime>, BackfillRefusal> {
    range.check(history.known_since)?;
    let before = range.from.checked_sub_signed(TimeDelta::seconds(1)).unwrap_or(range.from);
    let instants = schedule
        .upcoming(before.and_utc())
        .map(|instant| instant.naive_utc())
        .skip_while(|instant| *instant < range.from)
        .take_while(|instant| *instant <= range.until && *instant < history.live_from);
    plan_backfill(instants, &history.kept, LONGEST_WALK)
}

#[cfg(test)]
mod tests {
    use svc_ledger::OccurrenceStatus;

    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(&format!("2026-01-02 {text}"), "%Y-%m-%d %H:%M:%S").unwrap()
    }

    #[test]
    fn instants_behind_cursor_are_planned_once() {
        let schedule = Schedule::parse("*/10 * * * *", "UTC").unwrap();
        let kept = [
            (time("10:10:00"), Some(OccurrenceStatus::Completed)),
            (time("10:20:00"), Some(OccurrenceStatus::SkippedMisfire)),
        ];
        let history = ScheduleHistory {
            known_since: Some(time("10:00:00")),
            live_from: time("10:50:00"),
            kept: kept.into_iter().collect(),
        };
        let range =
            |from, until| BackfillRange { from: time(from), until: time(until), assume_missed: false };
        let plan = |from, until| plan_missed_instants(&schedule, range(from, until), &history);
        let expected = ["10:00:00", "10:20:00", "10:30:00"].map(time);
        assert_eq!(plan("10:00:00", "10:30:00").unwrap(), expected, "both ends count");
        assert_eq!(plan("10:30:01", "23:00:00").unwrap(), [time("10:40:00")], "the cursor is at 10:50");
        assert_eq!(plan("09:59:59", "10:30:00"), Err(BackfillRefusal::BeginsBeforeOldest(time("10:00:00"))));
        assert_eq!(plan("10:30:00", "10:00:00"), Err(BackfillRefusal::Reversed));
    }
}
