//! The pause of a channel: a state of the served channel, stored beside its definition.

use serde::Serialize;

use crate::code::Code;
use crate::error::ServiceError;
use crate::time::Timestamp;

/// Seconds of `Retry-After` for a pause that only an operator ends.
const RETRY_AFTER: u32 = 30;

/// The pause of a channel. It survives restarts and other versions of the channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelPause {
    /// Time since which the channel is paused.
    pub since: Timestamp,
    /// Time at which it resumes by itself; `None` if an operator must resume it.
    pub until: Option<Timestamp>,
    /// The principal that paused it, or the setting by which it paused itself.
    pub by: String,
    /// The reason, for operators.
    pub reason: String,
}

impl ChannelPause {
    /// Builds the 503 of a call that wants its answer now. The reason is not in it: it is for operators.
    pub fn refusal(&self, now: Timestamp) -> ServiceError {
        ServiceError::from_code(Code::ChannelPaused).with_retry_after(self.retry_after(now))
    }

    /// Returns the seconds after which a caller should try again, at least one.
    pub fn retry_after(&self, now: Timestamp) -> u32 {
        let Some(until) = self.until else { return RETRY_AFTER };
        let left = (until.naive() - now.naive()).num_milliseconds().max(1);
        u32::try_from(left.saturating_add(999) / 1000).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(until: Option<&str>) -> ChannelPause {
        let instant = |text| Timestamp::parse(text).unwrap();
        ChannelPause {
            since: instant("2026-01-01T00:00:00Z"),
            until: until.map(instant),
            by: "ops".into(),
            reason: "the bank is down".into(),
        }
    }

    #[test]
    fn retry_after_reaches_to_the_end_of_the_pause() {
        let now = Timestamp::parse("2026-01-01T00:00:10Z").unwrap();
        for (until, expected) in [
            (None, 30),
            (Some("2026-01-01T00:01:10Z"), 60),
            (Some("2026-01-01T00:00:10.001Z"), 1),
            (Some("2026-01-01T00:00:00Z"), 1),
        ] {
            assert_eq!(pause(until).retry_after(now), expected, "{until:?}");
        }
    }

    #[test]
    fn refusal_says_nothing_of_the_reason() {
        let refusal = pause(None).refusal(Timestamp::now());
        assert_eq!((refusal.code(), refusal.status()), (Code::ChannelPaused, 503));
        assert_eq!((refusal.message(), refusal.retry_after()), ("Channel is paused", Some(30)));
    }
}
