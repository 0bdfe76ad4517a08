use proptest::prelude::*;

use super::*;

fn state(total_secs: u64, attempt_secs: u64) -> PartitionState {
    PartitionState::new(RetryBudget {
        total: Duration::from_secs(total_secs),
        attempt: Duration::from_secs(attempt_secs),
    })
}

#[test]
fn budget_is_four_fifths_of_the_poll_interval() {
    let budget = RetryBudget::new(Duration::from_secs(300), Duration::from_secs(60));
    assert_eq!(budget.total, Duration::from_secs(240));
}

#[test]
fn failed_record_retries_with_doubling_delays_to_minute() {
    let (mut state, now) = (state(100_000, 60), Instant::now());
    state.begin(7, now);
    let delays: Vec<_> = (0..8).map(|_| state.fail("no".into(), now)).collect();
    let expected = [1, 2, 4, 8, 16, 32, 60, 60].map(|secs| RetryStep::After(Duration::from_secs(secs)));
    assert_eq!(delays, expected);
    assert_eq!(state.phase(), PartitionPhase::Retrying);
    assert_eq!(state.take_commit(), None, "nothing is done");
}

#[test]
fn deferred_record_returns_soon_without_a_failure() {
    let (mut state, now) = (state(1000, 1), Instant::now());
    state.begin(7, now);
    let delays: Vec<_> = (0..8).map(|_| state.defer("full".into(), now)).collect();
    let expected =
        [100, 200, 400, 800, 1600, 3200, 5000, 5000].map(|ms| RetryStep::After(Duration::from_millis(ms)));
    assert_eq!(delays, expected);
    assert_eq!((state.phase(), state.held_record().unwrap().failures), (PartitionPhase::Deferred, 0));
    assert!(state.trouble(now).is_none());
}

#[test]
fn record_is_refetched_before_its_budget_ends() {
    let (mut state, start) = (state(10, 3), Instant::now());
    let at = |secs: u64| start + Duration::from_secs(secs);
    state.begin(7, start);
    assert_eq!(state.fail("no".into(), at(3)), RetryStep::After(Duration::from_secs(1)));
    state.begin(7, at(4));
    assert_eq!(state.fail("no".into(), at(8)), RetryStep::After(Duration::from_secs(2)), "5 + 2 + 3");
    state.begin(7, at(9));
    assert_eq!(state.fail("still".into(), at(9)), RetryStep::SeekBack(Duration::from_secs(4)));
    assert_eq!(state.phase(), PartitionPhase::Blocked);
    state.mark_failure_traced();

    state.begin(7, at(10));
    let again = state.defer("full".into(), at(10));
    assert_eq!(again, RetryStep::After(Duration::from_millis(100)), "a new round");
    assert_eq!(state.fail("again".into(), at(10)), RetryStep::SeekBack(Duration::from_secs(8)));
    let held = state.held_record().unwrap();
    assert_eq!(held.rounds, 2);
    assert_eq!((held.failures, held.last_error.as_str(), held.is_failure_traced), (4, "again", true));
    state.begin(8, at(11));
    assert!(state.held_record().is_none(), "the next record starts anew");
}

#[test]
fn attempt_beyond_budget_seeks_back_and_waits() {
    let (mut state, now) = (state(8, 60), Instant::now());
    for secs in [1, 2, 4, 8, 16, 32, 60, 60] {
        state.begin(0, now);
        assert_eq!(state.fail("no".into(), now), RetryStep::SeekBack(Duration::from_secs(secs)));
    }
}

#[test]
fn commit_is_sent_once_and_again_after_it_failed() {
    let mut state = state(10, 1);
    state.settle(4);
    assert_eq!((state.take_commit(), state.take_commit()), (Some(5), None));
    state.settle(5);
    assert_eq!(state.take_commit(), Some(6));
    state.record_commit(5, true);
    assert_eq!(state.committed_offset(), Some(5));
    state.record_commit(6, false);
    assert_eq!(state.take_commit(), Some(6));
    state.record_commit(6, true);
    assert_eq!((state.take_commit(), state.committed_offset()), (None, Some(6)));
}

#[test]
fn records_wait_for_commits_once_too_many_are_unconfirmed() {
    let (mut state, now) = (state(10, 1), Instant::now());
    // Offsets may have gaps.
    for record in 0..512 {
        assert_eq!(state.room(), 512 - record);
        let offset = i64::try_from(record).unwrap() * 2;
        state.begin(offset, now);
        state.finish(offset);
    }
    state.settle(998);
    assert_eq!((state.room(), state.phase()), (0, PartitionPhase::Committing));
    let sent = state.take_commit().unwrap();
    assert_eq!(state.room(), 0, "a commit on its way is not confirmed");
    state.record_commit(sent, false);
    assert_eq!(state.room(), 0);
    let sent = state.take_commit().unwrap();
    state.record_commit(sent, true);
    assert_eq!(state.room(), 500, "twelve wait for their traces");
}

#[test]
fn unfinished_records_run_again_in_another_instance() {
    let (mut state, now) = (state(10, 1), Instant::now());
    assert_eq!(state.go_back(), None);
    for offset in 0..10 {
        state.begin(offset, now);
        state.finish(offset);
    }
    assert_eq!((state.go_back(), state.room()), (Some(0), 512));
    for offset in 0..10 {
        state.begin(offset, now);
        state.finish(offset);
    }
    state.settle(3);
    assert_eq!((state.go_back(), state.room()), (Some(4), 508));
}

#[test]
fn position_is_the_current_or_next_record() {
    let (mut state, now) = (state(10, 1), Instant::now());
    assert_eq!(state.position(), None);
    state.record_committed(3);
    assert_eq!(state.position(), Some(3));
    state.begin(3, now);
    state.finish(3);
    state.settle(3);
    assert_eq!(state.position(), Some(4));
    state.begin(6, now);
    assert_eq!(state.position(), Some(6), "offsets may have gaps");
}

#[test]
fn partition_that_is_given_up_stays_so() {
    let (mut state, now) = (state(10, 1), Instant::now());
    state.begin(1, now);
    state.stop();
    state.fail("no".into(), now);
    assert_eq!(state.phase(), PartitionPhase::Stopping);
    state.finish(1);
    assert_eq!(state.phase(), PartitionPhase::Stopping);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Settle,
    Fail,
    Defer,
    Commit(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Settle),
        2 => Just(Event::Fail),
        1 => Just(Event::Defer),
        2 => any::<bool>().prop_map(Event::Commit),
    ]
}

proptest! {
    #[test]
    fn every_record_is_committed_once_done(
        events in prop::collection::vec(event(), 1..60),
    ) {
        let (mut state, mut now, mut offset, mut done) = (state(30, 1), Instant::now(), 0_i64, 0_i64);
        let mut stored = 0;
        for event in events {
            now += Duration::from_secs(1);
            match event {
                Event::Settle => {
                    state.begin(offset, now);
                    state.finish(offset);
                    state.settle(offset);
                    offset += 1;
                    done = offset;
                }
                Event::Fail => {
                    state.begin(offset, now);
                    let step = state.fail("no".into(), now);
                    let held = state.held_record().unwrap();
                    if let RetryStep::After(delay) = step {
                        prop_assert!(now.duration_since(held.round_at) + delay <= Duration::from_secs(29));
                    }
                }
                Event::Defer => {
                    state.begin(offset, now);
                    state.defer("full".into(), now);
                }
                Event::Commit(works) => {
                    if let Some(sent) = state.take_commit() {
                        prop_assert!(sent <= done && sent > stored, "{sent} of {done}, {stored} is stored");
                        state.record_commit(sent, works);
                        stored = if works { sent } else { stored };
                    }
                }
            }
        }
        if let Some(sent) = state.take_commit() {
            state.record_commit(sent, true);
        }
        prop_assert_eq!(state.committed_offset().unwrap_or(0), done);
    }
}
