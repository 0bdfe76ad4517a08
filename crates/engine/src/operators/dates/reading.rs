//! `parse_date`, with the offset and the fractions of seconds that a text has. Not an operator for authors, who write
//! the name of the library underneath: that one drops both, and an hour without minutes.

use chrono::format::{ParseResult, Parsed, SecondsFormat, StrftimeItems, parse};
use chrono::offset::LocalResult;
use chrono::{DateTime, TimeZone as _, Utc};
use chrono_tz::Tz;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::format::expand_shorthands;
use crate::operators::arguments::refuse;
use crate::operators::guard::{spend, text_units};

/// `[text, format, zone]`: the instant of a text in a format; the zone, which may be left out, is that of a text
/// without an offset.
pub(crate) const READ_DATE: &str = "#parse_date";

const UNREADABLE: &str = "Failed to parse date";

pub(in crate::operators) struct ReadDate;

impl CustomOperator for ReadDate {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(text), DataValue::String(format), zone @ ..] = args else {
            return Err(refuse(UNREADABLE));
        };
        let zone = match zone.first() {
            None => None,
            Some(DataValue::String(name)) => {
                Some(name.parse::<Tz>().map_err(|_| refuse(format!("Unknown timezone: {name}")))?)
            }
            Some(_) => return Err(refuse("Timezone must be a string")),
        };
        spend(text_units(text))?;
        let parsed = parse_fields(text, format).map_err(|_| refuse(UNREADABLE))?;
        let instant = to_instant(&parsed, zone)?;
        Ok(arena.string(&instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)))
    }
}

/// Reads the fields of a text. A text without a time is that of midnight, an hour alone is a full one.
fn parse_fields(text: &str, format: &str) -> ParseResult<Parsed> {
    let mut parsed = Parsed::new();
    parse(&mut parsed, text, StrftimeItems::new(&expand_shorthands(format)))?;
    let has_hour = parsed.hour_div_12().is_some() || parsed.hour_mod_12().is_some();
    let has_less = parsed.second().is_some() || parsed.nanosecond().is_some();
    if parsed.timestamp().is_none() && parsed.minute().is_none() && !has_less {
        if !has_hour {
            parsed.set_hour(0)?;
        }
        parsed.set_minute(0)?;
    }
    Ok(parsed)
}

fn to_instant(parsed: &Parsed, zone: Option<Tz>) -> datalogic_rs::Result<DateTime<Utc>> {
    let unreadable = |_| refuse(UNREADABLE);
    if parsed.offset().is_some() || parsed.timestamp().is_some() {
        return parsed.to_datetime().map(|instant| instant.with_timezone(&Utc)).map_err(unreadable);
    }
    let local = parsed.to_naive_datetime_with_offset(0).map_err(unreadable)?;
    let Some(zone) = zone else { return Ok(local.and_utc()) };
    match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) | LocalResult::Ambiguous(instant, _) => Ok(instant.with_timezone(&Utc)),
        LocalResult::None => Err(refuse("Nonexistent local time for timezone")),
    }
}
