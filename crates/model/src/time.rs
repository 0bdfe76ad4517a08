//! Timestamps as they are stored and shown.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDateTime, SubsecRound, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nanoseconds of a second. A leap second has as many and more.
const SECOND: u32 = 1_000_000_000;

/// A point in time in UTC with microsecond precision.
///
/// Formatted as RFC 3339, `2026-01-01T00:00:00Z`, with a fraction only if it is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(NaiveDateTime);

impl Timestamp {
    /// Returns the current time, truncated to microseconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the clock; rules take a Timestamp"
    )]
    pub fn now() -> Self {
        Self::from_naive(Utc::now().naive_utc())
    }

    /// Converts a UTC date and time. Truncates it to microseconds, because a database would do so. A leap second
    /// becomes the one after it: that is what PostgreSQL stores, and few programs read a second 60.
    pub fn from_naive(utc: NaiveDateTime) -> Self {
        let beyond = utc.nanosecond().checked_sub(SECOND).and_then(|nanos| utc.with_nanosecond(nanos));
        let next = beyond.and_then(|second| second.checked_add_signed(TimeDelta::seconds(1)));
        Self(next.unwrap_or(utc).trunc_subsecs(6))
    }

    /// Returns the UTC date and time.
    pub const fn naive(self) -> NaiveDateTime {
        self.0
    }

    /// Parses RFC 3339, which always has an offset or `Z`: the form of every instant that a request names. An offset
    /// that moves the instant out of the years 0 to 9999 in UTC is refused: such an instant cannot be written so.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let instant = Self::from_naive(DateTime::parse_from_rfc3339(text).ok()?.naive_utc());
        (0..=9999).contains(&instant.0.year()).then_some(instant)
    }

    /// Parses RFC 3339 with an offset, or a date and time without time zone, taken as UTC: the forms of databases, and of
    /// the words that took both from the beginning.
    pub fn parse(text: &str) -> Option<Self> {
        let zoneless = |format| NaiveDateTime::parse_from_str(text, format).ok().map(Self::from_naive);
        Self::parse_rfc3339(text)
            .or_else(|| zoneless("%Y-%m-%dT%H:%M:%S%.f"))
            .or_else(|| zoneless("%Y-%m-%d %H:%M:%S%.f"))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%Y-%m-%dT%H:%M:%S%.fZ"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a timestamp"))
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn instants_are_shown_in_utc_as_rfc_3339() {
        for (text, shown) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
            ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z"),
            ("2026-01-01 00:00:00", "2026-01-01T00:00:00Z"),
            ("2026-01-01T00:00:00.123456", "2026-01-01T00:00:00.123456Z"),
            ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500Z"),
            ("2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.123456Z"),
            ("2026-06-30T23:59:60Z", "2026-07-01T00:00:00Z"),
            ("2026-07-01T01:59:60.5+02:00", "2026-07-01T00:00:00.500Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), shown, "{text}");
        }
        for zoneless in ["2026-01-01T00:00:00", "2026-01-01 00:00:00", "2026-01-01T00:00:00.5"] {
            assert!(Timestamp::parse_rfc3339(zoneless).is_none(), "{zoneless}");
        }
        assert_eq!(
            Timestamp::parse_rfc3339("2026-01-01T02:00:00+02:00"),
            Timestamp::parse("2026-01-01T00:00:00")
        );
        let moved_out = ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:60Z"];
        for bad in ["", "today", "2026-01-01", "2026-13-01T00:00:00"].into_iter().chain(moved_out) {
            assert!(Timestamp::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn now_survives_a_round_trip_through_text() {
        let now = Timestamp::now();
        let text = serde_json::to_string(&now).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&text).unwrap(), now);
    }
}
