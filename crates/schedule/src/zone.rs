//! Time zones: the accepted names, and the conversion of local times into instants.

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc};
use chrono_tz::{GapInfo, TZ_VARIANTS, Tz};

use crate::error::ScheduleError;

/// Abbreviations with the zones they commonly mean.
const MEANT: [(&str, &str); 24] = [
    ("AEST", "Australia/Sydney"),
    ("BST", "Europe/London"),
    ("CDT", "America/Chicago"),
    ("CEST", "Europe/Berlin"),
    ("CET", "Europe/Berlin"),
    ("CST", "America/Chicago"),
    ("CST6CDT", "America/Chicago"),
    ("EDT", "America/New_York"),
    ("EEST", "Europe/Athens"),
    ("EET", "Europe/Athens"),
    ("EST", "America/New_York"),
    ("EST5EDT", "America/New_York"),
    ("GMT", "UTC"),
    ("HST", "Pacific/Honolulu"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MDT", "America/Denver"),
    ("MST", "America/Denver"),
    ("MST7MDT", "America/Denver"),
    ("PDT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles"),
    ("PST8PDT", "America/Los_Angeles"),
    ("UCT", "UTC"),
    ("WET", "Europe/Lisbon"),
];

/// Longest distance between two probes for a change of the offset.
const STRIDE: TimeDelta = TimeDelta::days(1);

/// A zone of the IANA database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone(Tz);

impl Zone {
    /// Looks up a zone; a blank name is UTC.
    ///
    /// The database also contains abbreviations (`EST`, `CET`, `GMT`, `EST5EDT`, `PRC`). They are refused:
    /// their meaning depends on the reader, and several never change to summer time or changed unlike the
    /// place that is meant. They are the names that consist of capitals only; of these, only `UTC` means the
    /// same to everyone. Former names of places (`US/Eastern`, `Japan`) are links of the database and
    /// accepted.
    ///
    /// # Errors
    /// [`ScheduleError::Zone`] if the name is unknown or an abbreviation.
    pub(crate) fn parse(name: &str) -> Result<Self, ScheduleError> {
        let name = name.trim();
        if matches!(name, "" | "UTC") {
            return Ok(Self(Tz::UTC));
        }
        match name.parse() {
            Ok(zone) if !is_abbreviation(name) => Ok(Self(zone)),
            _ => Err(ScheduleError::Zone { name: name.to_owned(), remedy: remedy(name) }),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the offset that is added to UTC to obtain the local time at an instant.
    pub(crate) fn offset(self, at: DateTime<Utc>) -> TimeDelta {
        let offset = self.0.offset_from_utc_datetime(&at.naive_utc()).fix();
        TimeDelta::seconds(offset.local_minus_utc().into())
    }

    /// Returns the local time at an instant.
    pub(crate) fn clock(self, at: DateTime<Utc>) -> NaiveDateTime {
        at.naive_utc() + self.offset(at)
    }

    /// Returns the instant of a local time: the first of two if the local time occurs twice, the end of the
    /// gap if it is skipped. Monotonic: a later local time never resolves to an earlier instant.
    pub(crate) fn resolve(self, local: NaiveDateTime) -> Option<DateTime<Utc>> {
        match self.0.from_local_datetime(&local) {
            LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Some(at.to_utc()),
            LocalResult::None => Some(GapInfo::new(&local, &self.0)?.end?.to_utc()),
        }
    }

    /// Returns the latest local time that the clock has shown by `at`. It is ahead of the current local time
    /// while a stretch is repeated.
    pub(crate) fn furthest(self, at: DateTime<Utc>) -> NaiveDateTime {
        let clock = self.clock(at);
        match self.0.from_local_datetime(&clock) {
            LocalResult::Ambiguous(first, second) if at >= second => {
                let (first, second) = (first.to_utc(), second.to_utc());
                // Between the two readings the clock was set back, after it had reached this local time.
                let back = self.change(first, second).unwrap_or(second);
                back.naive_utc() + self.offset(first) - TimeDelta::nanoseconds(1)
            }
            _ => clock,
        }
    }

    /// Returns the first instant after `from`, up to `until`, at which another offset takes effect.
    pub(crate) fn change(self, from: DateTime<Utc>, until: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let offset = self.offset(from);
        let (mut before, mut after) = (from, from);
        while self.offset(after) == offset {
            if after >= until {
                return None;
            }
            before = after;
            after = until.min(after + STRIDE);
        }
        // Changes happen at whole seconds.
        let (mut low, mut high) = (before.timestamp(), after.timestamp());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.offset(DateTime::from_timestamp(middle, 0)?) == offset {
                true => low = middle,
                false => high = middle,
            }
        }
        DateTime::from_timestamp(high, 0)
    }
}

fn is_abbreviation(name: &str) -> bool {
    !name.contains('/') && !name.contains(|c: char| c.is_ascii_lowercase())
}

fn remedy(name: &str) -> String {
    let names = || {
        let names = TZ_VARIANTS.iter().map(|zone| zone.name());
        names.filter(|known| *known == "UTC" || !is_abbreviation(known))
    };
    let full_name = MEANT.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    if let Some((_, full)) = full_name {
        return format!(
            "abbreviations mean different things to different readers, use a name such as {full}"
        );
    }
    let near = names().find(|known| known.eq_ignore_ascii_case(name)).or_else(|| {
        // The name may have megabytes, of which each of hundreds of zones would be compared with every character.
        let alike = names().filter(|known| known.len().abs_diff(name.len()) <= 8);
        let near = alike.map(|known| (strsim::levenshtein(known, name), known));
        near.filter(|(distance, known)| *distance <= 2.min(known.len() / 4)).min().map(|(_, known)| known)
    });
    match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => "use an IANA name such as Europe/Berlin, or UTC".to_owned(),
    }
}
