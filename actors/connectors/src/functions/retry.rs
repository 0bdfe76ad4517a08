//! The retry policy of HTTP calls: exponential backoff with jitter, and the time of one attempt.

use std::time::Duration;

use serde_json::{Value, json};
use svc_engine::{CompileCx, Inputs, TaskCx, TaskError};
use svc_functions::declarations::{HTTP_CALL, LONGEST_MS, read_timeout};
use tokio::time::Instant;

/// The longest pause, before jitter lengthens it.
const LONGEST: Duration = Duration::from_secs(60);

/// The number of retries, their backoff and their deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryPlan {
    /// Attempts after the first one.
    pub(crate) retries: u32,
    /// The first pause; doubles.
    pub(crate) delay: Duration,
    /// No attempt begins after this.
    pub(crate) deadline: Instant,
}

impl RetryPlan {
    /// Returns the pause after so many attempts, which is no shorter than the server `asked`; `None` if no
    /// other attempt follows. `jitter` is a random number from 0 to 1.
    pub(crate) fn pause(
        &self,
        attempts: u32,
        now: Instant,
        jitter: f64,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        if attempts > self.retries {
            return None;
        }
        let doubled = self.delay.saturating_mul(1 << (attempts - 1).min(31)).min(LONGEST);
        let pause = doubled.mul_f64(0.5 + jitter.clamp(0.0, 1.0)).max(asked.unwrap_or_default());
        (now + pause < self.deadline).then_some(pause)
    }
}

/// The input with the time of one attempt.
const TIMEOUT: &str = "timeout_ms";

/// The time limit of one attempt. A task may lower the limit of the service, not raise it.
pub(crate) struct AttemptLimit {
    /// The limit of the task, or that of the service.
    most: Duration,
    /// The limit of the task, if it depends on the message.
    computed: Option<Box<Inputs>>,
}

impl AttemptLimit {
    /// Prepares the limit that a task asks for, if it does; `cap` is that of the service.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(asked: Option<&Value>, cap: Duration, cx: &CompileCx<'_>) -> Result<Self, String> {
        let computed = asked.filter(|value| value.is_object());
        let computed = computed.map(|value| Inputs::new(&HTTP_CALL.entry, &json!({"timeout_ms": value}), cx));
        let literal = asked.and_then(|value| read_timeout(value).ok());
        Ok(Self { most: lower(literal, cap), computed: computed.transpose()?.map(Box::new) })
    }

    /// Returns the limit for the message of a task.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a value that is no time, `LOGIC_ERROR` for an expression that fails.
    pub(crate) fn read(&self, cx: &TaskCx<'_>) -> Result<Duration, TaskError> {
        let Some(inputs) = &self.computed else { return Ok(self.most) };
        let asked = read_timeout(&inputs.require(cx, TIMEOUT)?);
        let asked = asked.map_err(|why| TaskError::validation(format!("{TIMEOUT}: {why}")))?;
        Ok(lower(Some(asked), self.most))
    }
}

fn lower(asked: Option<Duration>, cap: Duration) -> Duration {
    asked.map_or(cap, |asked| asked.min(cap)).min(Duration::from_millis(LONGEST_MS))
}

/// Returns a random number from 0 to 1; the middle if the system has none to give.
pub(crate) fn random_fraction() -> f64 {
    getrandom::u32().map_or(0.5, |drawn| f64::from(drawn) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(retries: u32, delay_ms: u64, deadline_ms: u64) -> (RetryPlan, Instant) {
        let now = Instant::now();
        let deadline = now + Duration::from_millis(deadline_ms);
        (RetryPlan { retries, delay: Duration::from_millis(delay_ms), deadline }, now)
    }

    #[test]
    fn pauses_double_with_jitter_up_to_a_minute() {
        let (plan, now) = plan(16, 1000, 1_000_000);
        let pauses = |jitter| (1..=8).filter_map(|n| plan.pause(n, now, jitter, None)).collect::<Vec<_>>();
        let seconds = |pauses: Vec<Duration>| pauses.iter().map(Duration::as_millis).collect::<Vec<_>>();
        assert_eq!(seconds(pauses(0.5)), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(seconds(pauses(0.0))[0], 500);
        assert_eq!(seconds(pauses(1.0))[7], 90_000);
    }

    #[test]
    fn limit_of_task_is_at_most_the_cap() {
        let cap = Duration::from_secs(30);
        for (asked, expected) in [(None, 30), (Some(5), 5), (Some(300), 30)] {
            assert_eq!(lower(asked.map(Duration::from_secs), cap), Duration::from_secs(expected));
        }
    }

    #[test]
    fn attempts_stop_at_their_number_or_deadline() {
        let (plan_, now) = plan(2, 10, 1000);
        assert!(plan_.pause(2, now, 0.5, None).is_some() && plan_.pause(3, now, 0.5, None).is_none());
        let (none, now) = plan(0, 10, 1000);
        assert!(none.pause(1, now, 0.5, None).is_none());
        let (short, now) = plan(5, 100, 150);
        assert!(short.pause(1, now, 0.4, None).is_some());
        assert!(short.pause(2, now, 0.5, None).is_none(), "the pause would cross the deadline");
    }

    #[test]
    fn pause_respects_requested_time_and_deadline() {
        let (plan, now) = plan(3, 1000, 10_000);
        let pause = |asked| plan.pause(1, now, 0.5, Some(Duration::from_secs(asked)));
        assert_eq!(pause(0), Some(Duration::from_secs(1)));
        assert_eq!(pause(7), Some(Duration::from_secs(7)));
        assert_eq!(pause(10), None);
    }
}
