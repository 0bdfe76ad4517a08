//! The plan of a canary: its steps, their interval, and the gate between them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::field::FieldError;
use crate::validate::unknown_keys;

use super::outcomes::PERCENTILES;

/// The keys of a request that make a plan.
pub const CANARY_KEYS: [&str; 5] = ["steps", "interval_secs", "gate", "on_rollback", "shadow"];

/// Looks within the interval of a step; the last one decides whether the next step begins.
pub(super) const LOOKS_A_STEP: u32 = 2;

const GATE_KEYS: [&str; 7] = [
    "min_runs",
    "max_wait_secs",
    "max_error_ratio_delta",
    "max_p99_ratio",
    "compare",
    "max_difference_ratio",
    "confidence",
];
const MAX_STEPS: usize = 20;
/// Differences that are permitted without `max_difference_ratio`.
const DIFFERENCE_RATIO: f64 = 0.01;

/// The limits that the newer version must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CanaryGate {
    /// Runs of the newer version that a step needs.
    pub min_runs: u64,
    /// Time for which a step waits for them beyond its interval.
    pub max_wait_secs: u64,
    /// Permitted difference of the shares of failed runs.
    pub max_error_ratio_delta: f64,
    /// Permitted quotient of the 99th percentiles of the durations, and of the 90th and the medians.
    pub max_p99_ratio: f64,
    /// The comparison of the answers of both versions; `None` if they are not compared.
    pub compare: Option<CompareTerms>,
    /// Probability with which a good version is not rolled back, over all tests of the rollout.
    pub confidence: f64,
}

/// The comparison of the answers of both versions to the same messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareTerms {
    /// Share of the runs of the newer version that the older one runs too, as a shadow.
    pub share: f64,
    /// Permitted share of those whose answers differ.
    pub max_difference_ratio: f64,
}

impl Default for CanaryGate {
    fn default() -> Self {
        Self {
            min_runs: 200,
            max_wait_secs: 3600,
            max_error_ratio_delta: 0.01,
            max_p99_ratio: 1.5,
            compare: None,
            confidence: 0.9999,
        }
    }
}

/// The plan of a canary that moves by itself, or of a version that runs as a shadow.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryPlan {
    /// True for a version that takes no traffic, and runs every message after the older version did. Then there are no
    /// steps, and nothing is decided.
    pub shadow: bool,
    /// Shares of the traffic in percent, rising; after the last one the newer version takes all.
    pub steps: Vec<i64>,
    /// Length of a step.
    pub interval_secs: u64,
    /// The limits.
    pub gate: CanaryGate,
    /// Name of the channel that is told of a rollback.
    pub on_rollback: Option<String>,
}

impl CanaryPlan {
    /// Reads the plan of a request; `None` if none of its keys is there. `percentage` is the share of the traffic that
    /// the request names, the only step of a plan without steps.
    ///
    /// # Errors
    /// The problems with their places: unknown keys, values out of bounds, and steps of a shadow.
    pub fn parse(
        body: &Map<String, Value>,
        percentage: Option<i64>,
    ) -> Result<Option<Self>, Vec<FieldError>> {
        let given = |key: &&str| body.get(*key).is_some_and(|value| !value.is_null());
        if !CANARY_KEYS.iter().any(given) {
            return Ok(None);
        }
        let mut errors = Vec::new();
        match body.get("shadow") {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) => return read_shadow(body, percentage).map(Some),
            Some(other) => errors.push(FieldError::type_mismatch("body.shadow", "boolean", other)),
        }
        if !CANARY_KEYS.iter().filter(|key| **key != "shadow").any(given) {
            return if errors.is_empty() { Ok(None) } else { Err(errors) };
        }
        let steps = read_steps(body.get("steps"), percentage, &mut errors);
        let interval = NumberBounds { path: "body.interval_secs", low: 10, high: 86_400 };
        let interval_secs = interval.read(body.get("interval_secs"), 300, &mut errors);
        let gate = read_gate(body.get("gate"), &mut errors);
        let on_rollback = match body.get("on_rollback") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) if !name.is_empty() => Some(name.clone()),
            Some(other) => {
                errors.push(FieldError::type_mismatch("body.on_rollback", "name of a channel", other));
                None
            }
        };
        if errors.is_empty() {
            Ok(Some(Self { shadow: false, steps, interval_secs, gate, on_rollback }))
        } else {
            Err(errors)
        }
    }

    /// Returns the plan as the members of a request, which [`parse`](Self::parse) reads.
    pub fn to_json(&self) -> Value {
        if self.shadow {
            return json!({"shadow": true});
        }
        let gate = &self.gate;
        let mut plan = json!({
            "steps": self.steps,
            "interval_secs": self.interval_secs,
            "gate": {
                "min_runs": gate.min_runs,
                "max_wait_secs": gate.max_wait_secs,
                "max_error_ratio_delta": gate.max_error_ratio_delta,
                "max_p99_ratio": gate.max_p99_ratio,
                "confidence": gate.confidence,
            },
        });
        if let Some(compare) = &gate.compare {
            plan["gate"]["compare"] = compare.share.into();
            plan["gate"]["max_difference_ratio"] = compare.max_difference_ratio.into();
        }
        if let Some(channel) = &self.on_rollback {
            plan["on_rollback"] = channel.as_str().into();
        }
        plan
    }

    /// Returns the share of the first step; 0 for a shadow.
    pub fn first_percentage(&self) -> i64 {
        if self.shadow {
            return 0;
        }
        self.steps.first().copied().unwrap_or(100)
    }

    /// Returns the length of a step.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_secs)
    }

    /// Returns the probability at which each test may err, so that all tests of the whole rollout keep the confidence:
    /// errors, durations and, if they are compared, answers at each look. The looks of a step that waits for compared
    /// runs have together the part of one look.
    pub(super) fn significance(&self) -> f64 {
        let is_compared = self.gate.compare.is_some();
        let tests = 1 + PERCENTILES.len() + usize::from(is_compared);
        let steps = self.steps.iter().filter(|share| **share < 100).count();
        let looks = LOOKS_A_STEP + u32::from(is_compared);
        let tests = looks * u32::try_from(tests * steps.max(1)).unwrap_or(u32::MAX / 16);
        (1.0 - self.gate.confidence) / f64::from(tests)
    }

    /// Returns the most looks at which a step that waits for compared runs is tested: at the end of its interval, and
    /// whenever its age has doubled since. 0 if the gate compares nothing.
    pub(super) fn waiting_looks(&self) -> u32 {
        let longest = self.interval() + Duration::from_secs(self.gate.max_wait_secs);
        if self.gate.compare.is_some() { 1 + self.doublings(longest) } else { 0 }
    }

    /// Returns the number of looks that a step of this age has had once it was tested, while it waits for compared runs.
    pub(super) fn looks_due_waiting(&self, age: Duration) -> u32 {
        LOOKS_A_STEP - 1 + (1 + self.doublings(age)).min(self.waiting_looks())
    }

    /// Returns the number of times for which the interval was doubled up to this age.
    fn doublings(&self, age: Duration) -> u32 {
        (age.as_secs() / self.interval_secs.max(1)).checked_ilog2().unwrap_or(0)
    }
}

/// Reads the plan of a shadow, which has no other keys.
fn read_shadow(body: &Map<String, Value>, percentage: Option<i64>) -> Result<CanaryPlan, Vec<FieldError>> {
    const ALONE: &str = "a shadow takes no traffic; leave it out, or leave \"shadow\" out";
    let given = |key: &&str| body.get(*key).is_some_and(|value| !value.is_null());
    let others = CANARY_KEYS.into_iter().filter(|key| *key != "shadow" && given(key));
    let mut errors: Vec<_> = others.map(|key| FieldError::invalid(format!("body.{key}"), ALONE)).collect();
    if percentage.is_some_and(|percentage| percentage != 0) {
        errors.push(FieldError::invalid("body.rollout_percentage", ALONE));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let gate = CanaryGate::default();
    Ok(CanaryPlan { shadow: true, steps: Vec::new(), interval_secs: 300, gate, on_rollback: None })
}

/// Reads the comparison of answers.
fn read_compare(members: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<CompareTerms> {
    let given = |key: &str| members.get(key).filter(|value| !value.is_null());
    let Some(share) = given("compare") else {
        if given("max_difference_ratio").is_some() {
            let message = "needs \"compare\", the share of the runs whose answers are compared";
            errors.push(FieldError::invalid("body.gate.max_difference_ratio", message));
        }
        return None;
    };
    let bounds = NumberBounds { path: "body.gate.compare", low: 0.001, high: 1.0 };
    let share = bounds.read(Some(share), 1.0, errors);
    let bounds = NumberBounds { path: "body.gate.max_difference_ratio", low: 0.0, high: 1.0 };
    let max_difference_ratio = bounds.read(given("max_difference_ratio"), DIFFERENCE_RATIO, errors);
    Some(CompareTerms { share, max_difference_ratio })
}

fn read_steps(value: Option<&Value>, percentage: Option<i64>, errors: &mut Vec<FieldError>) -> Vec<i64> {
    const REMEDY: &str = "use 1 to 20 rising percentages from 1 to 100, of which the first is below 100";
    let steps = match value {
        None | Some(Value::Null) => percentage.into_iter().collect(),
        Some(Value::Array(steps)) => match steps.iter().map(Value::as_i64).collect::<Option<Vec<_>>>() {
            Some(steps) => steps,
            None => {
                errors.push(FieldError::invalid("body.steps", REMEDY));
                return Vec::new();
            }
        },
        Some(other) => {
            errors.push(FieldError::type_mismatch("body.steps", "list of percentages", other));
            return Vec::new();
        }
    };
    let rises = steps.windows(2).all(|pair| matches!(pair, [one, next] if one < next));
    let in_bounds = steps.iter().all(|share| (1..=100).contains(share));
    match steps.first() {
        None => errors.push(FieldError::required("body.steps")),
        Some(first) if *first < 100 && rises && in_bounds && steps.len() <= MAX_STEPS => {
            if percentage.is_some_and(|percentage| percentage != *first) {
                let message = format!("is {first} percent by the first of the steps; leave it out");
                errors.push(FieldError::invalid("body.rollout_percentage", message));
            }
        }
        Some(_) => errors.push(FieldError::invalid("body.steps", REMEDY)),
    }
    steps
}

fn read_gate(value: Option<&Value>, errors: &mut Vec<FieldError>) -> CanaryGate {
    let default = CanaryGate::default();
    let members = match value {
        None | Some(Value::Null) => return default,
        Some(Value::Object(members)) => members,
        Some(other) => {
            errors.push(FieldError::type_mismatch("body.gate", "object", other));
            return default;
        }
    };
    errors.extend(unknown_keys(members, "body.gate", &GATE_KEYS, &[]));
    let compare = read_compare(members, errors);
    let mut count = |path: &'static str, key: &str, low: u64, high: u64, default: u64| {
        NumberBounds { path, low, high }.read(members.get(key), default, errors)
    };
    let min_runs = count("body.gate.min_runs", "min_runs", 30, 10_000_000, default.min_runs);
    let max_wait_secs =
        count("body.gate.max_wait_secs", "max_wait_secs", 0, 2_592_000, default.max_wait_secs);
    let mut ratio = |path: &'static str, key: &str, low: f64, high: f64, default: f64| {
        NumberBounds { path, low, high }.read(members.get(key), default, errors)
    };
    CanaryGate {
        min_runs,
        max_wait_secs,
        max_error_ratio_delta: ratio(
            "body.gate.max_error_ratio_delta",
            "max_error_ratio_delta",
            0.0,
            1.0,
            default.max_error_ratio_delta,
        ),
        compare,
        max_p99_ratio: ratio("body.gate.max_p99_ratio", "max_p99_ratio", 1.0, 1000.0, default.max_p99_ratio),
        confidence: ratio("body.gate.confidence", "confidence", 0.5, 0.999_999_999, default.confidence),
    }
}

/// The bounds of a number, and its place.
struct NumberBounds<T> {
    path: &'static str,
    low: T,
    high: T,
}

impl<T: Copy + PartialOrd + std::fmt::Display + serde::de::DeserializeOwned> NumberBounds<T> {
    /// Reads a number; `default` without one, and after an error.
    fn read(&self, value: Option<&Value>, default: T, errors: &mut Vec<FieldError>) -> T {
        let Some(value) = value.filter(|value| !value.is_null()) else { return default };
        match serde_json::from_value::<T>(value.clone()) {
            Ok(number) if number >= self.low && number <= self.high => number,
            _ => {
                let message = format!("use a number from {} to {}", self.low, self.high);
                errors.push(FieldError::invalid(self.path, message).with_got(value.clone()));
                default
            }
        }
    }
}

/// The state of a rollout with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanaryState {
    /// Its outcomes are compared.
    Watching,
    /// Nothing changes until an operator orders it.
    Paused,
    /// The newer version has taken all traffic.
    Promoted,
    /// The newer version was worse; the older one has all traffic.
    RolledBack,
    /// An operator ended it.
    Aborted,
}

impl CanaryState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Watching, Self::Paused, Self::Promoted, Self::RolledBack, Self::Aborted];
    /// The states that an operator may order, as a remedy.
    pub const ORDERS: &'static str = "use watching, paused, promoted or aborted";

    /// Returns the name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Watching => "watching",
            Self::Paused => "paused",
            Self::Promoted => "promoted",
            Self::RolledBack => "rolled_back",
            Self::Aborted => "aborted",
        }
    }

    /// Returns the state of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns true while the gate decides over the traffic.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Watching | Self::Paused)
    }
}
