use std::time::Duration;

use serde_json::{Value, json};

use super::judge::critical_deviation;
use super::*;

/// A generator of equally distributed bits (SplitMix64).
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws from (0, 1].
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// The conduct of a version: its share of failed runs, and a factor of its durations.
#[derive(Clone, Copy)]
struct Conduct {
    failing: f64,
    factor: f64,
}

const STABLE: Conduct = Conduct { failing: 0.002, factor: 1.0 };

fn plan(body: &Value) -> CanaryPlan {
    CanaryPlan::parse(body.as_object().unwrap(), None).unwrap().unwrap()
}

fn usual_plan() -> CanaryPlan {
    plan(&json!({"steps": [10, 25, 50, 100], "interval_secs": 10}))
}

/// Runs a rollout in virtual time, a quarter of an interval after the other. Returns the last decision and the seconds
/// until it was made.
fn run(plan: &CanaryPlan, rate: u64, seed: u64, canary: Conduct) -> (CanaryDecision, f64) {
    let mut bits = Bits(seed);
    let mut outcomes = vec![StepOutcomes::default()];
    let (mut step, mut looks, mut quarter, mut total) = (0, 0, 0_u32, 0.0);
    loop {
        quarter += 1;
        total += plan.interval_secs as f64 / 4.0;
        let share = plan.steps[step] as f64 / 100.0;
        let last = outcomes.last_mut().unwrap();
        for _ in 0..rate * plan.interval_secs / 4 {
            let (counts, conduct) =
                if bits.share() < share { (&mut last.canary, canary) } else { (&mut last.stable, STABLE) };
            let nanoseconds = (-bits.share().ln() * conduct.factor * 5e6) as u64;
            counts.runs += 1;
            counts.errors += u64::from(bits.share() < conduct.failing);
            counts.durations.resize(SLOTS, 0);
            counts.durations[slot_of(nanoseconds)] += 1;
        }
        let age = Duration::from_secs(plan.interval_secs) * quarter / 4;
        match decide(plan, CanaryLook { step, looks, age, outcomes: &outcomes }) {
            CanaryDecision::NotDue => {}
            CanaryDecision::Wait { looks: made, .. } => looks = made,
            CanaryDecision::Advance { step: next, .. } => {
                (step, looks, quarter) = (next, 0, 0);
                outcomes.push(StepOutcomes::default());
            }
            end => return (end, total),
        }
    }
}

#[test]
fn innocent_canaries_are_promoted_in_all_seeds() {
    for seed in 0..100 {
        let (end, seconds) = run(&usual_plan(), 200, seed, STABLE);
        assert!(matches!(end, CanaryDecision::Promote(_)), "{seed}: {end:?}");
        assert!((29.9..40.1).contains(&seconds), "{seed}: {seconds}");
    }
}

#[test]
fn worse_canaries_are_rolled_back_within_two_intervals() {
    let failing = Conduct { failing: 0.032, ..STABLE };
    let slow = Conduct { factor: 2.0, ..STABLE };
    for seed in 0..5 {
        for (conduct, expected) in [(failing, CanaryVerdict::MoreErrors), (slow, CanaryVerdict::Slower)] {
            let (end, seconds) = run(&usual_plan(), 1000, seed, conduct);
            let CanaryDecision::RollBack { verdict, .. } = end else { panic!("{seed}: {end:?}") };
            assert_eq!(verdict, expected, "{seed}");
            assert!(seconds <= 20.0, "{seed}: {seconds}");
        }
    }
}

#[test]
fn low_traffic_waits_and_then_pauses() {
    let plan = plan(&json!({"steps": [10], "interval_secs": 60, "gate": {"max_wait_secs": 120}}));
    let (end, seconds) = run(&plan, 4, 1, STABLE);
    assert!(matches!(end, CanaryDecision::Pause(figures) if figures.canary_runs < 200));
    assert!((seconds - 180.0).abs() < 0.1, "{seconds}");
}

#[test]
fn bad_hour_of_both_versions_is_no_reason() {
    let plan = usual_plan();
    let counts = |runs: u64, errors: u64| OutcomeCounts { runs, errors, durations: vec![0, runs] };
    let compared = CompareCounts::default();
    let calm = StepOutcomes { canary: counts(1000, 10), stable: counts(9000, 90), compared };
    let storm = StepOutcomes { canary: counts(5000, 1500), stable: counts(5000, 1500), compared };
    assert_eq!(judge(&plan, &[calm, storm]).0, CanaryVerdict::Good);
}

#[test]
fn few_runs_of_either_version_do_not_alarm() {
    let plan = plan(&json!({"steps": [90], "gate": {"min_runs": 30}}));
    let counts = |runs: u64, errors: u64| OutcomeCounts { runs, errors, durations: vec![0, runs] };
    for (canary, stable) in [((30, 1), (300, 0)), ((3000, 200), (30, 0)), ((30, 3), (30, 0))] {
        let (canary_counts, stable_counts) = (counts(canary.0, canary.1), counts(stable.0, stable.1));
        let step = StepOutcomes { canary: canary_counts, stable: stable_counts, ..StepOutcomes::default() };
        assert_eq!(judge(&plan, &[step]).0, CanaryVerdict::Good, "{canary:?} {stable:?}");
    }
}

#[test]
fn differing_answers_roll_back_beyond_permitted_share() {
    let plan = plan(&json!({"steps": [50], "gate": {"compare": 1, "max_difference_ratio": 0.02}}));
    let counts = OutcomeCounts { runs: 1000, errors: 0, durations: vec![0, 1000] };
    for (different, expected) in
        [(0, CanaryVerdict::Good), (25, CanaryVerdict::Good), (60, CanaryVerdict::Different)]
    {
        let compared = CompareCounts { runs: 1000, different };
        let step = StepOutcomes { canary: counts.clone(), stable: counts.clone(), compared };
        let (verdict, figures) = judge(&plan, &[step]);
        assert_eq!((verdict, figures.different_runs), (expected, different));
    }
    let step = StepOutcomes { canary: counts.clone(), stable: counts, ..StepOutcomes::default() };
    assert_eq!(judge(&plan, &[step]).0, CanaryVerdict::TooFew, "nothing was compared");
}

#[test]
fn quantiles_are_those_of_tables() {
    for (probability, expected) in
        [(0.025, 1.959_964), (0.001, 3.090_232), (1e-6, 4.753_424), (0.25, 0.674_490)]
    {
        let deviation = critical_deviation(probability);
        assert!((deviation - expected).abs() < 1e-5, "{probability}: {deviation}");
    }
}

#[test]
fn slots_hold_their_durations() {
    let mut last = 0;
    for nanoseconds in (0..40).flat_map(|power| [1_u64 << power, (1 << power) * 5 / 4, (1 << power) * 15 / 8])
    {
        let slot = slot_of(nanoseconds);
        assert!(slot >= last, "{nanoseconds}");
        assert!(nanoseconds < slot_bound(slot) || slot == SLOTS - 1, "{nanoseconds}");
        assert!(slot == 0 || nanoseconds >= slot_bound(slot - 1), "{nanoseconds}");
        last = slot;
    }
    assert_eq!(last, SLOTS - 1);
}

#[test]
fn counts_add_up_and_survive_their_text() {
    let mut sum = OutcomeCounts { runs: 3, errors: 1, durations: vec![1, 2] };
    let more = OutcomeCounts { runs: 100, errors: 0, durations: vec![0, 98, 0, 2] };
    sum.add(&more);
    assert_eq!(sum, OutcomeCounts { runs: 103, errors: 1, durations: vec![1, 100, 0, 2] });
    assert_eq!(OutcomeCounts::read_durations(&sum.durations_text()), sum.durations);
    assert_eq!((sum.p99_slot(), sum.above(1)), (Some(3), 2));
    assert_eq!((more.p99_slot(), OutcomeCounts::default().p99_slot()), (Some(3), None));
    assert_eq!(sum.since(&more).runs, 3);
    assert!(OutcomeCounts::read_durations("rubbish").is_empty());
}

#[test]
fn plan_survives_its_document() {
    let body = json!({"steps": [5, 50], "interval_secs": 60, "on_rollback": "alarm",
        "gate": {"min_runs": 50, "max_wait_secs": 5, "max_error_ratio_delta": 0.5, "confidence": 0.99}});
    let first = plan(&body);
    assert_eq!(first.gate.max_p99_ratio, 1.5);
    assert_eq!(plan(&first.to_json()), first);
    let alone = CanaryPlan::parse(json!({"gate": {}}).as_object().unwrap(), Some(20)).unwrap().unwrap();
    assert_eq!((alone.steps, alone.interval_secs), (vec![20], 300));
    let compared = plan(&json!({"steps": [5], "gate": {"compare": 0.5, "max_difference_ratio": 0.02}}));
    assert_eq!(compared.gate.compare, Some(CompareTerms { share: 0.5, max_difference_ratio: 0.02 }));
    assert_eq!(plan(&compared.to_json()), compared);
    let shadow = plan(&json!({"shadow": true}));
    assert_eq!((shadow.first_percentage(), plan(&shadow.to_json())), (0, shadow.clone()));
    assert!(!is_look_due(&shadow, 0, Duration::from_secs(1_000_000)));
    assert_eq!(CanaryPlan::parse(json!({"shadow": false}).as_object().unwrap(), None), Ok(None));
}

#[test]
fn impossible_plan_names_place_and_remedy() {
    for (body, path) in [
        (json!({"steps": [10, 5]}), "body.steps"),
        (json!({"steps": []}), "body.steps"),
        (json!({"steps": [100]}), "body.steps"),
        (json!({"steps": "10"}), "body.steps"),
        (json!({"gate": {}}), "body.steps"),
        (json!({"steps": [10], "interval_secs": 9}), "body.interval_secs"),
        (json!({"steps": [10], "gate": {"min_run": 5}}), "body.gate.min_run"),
        (json!({"steps": [10], "gate": {"confidence": 1}}), "body.gate.confidence"),
        (json!({"steps": [10], "gate": {"compare": 2}}), "body.gate.compare"),
        (json!({"steps": [10], "gate": {"max_difference_ratio": 0.1}}), "body.gate.max_difference_ratio"),
        (json!({"shadow": 1}), "body.shadow"),
        (json!({"shadow": true, "steps": [10]}), "body.steps"),
        (json!({"steps": [10], "on_rollback": 5}), "body.on_rollback"),
    ] {
        let errors = CanaryPlan::parse(body.as_object().unwrap(), None).unwrap_err();
        assert_eq!(errors[0].path, path, "{body}");
    }
    let differing = CanaryPlan::parse(json!({"steps": [10]}).as_object().unwrap(), Some(20)).unwrap_err();
    assert_eq!(differing[0].path, "body.rollout_percentage");
}
