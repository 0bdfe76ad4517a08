//! The decision to send a request again, and the delay before.

use std::time::Duration;

use crate::error::ClientError;

/// Limits of repeating a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Number of attempts in all; 1 repeats nothing.
    pub max_attempts: u32,
    /// Delay before the second attempt; it doubles with each further one.
    pub base_delay: Duration,
    /// Longest delay, that of a `Retry-After` included: a longer one ends the attempts.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let (base_delay, max_delay) = (Duration::from_millis(100), Duration::from_secs(10));
        Self { max_attempts: 3, base_delay, max_delay }
    }
}

impl RetryPolicy {
    /// Repeats nothing.
    pub const NEVER: Self = Self { max_attempts: 1, base_delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// Returns the delay before the next attempt; `None` if there is none. `attempt` counts from 1 and has failed.
    /// A request that was not sent, or that the server turned away for now (429), may be repeated whatever it is.
    pub(crate) fn delay(&self, attempt: u32, is_repeatable: bool, error: &ClientError) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let requested = match error {
            ClientError::Unreachable { .. } => None,
            ClientError::Timeout { .. } | ClientError::Broken { .. } if is_repeatable => None,
            ClientError::Api(error) if error.status == 429 => error.retry_after,
            // Without Retry-After, time does not heal it.
            ClientError::Api(error) if error.status == 503 && is_repeatable => Some(error.retry_after?),
            ClientError::Foreign { status: 502..=504, .. } if is_repeatable => None,
            _ => return None,
        };
        let doubled = self.base_delay.saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        let delay = requested.unwrap_or(doubled.min(self.max_delay));
        (delay <= self.max_delay).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_error::ApiError;

    fn refused(status: u16, retry_after: Option<u64>) -> ClientError {
        let retry_after = retry_after.map(Duration::from_secs);
        let (code, message) = (String::new(), String::new());
        ApiError { status, code, message, details: Vec::new(), request_id: None, trace_id: None, retry_after }
            .into()
    }

    fn broken() -> ClientError {
        ClientError::Broken { server: String::new(), cause: String::new() }
    }

    fn unreachable() -> ClientError {
        ClientError::Unreachable { server: String::new(), cause: String::new() }
    }

    #[test]
    fn delay_doubles_until_the_attempts_are_used_up() {
        let policy = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
        let delays: Vec<_> = (1..=4).map(|attempt| policy.delay(attempt, true, &broken())).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(delays, [ms(100), ms(200), ms(400), None]);
    }

    #[test]
    fn request_with_unknown_outcome_is_not_repeated() {
        let policy = RetryPolicy::default();
        for error in [broken(), refused(503, Some(1)), refused(500, None), refused(400, None)] {
            assert_eq!(policy.delay(1, false, &error), None, "{error}");
        }
        for error in [unreachable(), refused(429, Some(1))] {
            assert!(policy.delay(1, false, &error).is_some(), "{error}");
        }
    }

    #[test]
    fn retry_after_is_kept_up_to_the_longest_delay() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(1, true, &refused(503, Some(3))), Some(Duration::from_secs(3)));
        assert_eq!(policy.delay(1, true, &refused(429, Some(11))), None);
        assert_eq!(policy.delay(1, true, &refused(503, None)), None);
    }
}
