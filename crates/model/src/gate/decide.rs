//! The decision at a look: go on, wait, pause or roll back.

use std::time::Duration;

use super::judge::{CanaryFigures, CanaryVerdict, judge, judge_waiting, lacks_comparisons, lacks_runs};
use super::outcomes::StepOutcomes;
use super::plan::{CanaryPlan, LOOKS_A_STEP};

/// The state of a rollout when it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct CanaryLook<'a> {
    /// Index of the present step.
    pub step: usize,
    /// Number of looks at this step that were made before, with those of the wait for compared runs.
    pub looks: u32,
    /// Time since the step began.
    pub age: Duration,
    /// The outcomes of the steps up to the present one, which is the last.
    pub outcomes: &'a [StepOutcomes],
}

/// The decision.
#[derive(Clone, Debug, PartialEq)]
pub enum CanaryDecision {
    /// No look is due.
    NotDue,
    /// The step goes on; so many looks are made now.
    Wait {
        /// Number of looks, with this one.
        looks: u32,
        /// The figures of this look.
        figures: CanaryFigures,
    },
    /// The next step begins.
    Advance {
        /// Index of the next step.
        step: usize,
        /// The share of the traffic that the canary takes from now on.
        percentage: i64,
        /// The figures.
        figures: CanaryFigures,
    },
    /// The canary takes all traffic.
    Promote(CanaryFigures),
    /// Too few runs came in time: an operator decides.
    Pause(CanaryFigures),
    /// The canary is worse: the other version takes all traffic.
    RollBack {
        /// The test that failed.
        verdict: CanaryVerdict,
        /// The figures.
        figures: CanaryFigures,
    },
}

/// Returns whether a look at a step of that age is due, after so many.
pub fn is_look_due(plan: &CanaryPlan, looks: u32, age: Duration) -> bool {
    if plan.shadow {
        return false;
    }
    let passed = age.as_secs_f64() / plan.interval().as_secs_f64() * f64::from(LOOKS_A_STEP);
    // The last look is made again until there are runs enough, which is no test before.
    age >= plan.interval() || passed >= f64::from(looks + 1)
}

/// Decides at a look. A step has a fixed number of looks within its interval, at each of which a bad canary is rolled
/// back; at the last one a good canary goes on. While the last one waits for compared runs, the outcomes are tested as
/// often as the plan foresees and no more: each further test would find a good canary worse by chance.
pub fn decide(plan: &CanaryPlan, look: CanaryLook<'_>) -> CanaryDecision {
    let interval = plan.interval();
    if !is_look_due(plan, look.looks, look.age) {
        return CanaryDecision::NotDue;
    }
    let is_last = look.age >= interval;
    let is_waiting = is_last && lacks_comparisons(plan, look.outcomes);
    let (looks, (verdict, figures)) = if is_waiting {
        let due = plan.looks_due_waiting(look.age);
        let (verdict, figures) = judge_waiting(plan, look.outcomes);
        if due > look.looks && !lacks_runs(plan, look.outcomes) {
            (due, (verdict, figures))
        } else {
            (look.looks, (CanaryVerdict::TooFew, figures))
        }
    } else {
        let looks = if is_last { LOOKS_A_STEP } else { (look.looks + 1).min(LOOKS_A_STEP - 1) };
        (looks.max(look.looks), judge(plan, look.outcomes))
    };
    match verdict {
        CanaryVerdict::MoreErrors | CanaryVerdict::Slower | CanaryVerdict::Different => {
            CanaryDecision::RollBack { verdict, figures }
        }
        CanaryVerdict::Good if is_last => match plan.steps.get(look.step + 1) {
            Some(&percentage) if percentage < 100 => {
                CanaryDecision::Advance { step: look.step + 1, percentage, figures }
            }
            _ => CanaryDecision::Promote(figures),
        },
        CanaryVerdict::TooFew
            if is_last && look.age >= interval + Duration::from_secs(plan.gate.max_wait_secs) =>
        {
            CanaryDecision::Pause(figures)
        }
        CanaryVerdict::TooFew | CanaryVerdict::Good => CanaryDecision::Wait { looks, figures },
    }
}
