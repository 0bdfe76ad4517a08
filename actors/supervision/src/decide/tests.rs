//! The rules of `decide`, over random policies and lives.

use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn panic_exit() -> Exit {
    Exit::Panicked { message: "boom".into(), location: Some("src/a.rs:1:2".into()), handling: Some("Peek") }
}

/// Exits the default restart mode answers with the budget.
fn budgeted_exit() -> impl Strategy<Value = Exit> {
    prop_oneof![
        Just(Exit::Normal),
        Just(panic_exit()),
        Just(Exit::Failed { reason: "lost".into() }),
        Just(Exit::StartFailed(StartError::Transient("away".into()))),
    ]
}

fn exits() -> impl Strategy<Value = Exit> {
    prop_oneof![
        4 => budgeted_exit(),
        1 => Just(Exit::Ordered),
        1 => Just(Exit::StartFailed(StartError::Config("bad".into()))),
        1 => Just(Exit::StartFailed(StartError::Fatal("gone".into()))),
    ]
}

fn restarts() -> impl Strategy<Value = Restart> {
    prop_oneof![Just(Restart::Permanent), Just(Restart::OnFailure), Just(Restart::Never)]
}

fn policies() -> impl Strategy<Value = RestartPolicy> {
    let exhausted = prop_oneof![
        Just(ExhaustedAction::Quarantine),
        Just(ExhaustedAction::Escalate),
        Just(ExhaustedAction::EndTree)
    ];
    (0u32..8, 1u64..5_000, 0u64..50, 0u64..2_000, 0.0..=1.0f64, exhausted).prop_map(
        |(max_restarts, within, first, max, jitter, exhausted)| RestartPolicy {
            max_restarts,
            within: ms(within),
            backoff: Backoff { first: ms(first), max: ms(max), jitter },
            exhausted,
        },
    )
}

/// A life of exits: after each restart the instance lives for the given time.
fn instance_count(policy: &RestartPolicy, lives: &[(u64, Exit, u64)]) -> Vec<(Duration, Directive)> {
    let mut history = History::default();
    let mut now = Duration::ZERO;
    let mut actions = Vec::new();
    for (lived, exit, jitter) in lives {
        now += ms(*lived);
        let action = decide(policy, Restart::Permanent, &history, exit, now, *jitter);
        if let Directive::Restart { after } = action {
            history.record(policy, now, after);
            actions.push((now, action));
            now += after;
        } else {
            actions.push((now, action));
        }
    }
    actions
}

fn lives() -> impl Strategy<Value = Vec<(u64, Exit, u64)>> {
    prop::collection::vec((0u64..2_000, budgeted_exit(), any::<u64>()), 0..60)
}

proptest! {
    #[test]
    fn no_window_holds_more_restarts_than_the_budget(policy in policies(), lives in lives()) {
        let restarts: Vec<Duration> = instance_count(&policy, &lives)
            .into_iter()
            .filter_map(|(at, action)| matches!(action, Directive::Restart { .. }).then_some(at))
            .collect();
        for (i, start) in restarts.iter().enumerate() {
            let inside = restarts[i..].iter().take_while(|at| **at - *start < policy.within).count();
            prop_assert!(inside <= policy.max_restarts as usize, "{inside} restarts within {:?}", policy.within);
        }
    }

    #[test]
    fn a_refused_restart_is_answered_as_the_policy_says(policy in policies(), lives in lives()) {
        for (_, action) in instance_count(&policy, &lives) {
            let as_said = match policy.exhausted {
                ExhaustedAction::Quarantine => matches!(action, Directive::Restart { .. } | Directive::Quarantine { .. }),
                ExhaustedAction::Escalate => matches!(action, Directive::Restart { .. } | Directive::Escalate { .. }),
                ExhaustedAction::EndTree => matches!(action, Directive::Restart { .. } | Directive::EndTree { .. }),
            };
            prop_assert!(as_said, "{action:?}");
        }
    }

    #[test]
    fn the_budget_comes_back_after_a_window_without_restarts(policy in policies(), lives in lives(), jitter: u64) {
        prop_assume!(policy.max_restarts > 0);
        let mut history = History::default();
        let mut now = Duration::ZERO;
        for (lived, _, _) in &lives {
            now += ms(*lived);
            history.record(&policy, now, Duration::ZERO);
        }
        let action = decide(&policy, Restart::Permanent, &history, &panic_exit(), now + policy.within, jitter);
        prop_assert_eq!(action, Directive::Restart { after: Duration::ZERO });
    }

    #[test]
    fn the_history_is_no_longer_than_the_budget(policy in policies(), lives in lives()) {
        let mut history = History::default();
        let mut now = Duration::ZERO;
        for (lived, _, _) in &lives {
            now += ms(*lived);
            history.record(&policy, now, Duration::ZERO);
            prop_assert!(history.restarted.len() <= policy.max_restarts as usize);
            prop_assert_eq!(history.restarted.len(), history.count(now, policy.within));
        }
    }

    #[test]
    fn a_delay_lies_between_its_jitter_bounds(
        first in 0u64..10_000, max in 0u64..10_000, share in 0.0..=1.0f64, streak: u32, jitter: u64,
    ) {
        let backoff = Backoff { first: ms(first), max: ms(max), jitter: share };
        let exact = restart_delay(&Backoff { jitter: 0.0, ..backoff.clone() }, streak, jitter);
        let delay = restart_delay(&backoff, streak, jitter);
        prop_assert!(delay <= exact && exact <= backoff.max);
        // A nanosecond of rounding.
        prop_assert!(delay + Duration::from_nanos(1) >= exact.mul_f64(1.0 - share));
    }

    #[test]
    fn without_jitter_delays_only_grow(first in 0u64..10_000, max in 0u64..10_000, streak in 0u32..u32::MAX) {
        let backoff = Backoff { first: ms(first), max: ms(max), jitter: 0.0 };
        prop_assert!(restart_delay(&backoff, streak, 0) <= restart_delay(&backoff, streak + 1, 0));
    }

    #[test]
    fn a_decision_depends_on_its_arguments_alone(
        policy in policies(), restart in restarts(), exit in exits(), now in 0u64..10_000, jitter: u64, lives in lives(),
    ) {
        let mut history = History::default();
        for (at, _, _) in &lives {
            history.record(&policy, ms(*at), Duration::ZERO);
        }
        let decision = decide(&policy, restart, &history, &exit, ms(now), jitter);
        prop_assert_eq!(decision, decide(&policy, restart, &history.clone(), &exit, ms(now), jitter));
    }

    #[test]
    fn policy_changes_no_config_or_fatal_fault(
        policy in policies(), restart in restarts(), now in 0u64..10_000, jitter: u64,
    ) {
        let after = |error| decide(&policy, restart, &History::default(), &Exit::StartFailed(error), ms(now), jitter);
        prop_assert_eq!(after(StartError::Config("bad".into())), Directive::Quarantine { reason: "bad".into() });
        prop_assert_eq!(after(StartError::Fatal("gone".into())), Directive::EndTree { reason: "gone".into() });
    }

    #[test]
    fn a_mode_restarts_the_exits_it_covers(exit in exits(), jitter: u64) {
        let stops = |restart| {
            decide(&RestartPolicy::default(), restart, &History::default(), &exit, ms(1), jitter) == Directive::Stop
        };
        let decided_before = matches!(exit, Exit::StartFailed(StartError::Config(_) | StartError::Fatal(_)));
        prop_assert_eq!(stops(Restart::Permanent), exit == Exit::Ordered);
        prop_assert_eq!(stops(Restart::OnFailure), matches!(exit, Exit::Ordered | Exit::Normal));
        prop_assert_eq!(stops(Restart::Never), !decided_before);
    }

    #[test]
    fn no_policy_makes_it_panic(
        (max_restarts, within, first, max, jitter) in (any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<f64>()),
        (now, after, drawn) in (any::<u64>(), any::<u64>(), any::<u64>()),
    ) {
        let seconds = Duration::from_secs;
        let backoff = Backoff { first: seconds(first), max: seconds(max), jitter };
        let policy = RestartPolicy { max_restarts, within: seconds(within), backoff, exhausted: ExhaustedAction::Quarantine };
        let mut history = History::default();
        history.record(&policy, seconds(now), seconds(after));
        history.record(&policy, seconds(after), seconds(now));
        decide(&policy, Restart::Permanent, &history, &panic_exit(), seconds(now), drawn);
        restart_delay(&policy.backoff, max_restarts, drawn);
    }
}

#[test]
fn default_backoff_doubles_to_five_seconds() {
    let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
    let delays: Vec<u128> = (0..12).map(|streak| restart_delay(&backoff, streak, 0).as_millis()).collect();
    assert_eq!(delays, [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000]);
}

#[test]
fn delays_stay_at_maximum_after_old_exits_expire() {
    let backoff = Backoff { first: ms(100), max: ms(400), jitter: 0.0 };
    let policy = RestartPolicy {
        max_restarts: 100,
        within: ms(1_000),
        backoff,
        exhausted: ExhaustedAction::Quarantine,
    };
    let lives: Vec<_> = (0..20).map(|_| (0, panic_exit(), 0)).collect();
    let actions = instance_count(&policy, &lives);
    assert!(
        actions[3..].iter().all(|(_, action)| *action == Directive::Restart { after: ms(400) }),
        "{actions:?}"
    );
}

#[test]
fn quiet_period_counts_from_the_due_restart() {
    let backoff = Backoff { first: ms(500), max: ms(500), jitter: 0.0 };
    let policy =
        RestartPolicy { max_restarts: 9, within: ms(100), backoff, exhausted: ExhaustedAction::Quarantine };
    let mut history = History::default();
    history.record(&policy, ms(0), ms(0));
    history.record(&policy, ms(10), ms(500));
    let delay = |at| decide(&policy, Restart::Permanent, &history, &panic_exit(), ms(at), 0);
    assert_eq!(delay(609), Directive::Restart { after: ms(500) });
    assert_eq!(delay(610), Directive::Restart { after: ms(0) });
}

#[test]
fn the_reason_tells_count_window_and_last_exit() {
    let policy = RestartPolicy { max_restarts: 2, ..RestartPolicy::default() };
    let lives: Vec<_> = (0..3).map(|_| (1, panic_exit(), 0)).collect();
    let (_, last) = instance_count(&policy, &lives).pop().unwrap();
    let reason = "2 restarts within 30s were not enough; last exit: \
                  panicked at src/a.rs:1:2 while handling Peek: boom";
    assert_eq!(last, Directive::Quarantine { reason: reason.into() });
}

#[test]
fn a_cleared_history_has_its_whole_budget() {
    let policy = RestartPolicy { max_restarts: 1, ..RestartPolicy::default() };
    let mut history = History::default();
    history.record(&policy, ms(1), ms(0));
    history.clear();
    let action = decide(&policy, Restart::Permanent, &history, &panic_exit(), ms(2), 0);
    assert_eq!(action, Directive::Restart { after: ms(0) });
}

#[test]
fn exits_serialise_flat() {
    let exit = Exit::StartFailed(StartError::Config("no such key".into()));
    let value = serde_json::to_value(&exit).unwrap();
    assert_eq!(value, serde_json::json!({"exit": "start_failed", "kind": "config", "reason": "no such key"}));
}
