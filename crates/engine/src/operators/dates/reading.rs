//! `parse_date`, with the offset and the fractions of seconds that a text has. Not an operator for authors, who write
//! the name of the library underneath: that one drops both, and an hour without minutes.

use chrono::format::{ParseResult, Parsed, SecondsFormat, StrftimeItems, parse};
use chrono::{DateTime, Utc};
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::format::expand_shorthands;
use crate::operators::arguments::refuse;
use crate::operators::guard::{spend, text_units};

/// `[text, format]`: the instant of a text in a format, in UTC if the text has no offset. `[text, format, true]` is
/// null for such a text, `[text, format, false]` its local time in [`LOCAL_TIME`].
pub(crate) const READ_DATE: &str = "#parse_date";

/// The format of a local time.
pub(crate) const LOCAL_TIME: &str = "%Y-%m-%dT%H:%M:%S";

pub(in crate::operators) struct ReadDate;

impl CustomOperator for ReadDate {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [DataValue::String(text), DataValue::String(format), part @ ..] = args else {
            return Err(unreadable());
        };
        spend(text_units(text))?;
        let parsed = parse_fields(text, format).map_err(|_| unreadable())?;
        let is_absolute = parsed.offset().is_some() || parsed.timestamp().is_some();
        match part.first() {
            Some(DataValue::Bool(true)) if !is_absolute => Ok(arena.null()),
            Some(DataValue::Bool(false)) => {
                let local = parsed.to_naive_datetime_with_offset(0).map_err(|_| unreadable())?;
                Ok(arena.string(&local.format(LOCAL_TIME).to_string()))
            }
            _ => {
                let instant = to_instant(&parsed, is_absolute).map_err(|_| unreadable())?;
                Ok(arena.string(&instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)))
            }
        }
    }
}

fn unreadable() -> datalogic_rs::Error {
    refuse("Failed to parse date")
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

fn to_instant(parsed: &Parsed, is_absolute: bool) -> ParseResult<DateTime<Utc>> {
    if is_absolute {
        return parsed.to_datetime().map(|instant| instant.with_timezone(&Utc));
    }
    parsed.to_naive_datetime_with_offset(0).map(|local| local.and_utc())
}
