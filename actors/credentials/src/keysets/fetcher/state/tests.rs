use proptest::prelude::*;

use super::*;

fn keys() -> Arc<Jwks> {
    Arc::new(crate::keysets::fetcher::tests::keys(1))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns the state after a fetch with this `max-age`, its keys and its instant.
fn fetched_state(max_age: Option<u64>) -> (State, Arc<Jwks>, Instant) {
    let (keys, now) = (keys(), Instant::now());
    let state = State::default().record_success(now, Arc::clone(&keys), lifetime(max_age.map(seconds)));
    (state, keys, now)
}

#[test]
fn key_age_is_clamped_to_minute_and_day() {
    for (max_age, fresh) in [
        (None, 300),
        (Some(0), 60),
        (Some(61), 61),
        (Some(86_400), 86_400),
        (Some(u64::from(u32::MAX)), 86_400),
    ] {
        let (state, _, then) = fetched_state(max_age);
        let last = then + seconds(fresh) - Duration::from_millis(1);
        assert_eq!(state.need(last, &Want::Fresh), Need::Nothing, "{max_age:?}");
        assert_eq!(state.need(then + seconds(fresh), &Want::Fresh), Need::Fetch, "{max_age:?}");
    }
}

#[test]
fn unfetched_set_always_needs_a_fetch() {
    let (state, now) = (State::default(), Instant::now());
    assert_eq!(state.need(now, &Want::Fresh), Need::Fetch);
    assert_eq!(state.need(now, &Want::OtherThan(keys())), Need::Fetch);
    assert_eq!(state.begin_fetch(now, false).need(now, &Want::Fresh), Need::Running);
}

#[test]
fn unknown_key_ids_fetch_once_per_thirty_seconds() {
    let (state, keys, then) = fetched_state(None);
    let want = Want::OtherThan(keys);
    assert_eq!(state.need(then, &want), Need::ForcedFetch);
    let begun = state.begin_fetch(then, true);
    assert_eq!(begun.need(then, &want), Need::Running);
    let failed = begun.record_failure(then + seconds(1));
    assert_eq!(failed.need(then + seconds(29), &want), Need::Nothing);
    assert_eq!(failed.need(then + seconds(30), &want), Need::ForcedFetch);
}

#[test]
fn caller_with_older_set_gets_the_current_one() {
    let (state, _, now) = fetched_state(None);
    assert_eq!(state.begin_fetch(now, false).need(now, &Want::OtherThan(keys())), Need::Nothing);
}

#[test]
fn failed_fetch_leaves_fresh_keys_fresh() {
    let (state, _, then) = fetched_state(Some(600));
    let failed = state.begin_fetch(then, true).record_failure(then + seconds(5));
    assert_eq!(failed.need(then + seconds(599), &Want::Fresh), Need::Nothing);
    assert_eq!(failed.need(then + seconds(600), &Want::Fresh), Need::Fetch);
}

#[test]
fn failures_double_the_pause_to_half_a_minute() {
    let (mut state, mut now) = (State::default(), Instant::now());
    for pause in [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30] {
        state = state.begin_fetch(now, false).record_failure(now);
        assert_eq!(state.need(now + seconds(pause) - Duration::from_millis(1), &Want::Fresh), Need::Nothing);
        now += seconds(pause);
        assert_eq!(state.need(now, &Want::Fresh), Need::Fetch);
    }
    state = state.record_success(now, keys(), seconds(60)).record_failure(now + seconds(60));
    assert_eq!(state.need(now + seconds(61), &Want::Fresh), Need::Fetch, "a success begins anew");
}

#[test]
fn fetch_without_an_end_is_given_up() {
    let (state, now) = (State::default(), Instant::now());
    let begun = state.begin_fetch(now, false);
    assert_eq!(begun.need(now + FETCH_LIMIT, &Want::Fresh), Need::Running);
    assert_eq!(begun.need(now + LOST_AFTER, &Want::Fresh), Need::Fetch);
}

/// An event in the life of a key set.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Ask,
    AskForOther,
    AskHavingSeenAnOlder,
    Succeed(Option<u64>),
    Fail,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_u64..40_000).prop_map(Step::Pass),
        Just(Step::Ask),
        Just(Step::AskForOther),
        Just(Step::AskHavingSeenAnOlder),
        proptest::option::of(0_u64..200).prop_map(Step::Succeed),
        Just(Step::Fail),
    ]
}

proptest! {
    #[test]
    fn keys_stay_and_issuer_is_spared_always(steps in proptest::collection::vec(step(), 1..200)) {
        let older = keys();
        let (mut state, mut now) = (State::default(), Instant::now());
        let (mut begun, mut last_forced) = (None::<Instant>, None::<Instant>);
        let mut paused_until = None::<Instant>;
        for step in steps {
            let had_keys = state.keys().is_some();
            let want = match &step {
                Step::Ask => Some(Want::Fresh),
                Step::AskForOther => Some(Want::OtherThan(state.keys().unwrap_or_else(|| Arc::clone(&older)))),
                Step::AskHavingSeenAnOlder => Some(Want::OtherThan(Arc::clone(&older))),
                _ => None,
            };
            let mut ends = None;
            match (step, want) {
                (Step::Pass(millis), _) => {
                    now += Duration::from_millis(millis);
                    // A fetch ends in time.
                    ends = begun.filter(|begun| now >= *begun + FETCH_LIMIT).map(|_| None);
                }
                (Step::Succeed(age), _) => ends = begun.map(|_| Some(age)),
                (Step::Fail, _) => ends = begun.map(|_| None),
                (_, Some(want)) => {
                    let need = state.need(now, &want);
                    prop_assert_eq!(need == Need::Running, need != Need::Nothing && begun.is_some());
                    if need == Need::ForcedFetch {
                        prop_assert!(last_forced.is_none_or(|at| now >= at + FORCED_EVERY));
                        last_forced = Some(now);
                    }
                    if need == Need::Fetch {
                        prop_assert!(paused_until.is_none_or(|until| now >= until));
                    }
                    if need == Need::Nothing && matches!(want, Want::Fresh) && !had_keys {
                        prop_assert!(paused_until.is_some(), "no keys and no reason for it");
                    }
                    if matches!(need, Need::Fetch | Need::ForcedFetch) {
                        (state, begun) = (state.begin_fetch(now, need == Need::ForcedFetch), Some(now));
                    }
                }
                _ => {}
            }
            match ends {
                Some(Some(age)) => {
                    state = state.record_success(now, keys(), lifetime(age.map(seconds)));
                    (begun, paused_until) = (None, None);
                }
                Some(None) => {
                    let pause = FAILURE_BACKOFF.first * (1 << state.failures.min(5));
                    state = state.record_failure(now);
                    (begun, paused_until) = (None, Some(now + pause.min(FAILURE_BACKOFF.max)));
                }
                None => {}
            }
            prop_assert!(!had_keys || state.keys().is_some(), "keys are never lost");
            prop_assert_eq!(state.is_busy(now), begun.is_some());
        }
    }
}
