use chrono::DateTime;
use svc_model::Timestamp;

use super::*;
use crate::plan::Misfire;

fn time_at(second: i64) -> NaiveDateTime {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap().naive_utc()
}

/// Asks at second 100 about second 60 of a schedule whose cursor has passed it.
fn facts() -> InstantFacts {
    InstantFacts {
        channel: "tick".into(),
        at: time_at(60),
        now: time_at(100),
        active: Some(ActiveVersion { version: 3, since: time_at(0) }),
        cursor: cursor(120, None),
        exact: None,
        following: None,
        previous: None,
        waiting_before: 0,
        holders: Vec::new(),
        pause: None,
        quarantine: None,
        is_due: Some(true),
        next: Some(time_at(120)),
        clock_offset: TimeDelta::zero(),
        kept_since: None,
    }
}

fn cursor(next: i64, paused: Option<i64>) -> Option<Cursor> {
    Some(Cursor {
        channel_id: "tick".into(),
        channel_version: 3,
        config_hash: "h".into(),
        next_fire_at: time_at(next),
        paused_at: paused.map(time_at),
    })
}

fn row(status: &str) -> InstantRow {
    InstantRow {
        id: "o-1".into(),
        scheduled_for: time_at(60),
        trigger: "cron".into(),
        status: status.into(),
        attempt: 1,
        claimed_by: Some("node-a".into()),
        claimed_until: Some(time_at(130)),
        trace_id: None,
        error_message: None,
        started_at: Some(time_at(61)),
        completed_at: Some(time_at(62)),
        awaited_channel: None,
    }
}

fn with_pending_row(change: impl FnOnce(&mut InstantRow)) -> InstantFacts {
    let mut pending = row("pending");
    change(&mut pending);
    InstantFacts { exact: Some(pending), ..facts() }
}

fn recorded(status: &str) -> InstantFacts {
    InstantFacts { exact: Some(row(status)), ..facts() }
}

fn failed(status: &str, message: &str) -> InstantFacts {
    InstantFacts { exact: Some(InstantRow { error_message: Some(message.into()), ..row(status) }), ..facts() }
}

/// The row of missed instants from second 30 to second 90.
fn missed() -> InstantRow {
    let (oldest, newest) = (time_at(30).and_utc(), time_at(90).and_utc());
    let message = Missed { count: 3, oldest, newest, policy: Misfire::Skip }.message();
    InstantRow { scheduled_for: time_at(90), error_message: Some(message), ..row("skipped_misfire") }
}

fn pause() -> Option<ChannelPause> {
    Some(ChannelPause {
        since: Timestamp::from_naive(time_at(50)),
        until: Some(Timestamp::from_naive(time_at(900))),
        by: "ops".into(),
        reason: "the bank is down".into(),
    })
}

fn holder() -> SlotHolder {
    SlotHolder {
        occurrence: "o-0".into(),
        channel: "slow".into(),
        node: Some("node-b".into()),
        since: Some(time_at(10)),
        until: None,
    }
}

/// Each line has facts, the expected reason and a part of the expected sentence.
type Line = (InstantFacts, InstantReason, &'static str);

fn check(lines: impl IntoIterator<Item = Line>) {
    for (facts, reason, part) in lines {
        let explained = facts.explain();
        assert_eq!(explained.reason, reason, "{facts:?}");
        assert!(explained.sentence.contains(part), "{part}: {}", explained.sentence);
        assert!(explained.sentence.ends_with('.'), "{}", explained.sentence);
    }
}

/// Asks about now, which the schedule does not name.
fn now(facts: InstantFacts) -> InstantFacts {
    InstantFacts { at: time_at(100), is_due: Some(false), ..facts }
}

#[test]
fn row_gives_reason_of_its_instant() {
    let held = failed("skipped_singleton", "key held");
    let lost = InstantFacts { now: time_at(131), ..recorded("running") };
    let quarantined = InstantFacts { quarantine: Some("no secret".into()), ..recorded("pending") };
    let calling = with_pending_row(|row| row.awaited_channel = Some("bank".into()));
    let backfilled = with_pending_row(|row| row.trigger = "backfill".into());
    let by_holder = InstantFacts { holders: vec![holder()], ..held.clone() };
    let lines = [
        (recorded("completed"), "completed at 2027-01-15T08:01:02Z in attempt 1"),
        (failed("failed", "timed out"), "failed at 2027-01-15T08:01:02Z in attempt 1: timed out"),
        (recorded("running"), "since 2027-01-15T08:01:01Z by 'node-a' under a lease until"),
        (lost, "the next free worker takes it over"),
        (recorded("claimed"), "is claimed by 'node-a' under a lease until"),
        (recorded("pending"), "as the longest due of all"),
        (InstantFacts { waiting_before: 7, ..recorded("pending") }, "behind 7 others"),
        (quarantined, "because the channel is quarantined: no secret"),
        (calling, "waits for a resume: channel 'bank', which it calls, is paused."),
        (backfilled, "waits for a slot of its concurrency key."),
        (recorded("parked"), "is parked"),
        (held, "was skipped: key held."),
        (
            by_holder,
            "the holder was occurrence o-0 of channel 'slow' on 'node-b' since 2027-01-15T08:00:10Z.",
        ),
        (InstantFacts { following: Some(missed()), ..facts() }, "skipped 3 missed occurrence(s)"),
        (InstantFacts { pause: pause(), ..recorded("completed") }, "completed"),
    ];
    check(lines.map(|(facts, part)| (facts, InstantReason::Recorded, part)));
}

#[test]
fn channel_state_explains_open_instants() {
    let (due, stopped) = (cursor(60, None), cursor(60, Some(55)));
    let quarantined = InstantFacts { quarantine: Some("no workflow".into()), pause: pause(), ..facts() };
    let archived = InstantFacts { active: None, cursor: stopped, ..facts() };
    let never_active = InstantFacts { active: None, cursor: None, ..facts() };
    let forsaken = InstantFacts { cursor: cursor(60, Some(90)), ..facts() };
    check([
        (
            InstantFacts { pause: pause(), cursor: due.clone(), ..facts() },
            InstantReason::Paused,
            "since 2027-01-15T08:00:50Z until 2027-01-15T08:15:00Z by ops (the bank is down)",
        ),
        (
            now(InstantFacts { pause: pause(), ..facts() }),
            InstantReason::Paused,
            "plans at its resume what passed",
        ),
        (now(quarantined), InstantReason::Quarantined, "is not planned: no workflow"),
        (now(archived), InstantReason::Archived, "no active version since 2027-01-15T08:00:55Z"),
        (now(never_active), InstantReason::Archived, "no active version, so"),
        (InstantFacts { cursor: None, ..facts() }, InstantReason::Unplanned, "its schedule has not begun"),
        (
            InstantFacts { cursor: due, ..facts() },
            InstantReason::Unplanned,
            "its cursor is at 2027-01-15T08:01:00Z",
        ),
        (forsaken, InstantReason::Unplanned, "because no node moved it"),
    ]);
}

#[test]
fn schedule_explains_instants_without_row() {
    let not_due = InstantFacts { is_due: Some(false), ..facts() };
    let between = InstantFacts { following: Some(missed()), ..not_due.clone() };
    let outside = InstantFacts { at: time_at(20), following: Some(missed()), ..facts() };
    let newer = ActiveVersion { version: 4, since: time_at(70) };
    check([
        (not_due.clone(), InstantReason::NotDue, "its next instant is 2027-01-15T08:02:00Z"),
        (InstantFacts { next: None, ..not_due }, InstantReason::NotDue, "has no next instant"),
        (now(facts()), InstantReason::NotDue, "does not name 2027-01-15T08:01:40Z"),
        (between, InstantReason::NotDue, "does not name 2027-01-15T08:01:00Z"),
        (InstantFacts { at: time_at(120), ..facts() }, InstantReason::Ahead, "is to come"),
        (
            InstantFacts { kept_since: Some(time_at(70)), ..facts() },
            InstantReason::Expired,
            "no longer keeps",
        ),
        (
            InstantFacts { kept_since: Some(time_at(60)), ..facts() },
            InstantReason::NotRecorded,
            "passed it without a record",
        ),
        (outside, InstantReason::NotRecorded, "passed it without a record"),
        (
            InstantFacts { pause: pause(), ..facts() },
            InstantReason::NotRecorded,
            "passed it without a record",
        ),
        (
            InstantFacts { active: Some(newer), ..facts() },
            InstantReason::NotRecorded,
            "its version 4 serves only since 2027-01-15T08:01:10Z",
        ),
    ]);
}

#[test]
fn sentence_names_clock_that_is_off() {
    for (millis, expected) in
        [(1_000, None), (-1_000, None), (1_001, Some("1001 ms ahead of")), (-5_000, Some("5000 ms behind"))]
    {
        let facts = InstantFacts { clock_offset: TimeDelta::milliseconds(millis), ..facts() };
        let sentence = facts.explain().sentence;
        assert_eq!(facts.is_clock_off(), expected.is_some(), "{millis}");
        assert!(expected.is_none_or(|part| sentence.contains(part)), "{sentence}");
        assert_eq!(sentence.contains("clock"), expected.is_some(), "{sentence}");
    }
}

#[test]
fn names_of_reasons_differ() {
    let names: std::collections::HashSet<_> = InstantReason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), InstantReason::ALL.len());
}
