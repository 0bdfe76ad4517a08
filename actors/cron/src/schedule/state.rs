//! The next step of a schedule: pure, no clock, no I/O.

use chrono::{DateTime, TimeDelta, Utc};
use svc_ledger::{AlignRequest, Cursor, MisfirePlan};
use svc_store::Backend;

use crate::schedule_handle::ScheduleSpec;

/// Maximum lag of a cursor that another node follows, with room for a slow answer.
const FOLLOWED: TimeDelta = TimeDelta::seconds(5);

/// Tolerance by which a cursor may be ahead of its next instant: the estimates of the database clock on two
/// nodes differ by less.
const AHEAD: TimeDelta = TimeDelta::seconds(5);

/// The room for a slow answer: none if no other node can follow the cursor, so that a schedule back from
/// quarantine begins at the first instant after now.
pub(crate) const fn answer_allowance(backend: Backend) -> TimeDelta {
    match backend {
        Backend::Sqlite => TimeDelta::zero(),
        Backend::Postgres => FOLLOWED,
    }
}

/// The next step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleStep {
    /// Agree with the ledger on the position of the schedule.
    Align,
    /// Wait until this instant of the database clock.
    Wait(DateTime<Utc>),
    /// Put what has passed on record.
    Write,
    /// Turn the cursor back: the database clock was set back behind it, and instants before the cursor are
    /// due again.
    TurnBack,
}

/// Decides the next step from the cursor as it was last read.
pub(crate) fn next_step(spec: &ScheduleSpec, cursor: Option<&Cursor>, now: DateTime<Utc>) -> ScheduleStep {
    let Some(cursor) = cursor else { return ScheduleStep::Align };
    let is_own = cursor.config_hash == spec.hash && cursor.channel_version == spec.channel.channel_version;
    if cursor.paused_at.is_some() || !is_own {
        return ScheduleStep::Align;
    }
    let due = cursor.next_fire_at.and_utc();
    if due <= now {
        ScheduleStep::Write
    } else if latest(spec, now).is_some_and(|latest| latest < due) {
        ScheduleStep::TurnBack
    } else {
        ScheduleStep::Wait(due)
    }
}

/// The latest instant at which a cursor can be that was moved by the clock as it is now.
fn latest(spec: &ScheduleSpec, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    spec.schedule.next_after(now + AHEAD)
}

/// Returns the request to restart the cursor after `now` once the database clock was set back; the ledger
/// ignores it if another node was faster.
pub(crate) fn turn_back(spec: &ScheduleSpec, now: DateTime<Utc>) -> Option<AlignRequest> {
    let latest = latest(spec, now)?.naive_utc();
    Some(AlignRequest { latest: Some(latest), ..align(spec, None, now)? })
}

/// Returns the request to align the cursor, with the first instant after `now`; `None` if there is no such
/// instant. `rested` is set for a schedule that has rested: a cursor further behind than this was moved by no
/// node meanwhile and starts anew.
pub(crate) fn align(
    spec: &ScheduleSpec,
    rested: Option<TimeDelta>,
    now: DateTime<Utc>,
) -> Option<AlignRequest> {
    Some(AlignRequest {
        channel_id: spec.channel.channel_id.clone(),
        version: spec.channel.channel_version,
        config_hash: spec.hash.clone(),
        next_fire_at: spec.schedule.next_after(now)?.naive_utc(),
        forsaken_before: rested.map(|followed| (now - followed).naive_utc()),
        latest: None,
    })
}

/// Returns the part of a plan that fits into one write: all instants that a misfire policy makes up for, and
/// at most `most` of the later ones. The cursor then is at the first instant that is left.
pub(crate) fn truncate_plan(mut plan: MisfirePlan, most: usize) -> MisfirePlan {
    // The instants that a policy makes up for belong to the same write as the count of those it dropped.
    let missed =
        plan.missed.map_or(0, |missed| plan.fire.partition_point(|instant| *instant < missed.newest));
    if let Some(left) = plan.fire.get(missed + most).copied() {
        plan.fire.truncate(missed + most);
        plan.next = Some(left);
    }
    plan
}

#[cfg(test)]
mod tests {
    use svc_ledger::{Misfire, Missed};
    use svc_schedule::Schedule;
    use svc_store::ChannelFacts;

    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn spec(version: i64, hash: &str) -> ScheduleSpec {
        ScheduleSpec {
            channel: ChannelFacts {
                channel_id: "c".into(),
                channel_name: "c".into(),
                channel_version: version,
                workflow_id: None,
            },
            schedule: Schedule::parse("* * * * * *", "").unwrap(),
            misfire: Misfire::Latest,
            singleton: None,
            hash: hash.into(),
        }
    }

    fn cursor(version: i64, hash: &str, due_in: i64) -> Cursor {
        Cursor {
            channel_id: "c".into(),
            channel_version: version,
            config_hash: hash.into(),
            next_fire_at: (now() + TimeDelta::seconds(due_in)).naive_utc(),
            paused_at: None,
        }
    }

    #[test]
    fn schedule_waits_for_its_cursor_then_writes() {
        let spec = spec(2, "a");
        let next = |due_in| next_step(&spec, Some(&cursor(2, "a", due_in)), now());
        assert_eq!(next(3), ScheduleStep::Wait(now() + TimeDelta::seconds(3)));
        assert_eq!(next(0), ScheduleStep::Write, "the instant itself is due");
        assert_eq!(next(-86_400), ScheduleStep::Write);
    }

    #[test]
    fn cursor_ahead_of_coming_instants_is_turned_back() {
        let every_second = spec(2, "a");
        assert_eq!(next_step(&every_second, Some(&cursor(2, "a", 3_600)), now()), ScheduleStep::TurnBack);
        assert_eq!(
            next_step(&every_second, Some(&cursor(2, "a", 5)), now()),
            ScheduleStep::Wait(now() + TimeDelta::seconds(5))
        );
        let hourly = ScheduleSpec { schedule: Schedule::parse("0 0 * * * *", "").unwrap(), ..spec(2, "a") };
        let next = hourly.schedule.next_after(now()).unwrap();
        let due = Cursor { next_fire_at: next.naive_utc(), ..cursor(2, "a", 0) };
        assert_eq!(next_step(&hourly, Some(&due), now()), ScheduleStep::Wait(next), "however far away it is");
        let turned = turn_back(&every_second, now()).unwrap();
        assert_eq!(turned.next_fire_at, (now() + TimeDelta::seconds(1)).naive_utc());
        assert_eq!(turned.latest, Some((now() + TimeDelta::seconds(6)).naive_utc()));
    }

    #[test]
    fn unknown_paused_or_changed_schedule_aligns_first() {
        let spec = spec(2, "a");
        let paused = Cursor { paused_at: Some(now().naive_utc()), ..cursor(2, "a", -1) };
        let others = [cursor(2, "b", -1), cursor(1, "a", -1), cursor(3, "a", -1)];
        for seen in [None, Some(paused)].into_iter().chain(others.map(Some)) {
            assert_eq!(next_step(&spec, seen.as_ref(), now()), ScheduleStep::Align, "{seen:?}");
        }
    }

    #[test]
    fn bounded_write_keeps_missed_with_caught_up_instants() {
        let at = |second: i64| now() + TimeDelta::seconds(second);
        let plan = |seconds: &[i64], missed: Option<i64>| MisfirePlan {
            fire: seconds.iter().copied().map(at).collect(),
            missed: missed.map(|newest| Missed {
                count: 1,
                oldest: at(newest),
                newest: at(newest),
                policy: Misfire::CatchUp(2),
            }),
            next: Some(at(100)),
        };
        let bound = |plan: MisfirePlan| {
            let plan = truncate_plan(plan, 2);
            (plan.fire.len(), plan.next.unwrap())
        };
        assert_eq!(bound(plan(&[1, 2], None)), (2, at(100)));
        assert_eq!(bound(plan(&[1, 2, 3], None)), (2, at(3)));
        assert_eq!(bound(plan(&[1, 2, 4, 5], Some(3))), (4, at(100)), "two made up for, two after");
        assert_eq!(bound(plan(&[1, 2, 4, 5, 6], Some(3))), (4, at(6)));
        assert_eq!(
            bound(plan(&[4, 5, 6], Some(3))),
            (2, at(6)),
            "the newest of the late ones is one of them"
        );
    }

    #[test]
    fn a_schedule_begins_after_now() {
        let begins = align(&spec(2, "a"), None, now()).unwrap();
        assert_eq!(begins.next_fire_at, (now() + TimeDelta::seconds(1)).naive_utc());
        assert_eq!(begins.forsaken_before, None, "a restart goes on where the cursor stands");
        for (backend, behind) in [(Backend::Sqlite, TimeDelta::zero()), (Backend::Postgres, FOLLOWED)] {
            let rested = align(&spec(2, "a"), Some(answer_allowance(backend)), now()).unwrap();
            assert_eq!(rested.forsaken_before, Some((now() - behind).naive_utc()), "{backend}");
        }
    }
}
