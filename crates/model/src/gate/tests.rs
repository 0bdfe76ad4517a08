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

/// The conduct of a version: its shares of failed runs and of answers that differ, and a factor of its durations.
#[derive(Clone, Copy)]
struct Conduct {
    failing: f64,
    different: f64,
    factor: f64,
}

const STABLE: Conduct = Conduct { failing: 0.002, different: 0.002, factor: 1.0 };

/// The durations of the runs of a version.
enum DrawnDurations {
    /// Exponentially distributed, with a mean of 5 ms.
    Exponential,
    /// Drawn from recorded ones: the number of runs up to each slot.
    Recorded(Vec<u64>),
}

impl DrawnDurations {
    /// Reads the durations of a service under load on a busy machine: most runs take a tenth of a millisecond, one of a
    /// hundred 50 ms and more.
    fn read_recorded() -> Self {
        let counts = OutcomeCounts::read_durations(include_str!("recorded_durations.json"));
        let up_to = counts.iter().scan(0_u64, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        Self::Recorded(up_to.collect())
    }

    /// Draws a duration in nanoseconds.
    fn draw(&self, bits: &mut Bits) -> f64 {
        match self {
            Self::Exponential => -bits.share().ln() * 5e6,
            Self::Recorded(up_to) => {
                let drawn = bits.next() % up_to.last().unwrap();
                (slot_bound(up_to.partition_point(|sum| *sum <= drawn)) - 1) as f64
            }
        }
    }
}

fn plan(body: &Value) -> CanaryPlan {
    CanaryPlan::parse(body.as_object().unwrap(), None).unwrap().unwrap()
}

fn usual_plan() -> CanaryPlan {
    plan(&json!({"steps": [10, 25, 50, 100], "interval_secs": 10}))
}

/// Runs a rollout in virtual time, a quarter of an interval after the other. Returns the last decision and the seconds
/// until it was made.
fn run(plan: &CanaryPlan, rate: u64, seed: u64, canary: Conduct) -> (CanaryDecision, f64) {
    run_with(&DrawnDurations::Exponential, plan, (rate, seed), canary)
}

fn run_with(
    durations: &DrawnDurations,
    plan: &CanaryPlan,
    (rate, seed): (u64, u64),
    canary: Conduct,
) -> (CanaryDecision, f64) {
    let mut bits = Bits(seed);
    let mut outcomes = vec![StepOutcomes::default()];
    let (mut step, mut looks, mut quarter, mut total) = (0, 0, 0_u32, 0.0);
    loop {
        quarter += 1;
        total += plan.interval_secs as f64 / 4.0;
        let share = plan.steps[step] as f64 / 100.0;
        let last = outcomes.last_mut().unwrap();
        for _ in 0..rate * plan.interval_secs / 4 {
            let is_canary = bits.share() < share;
            if is_canary && plan.gate.compare.is_some() {
                last.compared.runs += 1;
                last.compared.different += u64::from(bits.share() < canary.different);
            }
            let (counts, conduct) =
                if is_canary { (&mut last.canary, canary) } else { (&mut last.stable, STABLE) };
            let nanoseconds = (durations.draw(&mut bits) * conduct.factor) as u64;
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
fn innocent_canaries_pass_on_recorded_outcomes() {
    let durations = DrawnDurations::read_recorded();
    let plan = plan(&json!({"steps": [10, 25, 50, 100], "interval_secs": 10, "gate": {"compare": 1}}));
    for seed in 0..100 {
        let (end, seconds) = run_with(&durations, &plan, (200, seed), STABLE);
        assert!(matches!(end, CanaryDecision::Promote(_)), "{seed}: {end:?}");
        assert!((29.9..40.1).contains(&seconds), "{seed}: {seconds}");
    }
}

#[test]
fn worse_canaries_fail_on_recorded_outcomes() {
    let durations = DrawnDurations::read_recorded();
    let plan = plan(&json!({"steps": [10, 25, 50, 100], "interval_secs": 10, "gate": {"compare": 1}}));
    let failing = Conduct { failing: 0.032, ..STABLE };
    let differing = Conduct { different: 0.05, ..STABLE };
    let slow = Conduct { factor: 2.0, ..STABLE };
    for seed in 0..5 {
        for (conduct, expected) in [
            (failing, CanaryVerdict::MoreErrors),
            (differing, CanaryVerdict::Different),
            (slow, CanaryVerdict::Slower),
        ] {
            let (end, seconds) = run_with(&durations, &plan, (1000, seed), conduct);
            let CanaryDecision::RollBack { verdict, .. } = end else { panic!("{seed}: {end:?}") };
            assert_eq!(verdict, expected, "{seed}");
            assert!(seconds <= 20.0, "{seed}: {seconds}");
        }
    }
}

/// Returns the outcomes of runs that take so many nanoseconds each, but for one in fifty, which takes a second.
fn lasting(runs: u64, nanoseconds: u64) -> OutcomeCounts {
    let mut durations = vec![0; SLOTS];
    durations[slot_of(nanoseconds)] = runs - runs / 50;
    durations[slot_of(1_000_000_000)] = runs / 50;
    OutcomeCounts { runs, errors: 0, durations }
}

#[test]
fn slower_runs_below_a_noisy_tail_are_found() {
    let plan = usual_plan();
    for (stable, canary, expected) in [
        (1_000_000, 1_000_000, CanaryVerdict::Good),
        (1_000_000, 1_400_000, CanaryVerdict::Good),
        (1_000_000, 2_000_000, CanaryVerdict::Slower),
        // Below the permitted growth, though twice as slow.
        (40_000, 80_000, CanaryVerdict::Good),
        (200_000, 400_000, CanaryVerdict::Slower),
    ] {
        let (canary, stable) = (lasting(1000, canary), lasting(9000, stable));
        let step = StepOutcomes { canary, stable, ..StepOutcomes::default() };
        let (verdict, figures) = judge(&plan, &[step]);
        assert_eq!(verdict, expected, "{figures:?}");
        if expected == CanaryVerdict::Slower {
            let slowest = figures.slowest();
            assert!(slowest.percent < 99, "{slowest:?}");
            assert!((1.9..2.1).contains(&slowest.ratio().unwrap()), "{slowest:?}");
        }
    }
}

#[test]
fn figures_show_every_percentile() {
    let step = StepOutcomes {
        canary: lasting(1000, 2_000_000),
        stable: lasting(1000, 1_000_000),
        ..StepOutcomes::default()
    };
    let figures = judge(&usual_plan(), &[step]).1.to_json();
    for name in ["p99_ratio", "p90_ratio", "p50_ratio", "slow_deviation"] {
        assert!(figures[name].is_number(), "{name}: {figures}");
    }
    assert!(figures["canary"]["p50_ms"].as_f64() > figures["stable"]["p50_ms"].as_f64(), "{figures}");
}

#[test]
fn low_traffic_waits_and_then_pauses() {
    let plan = plan(&json!({"steps": [10], "interval_secs": 60, "gate": {"max_wait_secs": 120}}));
    let (end, seconds) = run(&plan, 4, 1, STABLE);
    assert!(matches!(end, CanaryDecision::Pause(figures) if figures.canary_runs < 200));
    assert!((seconds - 180.0).abs() < 0.1, "{seconds}");
}

/// Runs a rollout of one step in which nothing is compared, so that it waits to the end. Both versions have ten runs a
/// second, of which the older one fails a fifth.
fn wait_for_comparisons(seed: u64, failing: f64) -> CanaryDecision {
    let gate = json!({"min_runs": 30, "max_wait_secs": 310, "max_error_ratio_delta": 0, "compare": 0.001,
        "confidence": 0.5});
    let plan = plan(&json!({"steps": [50], "interval_secs": 10, "gate": gate}));
    let mut bits = Bits(seed);
    let mut outcomes = [StepOutcomes::default()];
    let (mut looks, mut age) = (0, Duration::ZERO);
    loop {
        age += Duration::from_secs(5);
        let [StepOutcomes { canary, stable, .. }] = &mut outcomes;
        for _ in 0..50 {
            canary.errors += u64::from(bits.share() < failing);
            stable.errors += u64::from(bits.share() < 0.2);
        }
        (canary.runs, stable.runs) = (canary.runs + 50, stable.runs + 50);
        match decide(&plan, CanaryLook { step: 0, looks, age, outcomes: &outcomes }) {
            CanaryDecision::NotDue => {}
            CanaryDecision::Wait { looks: made, .. } => looks = made,
            end => return end,
        }
    }
}

#[test]
fn long_wait_keeps_the_confidence() {
    let mut worse = 0;
    for seed in 0..100 {
        match wait_for_comparisons(seed, 0.2) {
            CanaryDecision::RollBack { .. } => worse += 1,
            end => assert!(matches!(end, CanaryDecision::Pause(_)), "{seed}: {end:?}"),
        }
    }
    // By all five tests a half of them may be found worse.
    assert!(worse <= 10, "{worse} of 100");
}

#[test]
fn worse_canary_fails_during_a_wait() {
    for seed in 0..5 {
        let end = wait_for_comparisons(seed, 0.4);
        let is_found = matches!(&end, CanaryDecision::RollBack { verdict: CanaryVerdict::MoreErrors, .. });
        assert!(is_found, "{seed}: {end:?}");
    }
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
    assert_eq!((sum.percentile_slot(99), sum.percentile_slot(50), sum.above(1)), (Some(3), Some(1), 2));
    assert_eq!((more.percentile_slot(99), OutcomeCounts::default().percentile_slot(99)), (Some(3), None));
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
