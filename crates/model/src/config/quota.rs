//! The `quota` block, and the windows in which it counts.

use chrono::{Datelike, NaiveDateTime, NaiveTime};
use serde_json::{Value, json};

use super::block::ConfigBlock;
use super::declare::{Choice, block, choice, positive};
use crate::field::FieldError;

/// Parts of a sliding window, each counted by itself.
const SLICES: i64 = 60;

const DAY_SECS: i64 = 86_400;

choice! {
    /// The length of the window of a quota.
    pub enum QuotaPeriod {
        /// A minute.
        Minute = "minute",
        /// An hour.
        Hour = "hour",
        /// A day.
        Day = "day",
        /// A month; 30 days in a sliding window.
        Month = "month",
    }
}

choice! {
    /// The place of the window of a quota.
    pub enum QuotaWindow {
        /// It begins with the minute, hour, day or month, in UTC.
        Calendar = "calendar",
        /// It ends now.
        Sliding = "sliding",
    }
}

block! {
    /// The `quota` block.
    #[derive(Clone, Debug, PartialEq)]
    pub struct QuotaConfig {
        /// requests of one key within the window, over all nodes
        pub limit: u64 => 10000, by(positive);
        /// the length of the window
        pub per: QuotaPeriod => "day";
        /// `calendar` begins with the period, in UTC; `sliding` ends now
        pub window: QuotaWindow = "calendar" => "sliding";
        /// the key that is counted, over `{client_ip, channel, headers, auth}`; the principal by default, else the
        /// address of the caller
        pub key_logic: Option<Value> => {"var": "headers.x-tenant-id"};
    }
}

/// The bounds of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaTerms {
    /// Requests within the window.
    pub limit: u64,
    /// The length of the window.
    pub per: QuotaPeriod,
    /// The place of the window.
    pub window: QuotaWindow,
}

/// The part of the time in which a quota counts at an instant, in seconds since 1970. A window is made of slices; that of
/// the calendar is one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaSpan {
    /// The oldest slice that counts.
    pub first: i64,
    /// The slice of the instant.
    pub slice: i64,
    /// The end of that slice.
    pub slice_end: i64,
}

impl QuotaConfig {
    /// Returns the bounds.
    pub const fn terms(&self) -> QuotaTerms {
        QuotaTerms { limit: self.limit, per: self.per, window: self.window }
    }
}

impl QuotaTerms {
    /// Reads the quota of a consumer: the block of a channel without `key_logic`, because it is counted by consumer.
    ///
    /// # Errors
    /// The first problem of the block, under a path that begins with `path`.
    pub fn parse(value: &Value, path: &str) -> Result<Self, FieldError> {
        ConfigBlock::read_separate(path, value, |block| {
            let quota = QuotaConfig::read(block)?;
            match quota.key_logic {
                None => Ok(quota.terms()),
                Some(_) => {
                    let message = "the quota of a consumer is counted by consumer: remove key_logic";
                    Err(block.invalid("key_logic", message))
                }
            }
        })
    }

    /// Returns the block that [`parse`](Self::parse) reads.
    pub fn to_json(&self) -> Value {
        json!({"limit": self.limit, "per": self.per.name(), "window": self.window.name()})
    }

    /// Returns the most requests that a node may reserve at once: a hundredth of the limit, a hundred at most.
    pub fn largest_reservation(&self) -> u64 {
        (self.limit / 100).clamp(1, 100)
    }

    /// Returns the window at an instant.
    pub fn span_at(&self, now: NaiveDateTime) -> QuotaSpan {
        match self.window {
            QuotaWindow::Calendar => self.per.calendar_span(now),
            QuotaWindow::Sliding => {
                let (seconds, now) = (self.per.seconds(), now.and_utc().timestamp());
                let length = seconds / SLICES;
                let slice = now - now.rem_euclid(length);
                // A slice counts as long as any of its instants is in the window, so that no window has more.
                QuotaSpan { first: slice - seconds, slice, slice_end: slice + length }
            }
        }
    }

    /// Returns the second at which a slice no longer counts.
    pub fn end_of(&self, slice: i64, span: &QuotaSpan) -> i64 {
        match self.window {
            QuotaWindow::Calendar => span.slice_end,
            QuotaWindow::Sliding => slice + self.per.seconds() + self.per.seconds() / SLICES,
        }
    }
}

impl QuotaWindow {
    /// Returns the word of the configuration.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl QuotaPeriod {
    /// Returns the word of the configuration.
    pub fn name(self) -> &'static str {
        self.word()
    }

    const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => DAY_SECS,
            Self::Month => 30 * DAY_SECS,
        }
    }

    fn calendar_span(self, now: NaiveDateTime) -> QuotaSpan {
        let at = now.and_utc().timestamp();
        let (slice, slice_end) = match self {
            Self::Month => {
                let start = now.date().with_day(1).unwrap_or(now.date());
                // 32 days from the first are in the next month.
                let later = start + chrono::Days::new(32);
                let end = later.with_day(1).unwrap_or(later);
                let midnight = |day: chrono::NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp();
                (midnight(start), midnight(end))
            }
            _ => {
                let slice = at - at.rem_euclid(self.seconds());
                (slice, slice + self.seconds())
            }
        };
        QuotaSpan { first: slice, slice, slice_end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn span(per: QuotaPeriod, window: QuotaWindow, at: &str) -> [i64; 3] {
        let terms = QuotaTerms { limit: 1, per, window };
        let QuotaSpan { first, slice, slice_end } = terms.span_at(instant(at));
        [first, slice, slice_end]
    }

    fn instant(at: &str) -> NaiveDateTime {
        Timestamp::parse_rfc3339(at).unwrap().naive()
    }

    fn second(at: &str) -> i64 {
        instant(at).and_utc().timestamp()
    }

    #[test]
    fn calendar_window_is_the_period() {
        use QuotaPeriod::{Day, Hour, Minute, Month};
        for (per, start, end) in [
            (Minute, "2026-02-28T23:59:00Z", "2026-03-01T00:00:00Z"),
            (Hour, "2026-02-28T23:00:00Z", "2026-03-01T00:00:00Z"),
            (Day, "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"),
            (Month, "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ] {
            let (start, end) = (second(start), second(end));
            let window = QuotaWindow::Calendar;
            assert_eq!(span(per, window, "2026-02-28T23:59:59.5Z"), [start, start, end], "{per:?}");
            assert_eq!(span(per, window, "2026-03-01T00:00:00Z")[0], end, "{per:?}");
        }
        let december = span(Month, QuotaWindow::Calendar, "2026-12-31T23:59:59Z");
        assert_eq!(december[2], second("2027-01-01T00:00:00Z"));
    }

    #[test]
    fn sliding_window_covers_its_length() {
        let terms = QuotaTerms { limit: 1, per: QuotaPeriod::Hour, window: QuotaWindow::Sliding };
        let now = "2026-01-01T12:00:59Z";
        let found = terms.span_at(instant(now));
        assert!(second(now) - 3600 >= found.first, "no instant of the last hour is left out");
        assert_eq!(found.slice_end - found.slice, 60);
        assert_eq!(terms.end_of(found.first, &found), found.slice_end);
    }

    #[test]
    fn quota_of_consumer_is_read_without_key() {
        let block = json!({"limit": 5, "per": "minute", "window": "sliding"});
        let terms = QuotaTerms::parse(&block, "body.quota").unwrap();
        assert_eq!(terms.to_json(), block);
        for (bad, member) in [
            (json!({"limit": 5, "per": "minute", "key_logic": 1}), "body.quota.key_logic"),
            (json!({"limit": 5, "per": "week"}), "body.quota.per"),
            (json!({"limit": 5, "per": "day", "windw": "sliding"}), "body.quota.windw"),
            (json!({"per": "day"}), "body.quota.limit"),
            (json!({"per": "day", "limt": 5}), "body.quota.limt"),
            (json!([]), "body.quota"),
        ] {
            assert_eq!(QuotaTerms::parse(&bad, "body.quota").unwrap_err().path, member, "{bad}");
        }
    }

    #[test]
    fn reservation_is_a_hundredth_up_to_hundred() {
        for (limit, most) in [(1, 1), (99, 1), (1000, 10), (1_000_000, 100)] {
            let terms = QuotaTerms { limit, per: QuotaPeriod::Day, window: QuotaWindow::Calendar };
            assert_eq!(terms.largest_reservation(), most);
        }
    }
}
