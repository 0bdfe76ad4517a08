use chrono::DateTime;
use svc_model::Timestamp;

use super::*;

fn time_at(second: i64) -> NaiveDateTime {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap().naive_utc()
}

/// Asks at second 100 about work that waits since second 10.
fn facts(state: WorkState) -> WorkFacts {
    WorkFacts {
        channel: "orders".into(),
        now: time_at(100),
        since: time_at(10),
        state,
        pause: None,
        quarantine: None,
    }
}

fn pause() -> ChannelPause {
    ChannelPause {
        since: Timestamp::from_naive(time_at(50)),
        until: Some(Timestamp::from_naive(time_at(900))),
        by: "ops".into(),
        reason: "the bank is down".into(),
    }
}

fn paused(state: WorkState) -> WorkFacts {
    WorkFacts { pause: Some(pause()), ..facts(state) }
}

fn waiting_for(callee: Option<&str>) -> WorkState {
    let called = callee.map(|channel| PausedCallee { channel: channel.to_owned(), pause: pause() });
    WorkState::Paused { before: 6, called }
}

fn owner(lease_until: Option<i64>) -> Option<WorkOwner> {
    Some(WorkOwner { node: "n-1".into(), lease_until: lease_until.map(time_at) })
}

fn in_line(key: &str, before: i64, holder: Option<&str>) -> WorkState {
    WorkState::InLine { key: key.into(), before, holder: holder.map(str::to_owned), is_of_key: true }
}

fn behind_other_keys(holder: Option<&str>) -> WorkState {
    let holder = holder.map(str::to_owned);
    WorkState::InLine { key: "acme".into(), before: 0, holder, is_of_key: false }
}

/// The reason, the seconds since and until which the work waits, its place, its holder, and a part of the sentence.
type ExpectedWait = (WorkWaitReason, i64, Option<i64>, Option<i64>, Option<&'static str>, &'static str);

#[test]
fn facts_lead_to_wait_and_sentence() {
    let queued = |lease, before| WorkState::Queued { owner: owner(lease), before };
    let scheduled = |until| WorkState::Scheduled { until: time_at(until) };
    let retrying = |until: i64| WorkState::Retrying { until: Some(time_at(until)) };
    let (queue, lease, resume) = (WorkWaitReason::Queue, WorkWaitReason::Lease, WorkWaitReason::Paused);
    let quarantined = WorkFacts { quarantine: Some("no secret".into()), ..facts(retrying(90)) };
    let lines: Vec<(WorkFacts, ExpectedWait)> = vec![
        (facts(queued(Some(130), 0)), (queue, 10, None, Some(1), Some("n-1"), "the first of its queue")),
        (
            facts(queued(Some(130), 4)),
            (queue, 10, None, Some(5), Some("n-1"), "a worker of node 'n-1', behind 4 others"),
        ),
        (
            facts(WorkState::Queued { owner: None, before: 0 }),
            (queue, 10, None, Some(1), None, "waits for a worker, as"),
        ),
        (facts(queued(Some(80), 4)), (lease, 80, None, None, Some("n-1"), "ended at 2027-01-15T08:01:20Z")),
        (facts(queued(None, 4)), (lease, 10, None, None, Some("n-1"), "the lease of node 'n-1' ended.")),
        (
            facts(WorkState::Running { owner: owner(Some(80)) }),
            (lease, 80, None, None, Some("n-1"), "for another node"),
        ),
        (paused(queued(Some(130), 2)), (resume, 50, Some(900), Some(3), None, "by ops (the bank is down)")),
        (
            facts(scheduled(200)),
            (WorkWaitReason::Scheduled, 10, Some(200), None, None, "is due at 2027-01-15T08:03:20Z"),
        ),
        (facts(scheduled(90)), (queue, 90, None, None, None, "was due at 2027-01-15T08:01:30Z")),
        (paused(scheduled(90)), (resume, 50, Some(900), None, None, "waits for a resume")),
        (
            paused(waiting_for(None)),
            (resume, 50, Some(900), Some(7), None, "paused since 2027-01-15T08:00:50Z until"),
        ),
        (facts(waiting_for(None)), (resume, 10, None, None, None, "or one that it calls")),
        (
            facts(waiting_for(Some("bank"))),
            (resume, 50, Some(900), None, None, "channel 'bank', which it calls, is paused since"),
        ),
        (paused(retrying(901)), (WorkWaitReason::Retry, 10, Some(901), None, None, "is tried again at")),
        (
            facts(in_line("acme", 3, Some("t-9"))),
            (
                WorkWaitReason::Share,
                10,
                None,
                Some(4),
                Some("t-9"),
                "a share of key 'acme', behind 3 others; trace t-9 has one.",
            ),
        ),
        (facts(in_line("", 0, None)), (WorkWaitReason::Share, 10, None, Some(1), None, "for a share.")),
        (
            facts(behind_other_keys(Some("t-9"))),
            (
                WorkWaitReason::Share,
                10,
                None,
                Some(1),
                Some("t-9"),
                "a share of its channel or a free worker; trace t-9 has a share.",
            ),
        ),
        (
            facts(behind_other_keys(None)),
            (WorkWaitReason::Share, 10, None, Some(1), None, "for a free worker."),
        ),
        (
            facts(WorkState::Refused { until: time_at(101) }),
            (WorkWaitReason::Permit, 10, Some(101), None, None, "a permit of its channel"),
        ),
        (
            facts(retrying(130)),
            (WorkWaitReason::Retry, 10, Some(130), None, None, "is tried again at 2027-01-15T08:02:10Z"),
        ),
        (facts(retrying(90)), (WorkWaitReason::Retry, 10, Some(90), None, None, "and waits for a node")),
        (paused(retrying(90)), (resume, 50, Some(900), None, None, "waits for a resume")),
        (quarantined, (WorkWaitReason::Quarantined, 10, Some(90), None, None, "quarantined: no secret")),
    ];
    for (facts, (reason, since, until, position, holder, part)) in lines {
        let wait = facts.explain().unwrap();
        assert_eq!(
            (wait.reason, wait.since, wait.until),
            (reason, time_at(since), until.map(time_at)),
            "{wait:?}"
        );
        assert_eq!((wait.position, wait.holder.as_deref()), (position, holder), "{wait:?}");
        assert!(wait.sentence.contains(part) && wait.sentence.ends_with('.'), "{part}: {}", wait.sentence);
    }
}

#[test]
fn work_that_runs_waits_for_nothing() {
    let running = |owner| facts(WorkState::Running { owner }).explain();
    assert_eq!(running(owner(Some(130))), None);
    assert_eq!(running(None), None);
}

#[test]
fn names_of_wait_reasons_differ() {
    let names: std::collections::HashSet<_> =
        WorkWaitReason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), WorkWaitReason::ALL.len());
}
