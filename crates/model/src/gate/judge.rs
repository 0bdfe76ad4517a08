//! The comparison of the outcomes of two versions: one-sided tests of two proportions.
//!
//! Each step is a stratum of its own: the share of the canary grows from step to step, so that a bad hour of both
//! versions would otherwise count against the one that served more of it. The differences of the strata are weighted
//! by the runs that they compare. The variance of a difference is the larger one of two estimates, with the observed
//! shares and with those under the hypothesis, so that few runs of either version cannot alarm.

use serde_json::{Value, json};

use super::outcomes::{CompareCounts, OutcomeCounts, PERCENTILES, StepOutcomes, slot_bound, slot_of};
use super::plan::CanaryPlan;

/// Compared runs that a rollout needs if its gate compares them.
const MIN_COMPARED: u64 = 30;

/// The time in nanoseconds by which a percentile below the 99th may grow whatever the ratio: a run that is compared is
/// recorded, which takes a part of it.
const PERMITTED_GROWTH: u64 = 100_000;

/// The figures of a comparison, as the audit row and the API show them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CanaryFigures {
    /// Runs of the newer version in this step.
    pub canary_runs: u64,
    /// Runs of the older version in this step.
    pub stable_runs: u64,
    /// Failed runs of the newer version in this step.
    pub canary_errors: u64,
    /// Failed runs of the older version in this step.
    pub stable_errors: u64,
    /// WeightedDifference of the shares of failed runs, over all steps.
    pub error_ratio_delta: f64,
    /// Standard errors by which that difference exceeds the permitted one.
    pub error_deviation: f64,
    /// The percentiles of the durations, the 99th first.
    pub durations: [PercentileFigures; PERCENTILES.len()],
    /// Messages of this step that both versions ran.
    pub compared_runs: u64,
    /// Those among them whose runs differ.
    pub different_runs: u64,
    /// Share of them over all steps; `None` if nothing is compared.
    pub difference_ratio: Option<f64>,
    /// Standard errors by which that share exceeds the permitted one.
    pub difference_deviation: f64,
    /// Standard errors from which on a difference counts.
    pub critical_deviation: f64,
}

/// The durations of both versions at a percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PercentileFigures {
    /// The percentile.
    pub percent: u64,
    /// The duration of the newer version in this step, in milliseconds.
    pub canary_ms: Option<f64>,
    /// The duration of the older version in this step, in milliseconds.
    pub stable_ms: Option<f64>,
    /// Standard errors by which the share of slow runs exceeds that of the older version, over all steps.
    pub deviation: f64,
}

impl PercentileFigures {
    /// Returns the quotient of the durations.
    pub fn ratio(&self) -> Option<f64> {
        self.canary_ms.zip(self.stable_ms).map(|(canary, stable)| canary / stable)
    }
}

impl CanaryFigures {
    /// Returns the percentile at which the newer version is the slowest, measured by its test.
    pub fn slowest(&self) -> PercentileFigures {
        let [first, others @ ..] = self.durations;
        others.into_iter().fold(
            first,
            |slowest, other| {
                if other.deviation > slowest.deviation { other } else { slowest }
            },
        )
    }

    /// Returns the figures as a document.
    pub fn to_json(&self) -> Value {
        let mut figures = json!({
            "canary": {"runs": self.canary_runs, "errors": self.canary_errors},
            "stable": {"runs": self.stable_runs, "errors": self.stable_errors},
            "error_ratio_delta": self.error_ratio_delta,
            "error_deviation": self.error_deviation,
            "slow_deviation": self.slowest().deviation,
            "critical_deviation": self.critical_deviation,
        });
        for durations in &self.durations {
            let name = format!("p{}", durations.percent);
            figures["canary"][format!("{name}_ms")] = durations.canary_ms.into();
            figures["stable"][format!("{name}_ms")] = durations.stable_ms.into();
            figures[format!("{name}_ratio")] = durations.ratio().into();
        }
        if let Some(ratio) = self.difference_ratio {
            figures["compared"] = json!({"runs": self.compared_runs, "different": self.different_runs});
            figures["difference_ratio"] = ratio.into();
            figures["difference_deviation"] = self.difference_deviation.into();
        }
        figures
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanaryVerdict {
    /// Too few runs for a comparison.
    TooFew,
    /// No test finds the newer version worse than permitted.
    Good,
    /// It fails more than permitted.
    MoreErrors,
    /// It is slower than permitted.
    Slower,
    /// It answers differently more often than permitted.
    Different,
}

/// Compares the outcomes of the steps up to the present one, which is the last.
pub fn judge(plan: &CanaryPlan, steps: &[StepOutcomes]) -> (CanaryVerdict, CanaryFigures) {
    judge_at(plan, steps, plan.significance())
}

/// Compares the outcomes at a look of a step that waits for compared runs.
pub(super) fn judge_waiting(plan: &CanaryPlan, steps: &[StepOutcomes]) -> (CanaryVerdict, CanaryFigures) {
    judge_at(plan, steps, plan.significance() / f64::from(plan.waiting_looks().max(1)))
}

/// Returns true if either version has too few runs for any test.
pub(super) fn lacks_runs(plan: &CanaryPlan, steps: &[StepOutcomes]) -> bool {
    let canary_runs = steps.last().map_or(0, |step| step.canary.runs);
    let stable_runs: u64 = steps.iter().map(|step| step.stable.runs).sum();
    canary_runs < plan.gate.min_runs || stable_runs < plan.gate.min_runs
}

/// Returns true if the gate compares answers, and too few of them were compared.
pub(super) fn lacks_comparisons(plan: &CanaryPlan, steps: &[StepOutcomes]) -> bool {
    let compared: u64 = steps.iter().map(|step| step.compared.runs).sum();
    plan.gate.compare.is_some() && compared < MIN_COMPARED
}

/// Compares the outcomes, with the probability at which each test errs.
fn judge_at(plan: &CanaryPlan, steps: &[StepOutcomes], significance: f64) -> (CanaryVerdict, CanaryFigures) {
    let gate = &plan.gate;
    let mut errors = WeightedDifference::default();
    let mut slow = [WeightedDifference::default(); PERCENTILES.len()];
    for step in steps {
        let (canary, stable) = (&step.canary, &step.stable);
        errors.add(
            Share { hits: canary.errors, runs: canary.runs },
            Share { hits: stable.errors, runs: stable.runs },
            gate.max_error_ratio_delta,
        );
        for (percent, slow) in PERCENTILES.into_iter().zip(&mut slow) {
            if let Some(slot) = stable.percentile_slot(percent) {
                let limit = slow_slot(percent, slot, gate.max_p99_ratio);
                slow.add(slow_share(canary, limit), slow_share(stable, slot), 0.0);
            }
        }
    }
    let mut figures = CanaryFigures {
        error_ratio_delta: errors.mean(),
        error_deviation: errors.deviation(gate.max_error_ratio_delta),
        durations: describe_durations(slow, steps.last()),
        critical_deviation: critical_deviation(significance),
        ..CanaryFigures::default()
    };
    let mut all = CompareCounts::default();
    steps.iter().for_each(|step| all.add(step.compared));
    if let Some(compare) = &gate.compare {
        let share = Share { hits: all.different, runs: all.runs };
        figures.difference_ratio = Some(if all.runs > 0 { share.ratio() } else { 0.0 });
        figures.difference_deviation = share.deviation_above(compare.max_difference_ratio);
    }
    let Some(last) = steps.last() else { return (CanaryVerdict::TooFew, figures) };
    describe_step(&mut figures, last);
    let verdict = if lacks_runs(plan, steps) {
        CanaryVerdict::TooFew
    } else if figures.error_deviation > figures.critical_deviation {
        CanaryVerdict::MoreErrors
    } else if figures.slowest().deviation > figures.critical_deviation {
        CanaryVerdict::Slower
    } else if figures.difference_deviation > figures.critical_deviation {
        CanaryVerdict::Different
    } else if lacks_comparisons(plan, steps) {
        CanaryVerdict::TooFew
    } else {
        CanaryVerdict::Good
    };
    (verdict, figures)
}

/// Describes the durations at each percentile: the tests over all steps, and the durations of the last one.
fn describe_durations(
    slow: [WeightedDifference; PERCENTILES.len()],
    step: Option<&StepOutcomes>,
) -> [PercentileFigures; PERCENTILES.len()] {
    let milliseconds = |counts: &OutcomeCounts, percent: u64| {
        counts.percentile_slot(percent).map(|slot| to_float(slot_bound(slot)) / 1e6)
    };
    let mut durations = [PercentileFigures::default(); PERCENTILES.len()];
    for ((figures, percent), slow) in durations.iter_mut().zip(PERCENTILES).zip(slow) {
        *figures = PercentileFigures {
            percent,
            canary_ms: step.and_then(|step| milliseconds(&step.canary, percent)),
            stable_ms: step.and_then(|step| milliseconds(&step.stable, percent)),
            deviation: slow.deviation(0.0),
        };
    }
    durations
}

fn describe_step(figures: &mut CanaryFigures, step: &StepOutcomes) {
    (figures.canary_runs, figures.canary_errors) = (step.canary.runs, step.canary.errors);
    (figures.stable_runs, figures.stable_errors) = (step.stable.runs, step.stable.errors);
    (figures.compared_runs, figures.different_runs) = (step.compared.runs, step.compared.different);
}

/// Returns the slot above which a run of the canary counts as slow. The limit is the percentile times the permitted
/// ratio. Its slot is the first that counts at the 99th, which was rounded up. At the others it is the last that does
/// not: it may hold a great part of the runs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest number of the range"
)]
fn slow_slot(percent: u64, slot: usize, ratio: f64) -> usize {
    let bound = slot_bound(slot);
    let limit = (to_float(bound) * ratio) as u64;
    if percent == 99 {
        slot_of(limit).saturating_sub(1).max(slot)
    } else {
        slot_of(limit.max(bound + PERMITTED_GROWTH)).max(slot)
    }
}

fn slow_share(counts: &OutcomeCounts, slot: usize) -> Share {
    Share { hits: counts.above(slot), runs: counts.durations.iter().sum() }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs and durations are far below 2^52")]
const fn to_float(number: u64) -> f64 {
    number as f64
}

/// Runs, and those among them that count.
#[derive(Clone, Copy, Debug)]
struct Share {
    hits: u64,
    runs: u64,
}

impl Share {
    fn ratio(self) -> f64 {
        to_float(self.hits) / to_float(self.runs)
    }

    /// Returns the standard errors by which the share exceeds a permitted one. The variance is the larger one of two
    /// estimates, as that of a difference is, and never that of less than one run.
    fn deviation_above(self, permitted: f64) -> f64 {
        if self.runs == 0 {
            return 0.0;
        }
        let (runs, ratio) = (to_float(self.runs), self.ratio());
        let spread = |ratio: f64| ratio * (1.0 - ratio) / runs;
        let variance = spread(ratio).max(spread(permitted)).max(1.0 / (runs * runs));
        (ratio - permitted) / variance.sqrt()
    }
}

/// The weighted difference of two shares over all strata.
#[derive(Clone, Copy, Debug, Default)]
struct WeightedDifference {
    weights: f64,
    sum: f64,
    variance: f64,
}

impl WeightedDifference {
    /// Adds a stratum. `margin` is the difference that the hypothesis permits.
    fn add(&mut self, canary: Share, stable: Share, margin: f64) {
        if canary.runs == 0 || stable.runs == 0 {
            return;
        }
        let (runs, other_runs) = (to_float(canary.runs), to_float(stable.runs));
        let weight = runs * other_runs / (runs + other_runs);
        let spread =
            |ratio: f64, other: f64| ratio * (1.0 - ratio) / runs + other * (1.0 - other) / other_runs;
        let observed = spread(canary.ratio(), stable.ratio());
        let pooled = to_float(canary.hits + stable.hits) / (runs + other_runs);
        let expected_stable = (pooled - margin * runs / (runs + other_runs)).clamp(0.0, 1.0);
        let expected = spread((expected_stable + margin).clamp(0.0, 1.0), expected_stable);
        self.weights += weight;
        self.sum += weight * (canary.ratio() - stable.ratio());
        self.variance += weight * weight * observed.max(expected);
    }

    fn mean(self) -> f64 {
        if self.weights > 0.0 { self.sum / self.weights } else { 0.0 }
    }

    /// Returns the standard errors by which the difference exceeds `margin`.
    fn deviation(self, margin: f64) -> f64 {
        if self.variance > 0.0 { (self.sum - margin * self.weights) / self.variance.sqrt() } else { 0.0 }
    }
}

/// Returns the deviation that a standard normal variable exceeds with this probability, which is below one half.
pub(super) fn critical_deviation(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 40.0_f64);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the probability that a standard normal variable exceeds `deviation`, which is not negative.
fn upper_tail(deviation: f64) -> f64 {
    let density = (-deviation * deviation / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if deviation < 2.0 {
        // The integral as the series x + x^3/3 + x^5/15 + …, times the density.
        let (mut term, mut sum) = (deviation, deviation);
        for n in 1..60 {
            term *= deviation * deviation / f64::from(2 * n + 1);
            sum += term;
        }
        return 0.5 - density * sum;
    }
    // The continued fraction 1/(x + 1/(x + 2/(x + …))), times the density.
    let fraction = (1..=200).rev().fold(deviation, |inner, n| deviation + f64::from(n) / inner);
    density / fraction
}
