//! Instants for types without a zone: PostgreSQL passes over the offset of a text that it reads as one of them.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use tokio_postgres::types::Type;

/// Returns the date, time or both of a text with an offset in UTC, the zone of the sessions; `None` for a text
/// without one, or that is no time.
pub(super) fn without_offset(kind: &Type, text: &str) -> Option<String> {
    let (local, east) = split_offset(text.trim_ascii())?;
    match (date_and_time(local), kind) {
        (Some(time), kind) => {
            let utc = time.checked_sub_signed(east)?;
            Some(match *kind {
                Type::DATE => utc.date().to_string(),
                Type::TIME => utc.time().to_string(),
                _ => format!("{utc:?}"),
            })
        }
        (None, &Type::TIME) => {
            let time = local.parse::<NaiveTime>().ok()?;
            Some(time.overflowing_sub_signed(east).0.to_string())
        }
        (None, _) => None,
    }
}

/// Splits a time from its distance from UTC: `Z`, `+02`, `+0200`, `+02:00`, `+02:00:00`.
fn split_offset(text: &str) -> Option<(&str, TimeDelta)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local.trim_ascii_end(), TimeDelta::zero()));
    }
    let (local, offset) = text.split_at_checked(text.rfind(['+', '-'])?)?;
    // A hyphen of a date has no time before it.
    if !local.contains(':') {
        return None;
    }
    let digits: String = offset[1..].chars().filter(|character| *character != ':').collect();
    if !matches!(digits.len(), 2 | 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |part| part.parse::<i64>().ok());
    let seconds = part(0)? * 3600 + part(2)? * 60 + part(4)?;
    let east = TimeDelta::seconds(if offset.starts_with('-') { -seconds } else { seconds });
    Some((local.trim_ascii_end(), east))
}

fn date_and_time(text: &str) -> Option<NaiveDateTime> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let date = date.parse::<NaiveDate>().ok()?;
    let time = time.trim_ascii().parse::<NaiveTime>().ok()?;
    Some(date.and_time(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_offset_becomes_utc_instant() {
        for (kind, text, expected) in [
            (Type::TIMESTAMP, "2024-02-29T03:02:03+02:00", Some("2024-02-29T01:02:03")),
            (Type::TIMESTAMP, "2024-02-29 03:02:03.25+02", Some("2024-02-29T01:02:03.250")),
            (Type::TIMESTAMP, "2024-02-28T20:02-0530", Some("2024-02-29T01:32:00")),
            (Type::TIMESTAMP, "2024-02-29T01:02:03Z", Some("2024-02-29T01:02:03")),
            (Type::TIMESTAMP, "2024-02-29 01:02:03 +00:00:00", Some("2024-02-29T01:02:03")),
            (Type::DATE, "2024-02-29T23:30:00-05:00", Some("2024-03-01")),
            (Type::TIME, "2024-02-29T00:30:00+01:00", Some("23:30:00")),
            (Type::TIME, "00:30:00.5+01:00", Some("23:30:00.500")),
            (Type::TIMESTAMP, "2024-02-29T01:02:03", None),
            (Type::TIMESTAMP, "2024-02-29", None),
            (Type::DATE, "2024-02-29", None),
            (Type::DATE, "2024-02-29Z", None),
            (Type::TIMESTAMP, "infinity", None),
            (Type::TIMESTAMP, "2024-02-29T01:02:03+2", None),
            (Type::TIME, "01:02:03", None),
            (Type::TIMESTAMP, "é+02", None),
            (Type::TIMESTAMP, "", None),
        ] {
            assert_eq!(without_offset(&kind, text).as_deref(), expected, "{kind} {text}");
        }
    }
}
