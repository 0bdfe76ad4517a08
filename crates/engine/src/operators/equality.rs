//! Equality of any two values, in time proportional to what they hold. Not operators for authors, who write
//! the names of the library underneath: that one looks every member of one object up among all members of the
//! other.

use std::collections::HashMap;
use std::ptr;

use chrono::{DateTime, Utc};
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::datavalue::{DataDateTime, DataDuration};
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::guard::{spend, text_units};
use super::numbers::{order, parse};

// Each of these takes a further argument where an operand was made by an operator of dates: then values are compared as
// the instants and durations that they stand for. Without it two different texts are never equal.

/// `[one, other]`: `==`.
pub(crate) const EQUAL: &str = "#==";
/// `[one, other]`: `===`.
pub(crate) const SAME: &str = "#===";
/// `[one, other]`: `!=`.
pub(crate) const DIFFERENT: &str = "#!=";
/// `[one, other]`: `!==`.
pub(crate) const UNEQUAL: &str = "#!==";
/// `[needle, haystack]`: `in`.
pub(crate) const CONTAINED: &str = "#in";

/// Members that are looked up one by one; more are put into a table first.
const FEW: usize = 16;

/// Compares loosely or strictly; whether the answer is that two values are equal, or that they are not.
pub(super) struct Equality {
    strict: bool,
    expected: bool,
}

impl Equality {
    pub(super) const EQUAL: Self = Self { strict: false, expected: true };
    pub(super) const SAME: Self = Self { strict: true, expected: true };
    pub(super) const DIFFERENT: Self = Self { strict: false, expected: false };
    pub(super) const UNEQUAL: Self = Self { strict: true, expected: false };
}

pub(super) struct Contained;

type Members<'v> = [(&'v str, DataValue<'v>)];

impl CustomOperator for Equality {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [one, other, times @ ..] = args else {
            return Err(super::arguments::refuse("Invalid Arguments"));
        };
        let as_times = if times.is_empty() { None } else { times_equal(one, other) };
        let equal = match (as_times, self.strict) {
            (Some(equal), _) => equal,
            (None, true) => strictly_equal(one, other)?,
            (None, false) => loosely_equal(one, other)?,
        };
        Ok(arena.bool(equal == self.expected))
    }
}

impl CustomOperator for Contained {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [needle, haystack, times @ ..] = args else {
            return Err(super::arguments::refuse("Invalid Arguments"));
        };
        let is_contained = match (needle, haystack) {
            (DataValue::String(needle), DataValue::String(haystack)) => {
                spend(text_units(haystack))?;
                haystack.contains(*needle)
            }
            (needle, DataValue::Array(items)) => is_among(needle, items, !times.is_empty())?,
            _ => false,
        };
        Ok(arena.bool(is_contained))
    }
}

/// Returns `true` if one of the items is strictly equal to a value. The value is parsed as a time only once.
fn is_among(needle: &DataValue<'_>, items: &[DataValue<'_>], as_times: bool) -> datalogic_rs::Result<bool> {
    let times = if as_times { Times::from_value(needle) } else { None };
    for item in items {
        spend(1)?;
        let equal = match times.as_ref().and_then(|times| times.equal(&Times::from_value(item)?)) {
            Some(equal) => equal,
            None => strictly_equal(needle, item)?,
        };
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `==`, which converts between kinds and refuses what cannot be converted.
fn loosely_equal(one: &DataValue<'_>, other: &DataValue<'_>) -> datalogic_rs::Result<bool> {
    use DataValue::{Array, Bool, Null, Number, Object, String};
    Ok(match (one, other) {
        (Null, Null) => true,
        (Bool(one), Bool(other)) => one == other,
        (String(one), String(other)) => one == other,
        (Number(one), Number(other)) => order(*one, *other).is_eq(),
        (Number(number), String(text)) | (String(text), Number(number)) => {
            let parsed = parse(text).ok_or_else(not_a_number)?;
            order(*number, parsed).is_eq()
        }
        (Number(number), Bool(flag)) | (Bool(flag), Number(number)) => {
            number.as_f64() == f64::from(u8::from(*flag))
        }
        (String(text), Bool(flag)) | (Bool(flag), String(text)) => {
            *text == if *flag { "true" } else { "false" }
        }
        (Null, Number(number)) | (Number(number), Null) => number.as_f64() == 0.0,
        (Null, Bool(flag)) | (Bool(flag), Null) => !flag,
        (Null, String(text)) | (String(text), Null) => text.is_empty(),
        (Array(_), Array(_)) => {
            if !strictly_equal(one, other)? {
                return Err(not_a_number());
            }
            true
        }
        (Object(_), Object(_)) => false,
        (Array(_) | Object(_), _) | (_, Array(_) | Object(_)) => return Err(not_a_number()),
        _ => false,
    })
}

fn not_a_number() -> datalogic_rs::Error {
    super::arguments::refuse("NaN")
}

/// `===` of texts as texts, of numbers by their values whatever their kind, of objects whatever the order of their
/// members.
pub(super) fn strictly_equal(one: &DataValue<'_>, other: &DataValue<'_>) -> datalogic_rs::Result<bool> {
    match (one, other) {
        (DataValue::String(one), DataValue::String(other)) => {
            if one.len() != other.len() || ptr::eq(*one, *other) {
                return Ok(one.len() == other.len());
            }
            spend(text_units(one))?;
            Ok(one == other)
        }
        (DataValue::Number(one), DataValue::Number(other)) => Ok(order(*one, *other).is_eq()),
        (DataValue::Array(one), DataValue::Array(other)) => items_equal(one, other),
        (DataValue::Object(one), DataValue::Object(other)) => members_equal(one, other),
        _ => Ok(one == other),
    }
}

fn items_equal(one: &[DataValue<'_>], other: &[DataValue<'_>]) -> datalogic_rs::Result<bool> {
    if one.len() != other.len() || ptr::eq(one.as_ptr(), other.as_ptr()) {
        return Ok(one.len() == other.len());
    }
    for (one, other) in one.iter().zip(other) {
        spend(1)?;
        if !strictly_equal(one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn members_equal(one: &Members<'_>, other: &Members<'_>) -> datalogic_rs::Result<bool> {
    if one.len() != other.len() || ptr::eq(one.as_ptr(), other.as_ptr()) {
        return Ok(one.len() == other.len());
    }
    // Two objects of one origin have their members in one order.
    let mut ordered = 0;
    for ((name, value), (other_name, other_value)) in one.iter().zip(other) {
        if name != other_name {
            break;
        }
        spend(text_units(name))?;
        if !strictly_equal(value, other_value)? {
            return Ok(false);
        }
        ordered += 1;
    }
    let (one, other) = (&one[ordered..], &other[ordered..]);
    let mut table = HashMap::new();
    if other.len() > FEW {
        for (name, value) in other {
            spend(text_units(name))?;
            table.entry(*name).or_insert(value);
        }
    }
    for (name, value) in one {
        spend(text_units(name))?;
        let counterpart = match table.is_empty() {
            true => other.iter().find(|(other, _)| other == name).map(|(_, value)| value),
            false => table.get(name).copied(),
        };
        match counterpart {
            Some(counterpart) if strictly_equal(value, counterpart)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Compares the times that two values denote; `None` unless both are instants, or both durations.
pub(super) fn times_equal(one: &DataValue<'_>, other: &DataValue<'_>) -> Option<bool> {
    if !may_be_time(one) || !may_be_time(other) {
        return None;
    }
    Times::from_value(one)?.equal(&Times::from_value(other)?)
}

fn may_be_time(value: &DataValue<'_>) -> bool {
    match value {
        DataValue::String(text) => may_read_as_time(text),
        DataValue::Object(_) | DataValue::DateTime(_) | DataValue::Duration(_) => true,
        _ => false,
    }
}

/// Returns `false` for a text that no reader of times takes for one.
pub(crate) fn may_read_as_time(text: &str) -> bool {
    text.len() > 1 && text.as_bytes()[0].is_ascii_digit()
}

/// The instant and the duration that a value denotes, as the library reads them.
pub(super) struct Times {
    pub(super) instant: Option<DateTime<Utc>>,
    pub(super) duration: Option<chrono::Duration>,
}

impl Times {
    /// `None` for a value that is neither.
    pub(super) fn from_value(value: &DataValue<'_>) -> Option<Self> {
        if !may_be_time(value) {
            return None;
        }
        let instant = |text: &str| DataDateTime::parse(text).map(|instant| instant.dt);
        let duration = |text: &str| DataDuration::parse(text).map(|duration| duration.0);
        let times = match value {
            DataValue::DateTime(time) => Self { instant: Some(time.dt), duration: None },
            DataValue::Duration(time) => Self { instant: None, duration: Some(time.0) },
            DataValue::String(text) => Self { instant: instant(text), duration: duration(text) },
            DataValue::Object(members) => Self {
                instant: text_of(members, "datetime").and_then(instant),
                duration: text_of(members, "timestamp").and_then(duration),
            },
            _ => return None,
        };
        (times.instant.is_some() || times.duration.is_some()).then_some(times)
    }

    fn equal(&self, other: &Self) -> Option<bool> {
        let instants = self.instant.zip(other.instant).map(|(one, other)| one == other);
        instants.or_else(|| self.duration.zip(other.duration).map(|(one, other)| one == other))
    }
}

fn text_of<'v>(members: &'v Members<'v>, wanted: &str) -> Option<&'v str> {
    members.iter().find_map(|(name, value)| match value {
        DataValue::String(text) if *name == wanted => Some(*text),
        _ => None,
    })
}
