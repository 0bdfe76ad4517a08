//! Instants as users write them: RFC 3339, or a time ago such as `15m`.

use chrono::{SecondsFormat, TimeDelta, Utc};

/// Units of a time ago, with their seconds.
const UNITS: [(char, i64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];

/// Reads an instant: a time before now, a number with `s`, `m`, `h` or `d` behind it, becomes RFC 3339; any other text is
/// left to the server.
///
/// # Errors
/// A text for the user, for a time ago that no calendar has.
pub(crate) fn parse_moment(text: &str) -> Result<String, String> {
    let Some(seconds) = seconds_ago(text) else { return pass_on(text) };
    #[expect(clippy::disallowed_methods, reason = "the user counts from now")]
    let now = Utc::now();
    let ago = TimeDelta::try_seconds(seconds).and_then(|ago| now.checked_sub_signed(ago));
    let instant = ago.ok_or_else(|| format!("no calendar goes back by {text}"))?;
    Ok(instant.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Reads an instant to come: a time from now becomes RFC 3339; any other text is left to the server.
///
/// # Errors
/// A text for the user, for a time from now that no calendar has.
pub(crate) fn parse_coming_moment(text: &str) -> Result<String, String> {
    let Some(seconds) = seconds_ago(text).filter(|_| !text.starts_with('-')) else {
        return pass_on(text);
    };
    #[expect(clippy::disallowed_methods, reason = "the user counts from now")]
    let now = Utc::now();
    let wait = TimeDelta::try_seconds(seconds).and_then(|wait| now.checked_add_signed(wait));
    let instant = wait.ok_or_else(|| format!("no calendar goes on by {text}"))?;
    Ok(instant.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Leaves a text to the server, unless it is an option in the place of a time.
fn pass_on(text: &str) -> Result<String, String> {
    let is_option = |rest: &str| !rest.starts_with(|first: char| first.is_ascii_digit());
    if text.strip_prefix('-').is_some_and(is_option) {
        return Err("a time is wanted, such as 2026-11-30T03:00:00Z or 15m".to_owned());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("a number needs its unit: {text}s, {text}m, {text}h or {text}d"));
    }
    Ok(text.to_owned())
}

/// Returns the seconds of a time ago; `None` for any other text.
fn seconds_ago(text: &str) -> Option<i64> {
    let text = text.strip_prefix('-').unwrap_or(text);
    let unit = text.chars().next_back()?;
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number = text.strip_suffix(unit)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(*seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_time_is_a_number_and_a_unit() {
        for (text, expected) in [
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("-2h", Some(7200)),
            ("1d", Some(86_400)),
            ("2026-01-01T00:00:00Z", None),
            ("h", None),
            ("1.5h", None),
            ("", None),
        ] {
            assert_eq!(seconds_ago(text), expected, "{text}");
        }
    }

    #[test]
    fn relative_times_become_instants_and_instants_stay() {
        assert_eq!(parse_moment("2026-01-01T00:00:00Z").unwrap(), "2026-01-01T00:00:00Z");
        let hour_ago = parse_moment("1h").unwrap();
        assert!(hour_ago.len() == 24 && hour_ago.ends_with('Z'), "{hour_ago}");
        assert!(parse_moment("9223372036854775807d").is_err());
        for option in ["--limit", "-o"] {
            assert!(parse_moment(option).is_err_and(|error| error.contains("a time is wanted")), "{option}");
        }
    }

    #[test]
    fn coming_moment_is_counted_from_now() {
        assert_eq!(parse_coming_moment("2026-01-01T00:00:00Z").unwrap(), "2026-01-01T00:00:00Z");
        assert!(parse_coming_moment("2h").unwrap() > parse_moment("2h").unwrap());
        assert_eq!(parse_coming_moment("-2h").unwrap(), "-2h", "the server refuses it");
        assert!(parse_coming_moment("9223372036854775807d").is_err());
        assert!(parse_coming_moment("90").is_err_and(|error| error.ends_with("90h or 90d")));
    }
}
