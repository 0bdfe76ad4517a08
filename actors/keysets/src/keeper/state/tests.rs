use proptest::prelude::*;

use super::*;

fn keys() -> Arc<Jwks> {
    Arc::new(crate::keeper::tests::keys(1))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Fetched at an instant, with this `max-age`.
fn fetched(max_age: Option<u64>) -> (State, Arc<Jwks>, Instant) {
    let (keys, now) = (keys(), Instant::now());
    (State::default().succeeded(now, Arc::clone(&keys), max_age.map(seconds)), keys, now)
}

#[test]
fn keys_are_fresh_for_the_age_they_came_with_within_a_minute_and_a_day() {
    for (max_age, fresh) in [
        (None, 300),
        (Some(0), 60),
        (Some(61), 61),
        (Some(86_400), 86_400),
        (Some(u64::from(u32::MAX)), 86_400),
    ] {
        let (state, _, then) = fetched(max_age);
        let last = then + seconds(fresh) - Duration::from_millis(1);
        assert_eq!(state.need(last, &Want::Fresh, false), Need::Nothing, "{max_age:?}");
        assert_eq!(state.need(then + seconds(fresh), &Want::Fresh, false), Need::Fetch, "{max_age:?}");
    }
}

#[test]
fn a_set_never_fetched_needs_a_fetch_whatever_is_wanted() {
    let (state, now) = (State::default(), Instant::now());
    assert_eq!(state.need(now, &Want::Fresh, false), Need::Fetch);
    assert_eq!(state.need(now, &Want::OtherThan(keys()), false), Need::Fetch);
    assert_eq!(state.need(now, &Want::Fresh, true), Need::Running);
}

#[test]
fn an_unknown_key_id_is_fetched_for_at_once_and_then_every_thirty_seconds() {
    let (state, keys, then) = fetched(None);
    let want = Want::OtherThan(keys);
    assert_eq!(state.need(then, &want, false), Need::ForcedFetch);
    let begun = state.begun(then, true);
    assert_eq!(begun.need(then, &want, true), Need::Running);
    // A crash ends the fetch without a word: its place is taken all the same.
    assert_eq!(begun.need(then + seconds(1), &want, false), Need::Nothing);
    let failed = begun.failed(then + seconds(1));
    assert_eq!(failed.need(then + seconds(29), &want, false), Need::Nothing);
    assert_eq!(failed.need(then + seconds(30), &want, false), Need::ForcedFetch);
}

#[test]
fn whoever_saw_an_older_set_is_answered_with_the_one_at_hand() {
    let (state, _, now) = fetched(None);
    assert_eq!(state.need(now, &Want::OtherThan(keys()), true), Need::Nothing);
}

#[test]
fn a_failed_fetch_for_an_unknown_key_id_leaves_fresh_keys_fresh() {
    let (state, _, then) = fetched(Some(600));
    let failed = state.begun(then, true).failed(then + seconds(5));
    assert_eq!(failed.need(then + seconds(599), &Want::Fresh, false), Need::Nothing);
    assert_eq!(failed.need(then + seconds(600), &Want::Fresh, false), Need::Fetch);
}

/// What can happen to a set.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Ask,
    AskForOther,
    AskHavingSeenAnOlder,
    Succeed(Option<u64>),
    Fail,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_u64..40_000).prop_map(Step::Pass),
        Just(Step::Ask),
        Just(Step::AskForOther),
        Just(Step::AskHavingSeenAnOlder),
        proptest::option::of(0_u64..200).prop_map(Step::Succeed),
        Just(Step::Fail),
        Just(Step::Crash),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_keys_stay_and_the_issuer_is_left_in_peace(steps in proptest::collection::vec(step(), 1..200)) {
        let older = keys();
        let mut now = Instant::now();
        let (mut state, mut running) = (State::default(), false);
        let (mut last_forced, mut last_failed) = (None::<Instant>, None::<Instant>);
        for step in steps {
            let had_keys = state.keys().is_some();
            let want = match &step {
                Step::Ask => Some(Want::Fresh),
                Step::AskForOther => Some(Want::OtherThan(state.keys().unwrap_or_else(|| Arc::clone(&older)))),
                Step::AskHavingSeenAnOlder => Some(Want::OtherThan(Arc::clone(&older))),
                _ => None,
            };
            match (step, want) {
                (Step::Pass(millis), _) => {
                    now += Duration::from_millis(millis);
                    // A fetch ends in time.
                    if running && !state.is_busy(now) {
                        (state, running, last_failed) = (state.failed(now), false, Some(now));
                    }
                }
                (Step::Succeed(age), _) if running => {
                    (state, running, last_failed) = (state.succeeded(now, keys(), age.map(seconds)), false, None);
                }
                (Step::Fail, _) if running => {
                    (state, running, last_failed) = (state.failed(now), false, Some(now));
                }
                (Step::Crash, _) => running = false,
                (_, Some(want)) => {
                    let need = state.need(now, &want, running);
                    let starts = matches!(need, Need::Fetch | Need::ForcedFetch);
                    prop_assert!(!(starts && running), "one fetch at a time");
                    prop_assert_eq!(need == Need::Running && !running, false);
                    if need == Need::ForcedFetch {
                        prop_assert!(last_forced.is_none_or(|at| now >= at + FORCED_EVERY));
                        last_forced = Some(now);
                    }
                    if need == Need::Fetch {
                        let pause = if had_keys { PAUSE_WITH_KEYS } else { PAUSE_WITHOUT_KEYS };
                        prop_assert!(last_failed.is_none_or(|at| now >= at + pause));
                    }
                    if need == Need::Nothing && matches!(want, Want::Fresh) && !had_keys {
                        prop_assert!(last_failed.is_some(), "no keys and no reason for it");
                    }
                    if starts {
                        (state, running) = (state.begun(now, need == Need::ForcedFetch), true);
                    }
                }
                _ => {}
            }
            prop_assert!(!had_keys || state.keys().is_some(), "keys are never lost");
            prop_assert!(running || !state.is_busy(now + FETCH_LIMIT), "a crash is forgotten in time");
        }
    }
}
