use proptest::prelude::*;
use tokio::time::advance;

use super::*;

const RECOVERY: Duration = Duration::from_secs(30);

fn breakers(failure_threshold: u32, max_breakers: usize) -> Breakers {
    Breakers::new(Some(BreakerSettings { failure_threshold, recovery: RECOVERY, max_breakers }))
}

fn call(breakers: &Breakers, verdict: CallVerdict) -> bool {
    breakers.admit("ch", "c").unwrap().settle(verdict)
}

fn state(breakers: &Breakers) -> BreakerState {
    breakers.list().unwrap()[0].1
}

#[tokio::test(start_paused = true)]
async fn consecutive_failures_open_the_breaker_success_resets() {
    let breakers = breakers(3, 10);
    for verdict in [
        CallVerdict::Failure,
        CallVerdict::Failure,
        CallVerdict::Success,
        CallVerdict::Failure,
        CallVerdict::Failure,
    ] {
        assert!(!call(&breakers, verdict));
    }
    assert!(!call(&breakers, CallVerdict::Neutral), "what says nothing neither counts nor forgets");
    assert!(call(&breakers, CallVerdict::Failure));
    assert_eq!(breakers.list().unwrap(), [("ch:c".to_owned(), BreakerState::Open)]);
    assert!(breakers.admit("ch", "c").is_none());
    assert!(breakers.admit("other", "c").is_some() && breakers.admit("ch", "other").is_some());
}

#[tokio::test(start_paused = true)]
async fn after_the_recovery_time_one_call_decides() {
    let breakers = breakers(1, 10);
    assert!(call(&breakers, CallVerdict::Failure));
    advance(RECOVERY - Duration::from_millis(1)).await;
    assert!(breakers.admit("ch", "c").is_none());
    advance(Duration::from_millis(1)).await;
    let probe = breakers.admit("ch", "c").unwrap();
    assert_eq!(state(&breakers), BreakerState::HalfOpen);
    assert!(breakers.admit("ch", "c").is_none(), "one at a time");
    assert!(probe.settle(CallVerdict::Failure));
    assert!(breakers.admit("ch", "c").is_none(), "open again, for the whole time");
    advance(RECOVERY).await;
    drop(breakers.admit("ch", "c").unwrap());
    let probe = breakers.admit("ch", "c").expect("an abandoned call gives its place back");
    assert!(!probe.settle(CallVerdict::Success));
    assert_eq!(state(&breakers), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_answers_no_is_there() {
    let breakers = breakers(2, 10);
    for verdict in [CallVerdict::Failure, CallVerdict::Answered] {
        assert!(!call(&breakers, verdict));
    }
    assert!(call(&breakers, CallVerdict::Failure), "only a success forgets failures");
    advance(RECOVERY).await;
    let probe = breakers.admit("ch", "c").unwrap();
    assert!(!probe.settle(CallVerdict::Answered));
    assert_eq!(state(&breakers), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_call_from_before_decides_nothing() {
    let breakers = breakers(1, 10);
    let early = [breakers.admit("ch", "c").unwrap(), breakers.admit("ch", "c").unwrap()];
    assert!(call(&breakers, CallVerdict::Failure));
    for (pass, verdict) in early.into_iter().zip([CallVerdict::Success, CallVerdict::Failure]) {
        assert!(!pass.settle(verdict));
    }
    assert_eq!(state(&breakers), BreakerState::Open);
    assert!(breakers.reset("ch:c") && !breakers.reset("nothing"));
    assert_eq!(state(&breakers), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn least_recently_used_closed_breaker_is_dropped_first() {
    let breakers = breakers(1, 2);
    breakers.admit("ch", "open").unwrap().settle(CallVerdict::Failure);
    breakers.admit("ch", "a").unwrap().settle(CallVerdict::Success);
    breakers.admit("ch", "b").unwrap().settle(CallVerdict::Success);
    let keys: Vec<_> = breakers.list().unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["ch:b", "ch:open"]);
}

#[tokio::test(start_paused = true)]
async fn call_of_dropped_breaker_counts_nowhere() {
    let breakers = breakers(1, 10);
    let early = breakers.admit("ch", "c").unwrap();
    breakers.admit("ch", "other").unwrap().settle(CallVerdict::Failure);
    breakers.forget_connector("c");
    breakers.admit("ch", "c").unwrap().settle(CallVerdict::Success);
    assert!(!early.settle(CallVerdict::Failure));
    let states = [("ch:c".to_owned(), BreakerState::Closed), ("ch:other".to_owned(), BreakerState::Open)];
    assert_eq!(breakers.list().unwrap(), states);
    breakers.retain_channels(|channel| channel != "ch");
    assert_eq!(breakers.list().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn names_with_colons_share_no_breaker() {
    let breakers = breakers(1, 10);
    assert!(breakers.admit("a:b", "c").unwrap().settle(CallVerdict::Failure));
    assert!(breakers.admit("a", "b:c").unwrap().settle(CallVerdict::Failure), "its own first failure");
    breakers.forget_connector("c");
    assert!(breakers.admit("a:b", "c").is_some() && breakers.admit("a", "b:c").is_none());
}

#[test]
fn without_settings_there_are_none() {
    let breakers = Breakers::new(None);
    assert!(!breakers.admit("ch", "c").unwrap().settle(CallVerdict::Failure));
    assert!(breakers.list().is_none());
}

proptest! {
    /// Whatever happens, at most one call is out while it is half open, and none while it is open and young.
    #[test]
    fn it_never_lets_more_through_than_its_state_allows(
        steps in proptest::collection::vec((0_u8..4, 0_u64..40), 1..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let breakers = breakers(2, 4);
            let mut out = Vec::new();
            let mut opened: Option<Instant> = None;
            for (step, seconds) in steps {
                advance(Duration::from_secs(seconds)).await;
                let verdict = [CallVerdict::Success, CallVerdict::Failure, CallVerdict::Neutral][usize::from(step % 3)];
                if step == 3 || out.is_empty() {
                    let young = opened.is_some_and(|since| since.elapsed() < RECOVERY);
                    match breakers.admit("ch", "c") {
                        Some(pass) => {
                            prop_assert!(!young);
                            out.push(pass);
                        }
                        None => prop_assert!(state(&breakers) != BreakerState::Closed),
                    }
                } else if out.pop().is_some_and(|pass| pass.settle(verdict)) {
                    opened = Some(Instant::now());
                }
                if state(&breakers) == BreakerState::Closed {
                    opened = None;
                }
                let probes = out.iter().filter(|pass| pass.probe).count();
                prop_assert!(probes <= 1, "{probes}");
            }
            Ok(())
        })?;
    }
}
