//! The keys of a task or group that bound and repeat it: `retry`, `timeout_ms`, `halt_on`, `retry_safety`.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_model::{FieldError, nearest};

use crate::catalogue::Catalogue;
use crate::error::TaskError;
use crate::error_code::{ErrorCode, Healing};
use crate::workflow::authored::authored_input;

/// The most attempts of a task, the first one included.
const MAX_ATTEMPTS: u64 = 10;
/// The longest delay that may be asked for, and the longest wait for another attempt.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(3600);
/// The largest factor by which delays grow.
const MAX_FACTOR: f64 = 100.0;
/// The longest `timeout_ms`: a day.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
const DEFAULT_FACTOR: f64 = 2.0;
/// Methods that an API must answer alike however often they are sent.
const REPEATABLE_METHODS: [&str; 5] = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];
/// Methods that an API must answer without an effect.
const READING_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// The effects of a call that a task may name in place of its function.
const SAFETIES: [&str; 4] = ["pure", "read", "idempotent_write", "unsafe_write"];

/// The retries of a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskRetry {
    /// Attempts in all.
    pub(crate) attempts: u32,
    delay: Duration,
    factor: f64,
    /// The codes that lead to another attempt; `None`: all that may heal.
    on: Option<Box<[ErrorCode]>>,
}

impl TaskRetry {
    /// Returns `true` if another attempt may help after an error.
    pub(crate) fn applies_to(&self, error: &TaskError) -> bool {
        let is_named = self.on.as_ref().is_none_or(|codes| codes.contains(&error.code));
        is_named && error.is_transient() && error.paused_channel.is_none()
    }

    /// Makes the attempts follow one another at once.
    pub(crate) fn without_delay(self) -> Self {
        Self { delay: Duration::ZERO, ..self }
    }

    /// Returns the time to wait after the `attempt`-th attempt. `share` is a random number from 0 to 1.
    pub(crate) fn delay_after(&self, attempt: u32, share: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.delay.as_secs_f64() * self.factor.powi(exponent) * (0.5 + share);
        Duration::from_secs_f64(seconds.clamp(0.0, MAX_DELAY.as_secs_f64()))
    }
}

/// The keys of a step that are read here.
#[derive(Default)]
pub(crate) struct StepBounds {
    pub(crate) retry: Option<TaskRetry>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) halts_on_failure: bool,
}

impl StepBounds {
    /// Reads the keys of a task or group; every problem is added to `errors` at its path.
    pub(crate) fn parse(
        catalogue: &Catalogue,
        step: &Map<String, Value>,
        at: &str,
        errors: &mut Vec<FieldError>,
    ) -> Self {
        let written = |key: &str| step.get(key).filter(|value| !value.is_null());
        let retry = written("retry").and_then(|block| {
            refuse_unsafe(catalogue, step, block, at, errors);
            parse_retry(block, &format!("{at}.retry"), errors)
        });
        let timeout = written("timeout_ms").and_then(|value| {
            let at = format!("{at}.timeout_ms");
            whole_number(value, &at, 1, MAX_TIMEOUT_MS, errors).map(Duration::from_millis)
        });
        let halts_on_failure = written("halt_on").is_some_and(|value| {
            let is_failure = value == "failure";
            if !is_failure {
                let error = FieldError::invalid(format!("{at}.halt_on"), "the only value is \"failure\"");
                errors.push(error.with_expected("failure"));
            }
            is_failure
        });
        if let Some(safety) = written("retry_safety") {
            check_safety(safety, &format!("{at}.retry_safety"), errors);
        }
        Self { retry, timeout, halts_on_failure }
    }
}

fn check_safety(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    match value.as_str() {
        Some(name) if SAFETIES.contains(&name) => {}
        Some(name) => {
            let meant = nearest(name, SAFETIES);
            let hint = meant.map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"));
            errors.push(FieldError::invalid(at, format!("use one of {}{hint}", SAFETIES.join(", "))));
        }
        None => errors.push(FieldError::type_mismatch(at, "string", value)),
    }
}

/// Returns `true` if the calls of a task change nothing: by what the task says, or else by what its function does.
pub(crate) fn only_reads(catalogue: &Catalogue, task: &Value) -> bool {
    let function = &task["function"];
    let entry = function["name"].as_str().and_then(|name| catalogue.find(name));
    let safety = task["retry_safety"].as_str().or_else(|| entry.map(|entry| entry.retry_safety));
    match safety {
        Some("pure" | "read") => true,
        Some("depends_on:method") => match &authored_input(function)["method"] {
            Value::Null => true,
            Value::String(method) => READING_METHODS.contains(&method.to_ascii_uppercase().as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// Reads a whole number within bounds.
pub(crate) fn whole_number(
    value: &Value,
    at: &str,
    min: u64,
    max: u64,
    errors: &mut Vec<FieldError>,
) -> Option<u64> {
    let number = value.as_u64().filter(|number| (min..=max).contains(number));
    if number.is_none() {
        errors.push(match value {
            Value::Number(_) => FieldError::invalid(at, format!("a whole number from {min} to {max}")),
            other => FieldError::type_mismatch(at, "integer", other),
        });
    }
    number
}

/// The condition under which a task may be called again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Always,
    /// The call sends an `Idempotency-Key`.
    WithKey,
    Never,
}

/// Refuses retries of a function whose second call may have a second effect, unless the author allows it.
fn refuse_unsafe(
    catalogue: &Catalogue,
    step: &Map<String, Value>,
    block: &Value,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(function) = step.get("function") else { return };
    let Some(name) = function["name"].as_str() else { return };
    let has_key = || !matches!(authored_input(function)["idempotency_key"], Value::Null | Value::Bool(false));
    match judge_repetition(catalogue, step, block) {
        Repetition::Always => return,
        Repetition::WithKey if has_key() => return,
        Repetition::WithKey | Repetition::Never => {}
    }
    let message = format!(
        "\"{name}\" is not safe to repeat: a failed attempt may have had its effect; \
         set 'unsafe' to true if it may happen twice"
    );
    errors.push(FieldError::invalid(format!("{at}.retry"), message));
}

fn judge_repetition(catalogue: &Catalogue, step: &Map<String, Value>, block: &Value) -> Repetition {
    let function = step.get("function").unwrap_or(&Value::Null);
    if block["unsafe"] == true {
        return Repetition::Always;
    }
    match step.get("retry_safety").and_then(Value::as_str) {
        Some("pure" | "read" | "idempotent_write") => return Repetition::Always,
        Some("unsafe_write") => return Repetition::Never,
        _ => {}
    }
    let entry = function["name"].as_str().and_then(|name| catalogue.find(name));
    let method = || authored_input(function)["method"].as_str().unwrap_or("GET").to_ascii_uppercase();
    match entry.map(|entry| entry.retry_safety) {
        None | Some("pure" | "read" | "idempotent_write") => Repetition::Always,
        Some("depends_on:method") if REPEATABLE_METHODS.contains(&method().as_str()) => Repetition::Always,
        Some("depends_on:method") => Repetition::WithKey,
        Some(_) => Repetition::Never,
    }
}

/// Returns the expression of a key without which another attempt of a task may have a second effect.
pub(crate) fn required_key<'s>(catalogue: &Catalogue, step: &'s Map<String, Value>) -> Option<&'s Value> {
    let block = step.get("retry").filter(|block| !block.is_null())?;
    let key = authored_input(step.get("function")?).get("idempotency_key").filter(|key| key.is_object())?;
    (judge_repetition(catalogue, step, block) == Repetition::WithKey).then_some(key)
}

fn parse_retry(block: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<TaskRetry> {
    if !block.is_object() {
        errors.push(FieldError::type_mismatch(at, "object", block));
        return None;
    }
    let before = errors.len();
    let attempts = match &block["attempts"] {
        Value::Null => {
            errors.push(FieldError::required(format!("{at}.attempts")));
            None
        }
        value => whole_number(value, &format!("{at}.attempts"), 1, MAX_ATTEMPTS, errors),
    };
    let delay = match &block["delay"] {
        Value::Null => Some(DEFAULT_DELAY),
        value => parse_delay(value, &format!("{at}.delay"), errors),
    };
    let factor = match &block["factor"] {
        Value::Null => DEFAULT_FACTOR,
        value => parse_factor(value, &format!("{at}.factor"), errors),
    };
    let on = match &block["on"] {
        Value::Null => None,
        value => Some(parse_codes(value, &format!("{at}.on"), errors)),
    };
    match &block["unsafe"] {
        Value::Null | Value::Bool(_) => {}
        other => errors.push(FieldError::type_mismatch(format!("{at}.unsafe"), "boolean", other)),
    }
    let attempts = u32::try_from(attempts?).ok()?;
    let delay = delay?;
    (errors.len() == before).then_some(TaskRetry { attempts, delay, factor, on })
}

fn parse_factor(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> f64 {
    let factor = value.as_f64().filter(|factor| (1.0..=MAX_FACTOR).contains(factor));
    if factor.is_none() {
        errors.push(match value {
            Value::Number(_) => FieldError::invalid(at, format!("a number from 1 to {MAX_FACTOR}")),
            other => FieldError::type_mismatch(at, "number", other),
        });
    }
    factor.unwrap_or(DEFAULT_FACTOR)
}

/// Reads a duration such as `250ms`, `1s` or `5m`.
fn parse_delay(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Option<Duration> {
    let Some(text) = value.as_str() else {
        errors.push(FieldError::type_mismatch(at, "string", value));
        return None;
    };
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
    let delay = units.into_iter().find_map(|(unit, milliseconds)| {
        let count = text.strip_suffix(unit).filter(|count| !count.starts_with('+'))?;
        let count: u64 = count.parse().ok()?;
        count.checked_mul(milliseconds).map(Duration::from_millis)
    });
    let delay = delay.filter(|delay| !delay.is_zero() && *delay <= MAX_DELAY);
    if delay.is_none() {
        let message = "a number and its unit (ms, s, m, h), such as \"1s\", from 1ms to 1h";
        errors.push(FieldError::invalid(at, message));
    }
    delay
}

/// Reads codes of errors that time may heal.
fn parse_codes(value: &Value, at: &str, errors: &mut Vec<FieldError>) -> Box<[ErrorCode]> {
    let Some(items) = value.as_array() else {
        errors.push(FieldError::type_mismatch(at, "array", value));
        return Box::default();
    };
    if items.is_empty() {
        errors.push(FieldError::invalid(at, "a list without codes retries nothing; leave it out for all"));
    }
    let mut codes = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let name = item.as_str().unwrap_or_default();
        match healing_codes().find(|code| code.name() == name) {
            Some(code) => codes.push(code),
            None => errors.push(FieldError::invalid(format!("{at}[{n}]"), describe_code(name))),
        }
    }
    codes.into()
}

fn healing_codes() -> impl Iterator<Item = ErrorCode> {
    ErrorCode::ALL.iter().copied().filter(|code| code.healing() != Healing::Permanent)
}

fn describe_code(name: &str) -> String {
    if ErrorCode::ALL.iter().any(|code| code.name() == name) {
        return format!("another attempt does not heal {name}");
    }
    match nearest(name, healing_codes().map(ErrorCode::name)) {
        Some(meant) => format!("no error has this code, did you mean \"{meant}\"?"),
        None => format!("one of {}", healing_codes().map(ErrorCode::name).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn delays_grow_by_factor_within_jitter() {
        let mut errors = Vec::new();
        let block = json!({"attempts": 4, "delay": "100ms", "factor": 3});
        let retry = parse_retry(&block, "r", &mut errors).unwrap();
        let delays = [(1, 0.0), (1, 1.0), (2, 0.5), (3, 0.5)].map(|(n, share)| retry.delay_after(n, share));
        assert_eq!(delays, [50, 150, 300, 900].map(Duration::from_millis));
        assert_eq!(retry.delay_after(u32::MAX, 1.0), MAX_DELAY);
        assert!(errors.is_empty());
    }

    #[test]
    fn declared_safety_decides_over_reads() {
        let catalogue = Catalogue::default();
        let task = |safety: Value| json!({"function": {"name": "unknown"}, "retry_safety": safety});
        assert!(only_reads(&catalogue, &task(json!("read"))));
        assert!(!only_reads(&catalogue, &task(json!("idempotent_write"))));
        assert!(!only_reads(&catalogue, &task(Value::Null)));
        let mut errors = Vec::new();
        check_safety(&json!("reed"), "t", &mut errors);
        assert!(errors[0].message.contains("did you mean \"read\""), "{errors:?}");
    }

    #[test]
    fn task_declared_unsafe_needs_leave_to_be_retried() {
        let catalogue = Catalogue::default();
        let is_refused = |safety: &str, block: Value| {
            let function = json!({"name": "ask", "input": {"method": "GET", "idempotency_key": true}});
            let step = json!({"function": function, "retry_safety": safety});
            let mut errors = Vec::new();
            refuse_unsafe(&catalogue, step.as_object().unwrap(), &block, "t", &mut errors);
            errors.iter().any(|error| error.path == "t.retry")
        };
        assert!(is_refused("unsafe_write", json!({"attempts": 2})));
        assert!(!is_refused("unsafe_write", json!({"attempts": 2, "unsafe": true})));
        assert!(!is_refused("idempotent_write", json!({"attempts": 2})));
    }

    #[test]
    fn malformed_retries_are_refused_at_their_path() {
        for (block, path) in [
            (json!(3), "r"),
            (json!({}), "r.attempts"),
            (json!({"attempts": 0}), "r.attempts"),
            (json!({"attempts": 11}), "r.attempts"),
            (json!({"attempts": 2, "delay": "2h"}), "r.delay"),
            (json!({"attempts": 2, "delay": 5}), "r.delay"),
            (json!({"attempts": 2, "delay": "0s"}), "r.delay"),
            (json!({"attempts": 2, "delay": "+1s"}), "r.delay"),
            (json!({"attempts": 2, "factor": 0.5}), "r.factor"),
            (json!({"attempts": 2, "on": ["LOGIC_ERROR"]}), "r.on[0]"),
            (json!({"attempts": 2, "on": ["IO_EROR"]}), "r.on[0]"),
            (json!({"attempts": 2, "on": []}), "r.on"),
            (json!({"attempts": 2, "unsafe": 1}), "r.unsafe"),
        ] {
            let mut errors = Vec::new();
            assert!(parse_retry(&block, "r", &mut errors).is_none(), "{block}");
            assert_eq!(errors.iter().map(|error| &*error.path).collect::<Vec<_>>(), [path], "{block}");
        }
    }
}
