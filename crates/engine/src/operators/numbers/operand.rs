//! Operands that are numbers, or name a number of places or a rule of rounding.

use datalogic_rs::DataValue;
use datalogic_rs::datavalue::NumberValue;

use super::decimal::{Decimal, MAX_DIGITS, RoundingMode};
use crate::operators::arguments::{kind_of, refuse};
use crate::operators::guard::spend;
use crate::operators::large_integers::write_double;

/// Units of work that a decimal number of a few digits counts for, and each of its digits.
const NUMBER: usize = 16;
const DIGIT: usize = 4;

/// The doubles from here on may be large integers of the message, whose digits are known.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Returns the decimal number that an operand is.
///
/// # Errors
/// It is no number and no text of one, or has too many digits; also when the time is over.
pub(super) fn decimal_operand(operator: &str, value: &DataValue<'_>) -> datalogic_rs::Result<Decimal> {
    let decimal = match value {
        DataValue::String(text) => parse(text)?,
        DataValue::Number(NumberValue::Integer(integer)) => {
            spend(NUMBER)?;
            Ok((*integer).into())
        }
        DataValue::Number(NumberValue::Float(double)) if double.abs() < LARGE => {
            spend(NUMBER)?;
            Decimal::from_double(*double)
        }
        DataValue::Number(NumberValue::Float(double)) => {
            let mut text = String::new();
            write_double(*double, &mut text)?;
            parse(&text)?
        }
        other => return Err(no_number(operator, other)),
    };
    decimal.map_err(|why| refuse(format!("{operator}: {why}")))
}

fn parse(text: &str) -> datalogic_rs::Result<Result<Decimal, &'static str>> {
    // A text beyond the bounds is refused before its digits are read.
    spend(NUMBER + DIGIT * text.len().min(2 * MAX_DIGITS))?;
    Ok(Decimal::parse(text))
}

/// Returns the refusal of what is no number.
pub(super) fn no_number(operator: &str, value: &DataValue<'_>) -> datalogic_rs::Error {
    refuse(format!("{operator} takes numbers and texts of numbers, and an operand is {}", kind_of(value)))
}

/// Returns the number of digits behind the point, at least `least`.
pub(super) fn places_operand(
    operator: &str,
    value: Option<&&DataValue<'_>>,
    least: i32,
) -> datalogic_rs::Result<i32> {
    let Some(value) = value else { return Ok(0) };
    let most = MAX_DIGITS as i64;
    let places = value.as_i64().filter(|places| (i64::from(least)..=most).contains(places));
    let places = places.and_then(|places| i32::try_from(places).ok());
    places.ok_or_else(|| refuse(format!("{operator} takes a number of decimals from {least} to {most}")))
}

/// Returns the rule of rounding.
pub(super) fn mode_operand(
    operator: &str,
    value: Option<&&DataValue<'_>>,
) -> datalogic_rs::Result<RoundingMode> {
    let Some(value) = value else { return Ok(RoundingMode::HalfEven) };
    let mode = value.as_str().and_then(RoundingMode::from_name);
    mode.ok_or_else(|| refuse(format!("{operator} knows the modes {}", RoundingMode::NAMES.join(", "))))
}
