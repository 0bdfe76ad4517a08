//! The cases of the drill: the conduct of a newer version, its definition, and the end that its rollout must have.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::reporting::{name_run, report};
use svc_testkit::witness::WitnessedRun;

/// Number of the version that serves before the rollout.
pub(crate) const OLDER: i64 = 1;
/// Number of the version that the rollout is about.
pub(crate) const NEWER: i64 = 2;
/// Length of a step, the shortest that a plan may have.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);
/// Name of the channel that gets the reports of rollbacks.
pub(crate) const ALARM: &str = "alarm";
/// Messages among which the shares of failing and differing ones are counted.
const ROLLS: u64 = 1000;
/// First roll of the messages that the newer version answers differently.
const DIFFERENT_FROM: u64 = 500;
/// Factor of an answer.
const FACTOR: u64 = 3;
/// Shortest time of the called system.
const SHORTEST_CALL: Duration = Duration::from_millis(2);
/// Mean of the exponentially distributed rest.
const MEAN_CALL: Duration = Duration::from_millis(8);
/// Bound of that rest, in means.
const LONGEST_CALL: f64 = 10.0;

/// The conduct of the newer version. Of both versions two in a thousand runs fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CanaryConduct {
    /// That of the older version.
    Alike,
    /// That of the older version; the runs of both call a system that takes its time.
    Calling,
    /// Four in a thousand answers differ, fewer than permitted; answers are compared.
    Compared,
    /// Three in a hundred runs more fail.
    Failing,
    /// The called system takes twice the time.
    Slow,
    /// Five in a hundred answers differ; answers are compared.
    Differing,
}

/// The point of a decision at which the node that makes it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillPoint {
    /// The decision is in a transaction that is not committed.
    BeforeStored,
    /// The commit is under way, and its answer is lost.
    AfterStored,
    /// A look at the step was made, and the decision is not due yet.
    BetweenSteps,
}

/// A rollout of the drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CanaryCase {
    /// Id of the workflow and of its channel.
    pub(crate) id: &'static str,
    pub(crate) conduct: CanaryConduct,
    /// Percentages of the steps.
    pub(crate) steps: &'static [i64],
    /// The point at which each decision is interrupted.
    pub(crate) kill: Option<KillPoint>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CanaryOutcome {
    Failed,
    /// The number that was answered.
    Answered(u64),
}

impl CanaryCase {
    /// Returns all cases: worse versions, innocent ones, and those whose deciding node is killed.
    pub(crate) fn all() -> Vec<Self> {
        const STEPS: &[i64] = &[10, 25, 50, 100];
        const KILLED_STEPS: &[i64] = &[25, 50, 100];
        let plain = |id, conduct| Self { id, conduct, steps: STEPS, kill: None };
        let killed = |id, conduct, kill| Self { id, conduct, steps: KILLED_STEPS, kill: Some(kill) };
        vec![
            plain("failing", CanaryConduct::Failing),
            plain("slow", CanaryConduct::Slow),
            plain("differing", CanaryConduct::Differing),
            plain("innocent-1", CanaryConduct::Alike),
            plain("innocent-2", CanaryConduct::Calling),
            plain("innocent-3", CanaryConduct::Compared),
            plain("innocent-4", CanaryConduct::Calling),
            plain("innocent-5", CanaryConduct::Compared),
            killed("promoted-before-stored", CanaryConduct::Alike, KillPoint::BeforeStored),
            killed("promoted-after-stored", CanaryConduct::Alike, KillPoint::AfterStored),
            killed("promoted-between-steps", CanaryConduct::Alike, KillPoint::BetweenSteps),
            killed("rolled-back-before-stored", CanaryConduct::Failing, KillPoint::BeforeStored),
            killed("rolled-back-after-stored", CanaryConduct::Failing, KillPoint::AfterStored),
        ]
    }

    /// Returns the state in which the rollout must end.
    pub(crate) const fn expected_state(&self) -> &'static str {
        if self.conduct.is_worse() { "rolled_back" } else { "promoted" }
    }

    /// Returns the body of the activation.
    pub(crate) fn activation(&self) -> Value {
        let mut body = json!({"status": "active", "steps": self.steps, "interval_secs": INTERVAL.as_secs(),
            "on_rollback": ALARM});
        if self.conduct.is_compared() {
            body["gate"] = json!({"compare": 1});
        }
        body
    }

    /// Returns the number of steps that are compared; after the last one the newer version takes all.
    pub(crate) fn compared_steps(&self) -> usize {
        self.steps.iter().filter(|share| **share < 100).count()
    }
}

impl CanaryConduct {
    pub(crate) const fn is_worse(self) -> bool {
        matches!(self, Self::Failing | Self::Slow | Self::Differing)
    }

    const fn is_compared(self) -> bool {
        matches!(self, Self::Compared | Self::Differing)
    }

    /// Returns how many of a thousand messages fail.
    const fn failing(self, version: i64) -> u64 {
        match (self, version) {
            (Self::Failing, NEWER) => 32,
            _ => 2,
        }
    }

    /// Returns how many of a thousand messages a version answers differently.
    const fn different(self, version: i64) -> u64 {
        match (self, version) {
            (Self::Differing, NEWER) => 50,
            (Self::Compared, NEWER) => 4,
            _ => 0,
        }
    }

    /// Returns the tasks of a version. Its answers show the version, unless answers are compared.
    pub(crate) fn tasks(self, version: i64) -> Value {
        let roll = json!({"var": "payload.roll"});
        let product = json!({"*": [{"var": "payload.n"}, FACTOR]});
        let until = DIFFERENT_FROM + self.different(version);
        let is_different = json!({"and": [{">=": [roll, DIFFERENT_FROM]}, {"<": [roll, until]}]});
        let total = json!({"if": [
            {"<": [roll, self.failing(version)]}, {"throw": "drill"},
            is_different, {"+": [product, 1]},
            product]});
        let mut mappings = vec![json!({"path": "data.total", "logic": total})];
        if !self.is_compared() {
            mappings.push(json!({"path": "data.version", "logic": version}));
        }
        let mut tasks = Vec::new();
        if matches!(self, Self::Calling | Self::Slow) {
            let times = if (self, version) == (Self::Slow, NEWER) { 2 } else { 1 };
            let call = report(&name_run(&format!("{times}x"), &json!({"var": "payload.n"})));
            tasks.extend(call.as_array().into_iter().flatten().cloned());
        }
        tasks.push(
            json!({"id": "sum", "name": "Sum", "function": {"name": "map", "input": {"mappings": mappings}}}),
        );
        tasks.into()
    }

    /// Computes the end of the run of a message.
    pub(crate) const fn outcome(self, version: i64, number: u64) -> CanaryOutcome {
        let roll = roll(number);
        if roll < self.failing(version) {
            return CanaryOutcome::Failed;
        }
        let is_different = roll >= DIFFERENT_FROM && roll < DIFFERENT_FROM + self.different(version);
        CanaryOutcome::Answered(number * FACTOR + is_different as u64)
    }
}

/// Returns the message of a number.
pub(crate) fn message(number: u64) -> Value {
    json!({"n": number, "roll": roll(number)})
}

const fn roll(number: u64) -> u64 {
    mix(number) % ROLLS
}

/// Returns the time that the called system takes for the call of a run, which names the factor and its message.
pub(crate) fn hold_call(run: &WitnessedRun) -> Duration {
    let named = run.occurrence.split_once("x-");
    let parsed = named.and_then(|(times, number)| Some((times.parse::<u32>().ok()?, number.parse().ok()?)));
    let Some((times, number)) = parsed else { return Duration::ZERO };
    let share = ((mix(mix(number)) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (SHORTEST_CALL + MEAN_CALL.mul_f64((-share.ln()).min(LONGEST_CALL))) * times
}

/// Returns equally distributed bits (SplitMix64).
const fn mix(number: u64) -> u64 {
    let bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(hits: impl Fn(u64) -> bool) -> usize {
        (0..100_000).filter(|number| hits(*number)).count()
    }

    #[test]
    fn conduct_has_its_shares() {
        let fails = |conduct: CanaryConduct, version| {
            count(|number| conduct.outcome(version, number) == CanaryOutcome::Failed)
        };
        assert!((150..250).contains(&fails(CanaryConduct::Failing, OLDER)));
        assert!((3_000..3_400).contains(&fails(CanaryConduct::Failing, NEWER)));
        for (conduct, expected) in
            [(CanaryConduct::Differing, 4_800..5_200), (CanaryConduct::Compared, 350..450)]
        {
            let differs = count(|number| conduct.outcome(NEWER, number) != conduct.outcome(OLDER, number));
            assert!(expected.contains(&differs), "{conduct:?}: {differs}");
        }
    }

    #[test]
    fn slow_call_takes_twice_its_time() {
        let hold = |occurrence: &str| {
            hold_call(&WitnessedRun { occurrence: occurrence.into(), ..WitnessedRun::default() })
        };
        assert_eq!(hold("2x-77"), hold("1x-77") * 2);
        assert!(hold("1x-77") >= SHORTEST_CALL);
        assert_eq!(hold("alarm-slow"), Duration::ZERO);
    }
}
