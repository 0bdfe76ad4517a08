//! `format_number`: a number for readers.

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::decimal::RoundingMode;
use super::operand::{decimal_operand, places_operand};
use crate::operators::arguments::refuse;

/// Longest separator, in bytes.
const MAX_SEPARATOR: usize = 8;

/// `[number, decimals, thousands, point]`: the digits in groups of three; decimals of null are its own.
pub(crate) struct FormatNumber;

impl CustomOperator for FormatNumber {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let ([number] | [number, _] | [number, _, _] | [number, _, _, _]) = args else {
            return Err(refuse("format_number takes a number, its decimals and the separators"));
        };
        let mut number = decimal_operand("format_number", number)?;
        let places = args.get(1).filter(|places| !places.is_null());
        if places.is_some() {
            let places = places_operand("format_number", places, 0)?;
            let rounded = number.round(places, RoundingMode::HalfEven);
            number = rounded.map_err(|why| refuse(format!("format_number: {why}")))?;
        }
        let thousands = separator(args.get(2), ",")?;
        let point = separator(args.get(3), ".")?;
        Ok(arena.string(&grouped(&number.to_string(), thousands, point)))
    }
}

fn separator<'a>(value: Option<&&'a DataValue<'a>>, usual: &'static str) -> datalogic_rs::Result<&'a str> {
    match value {
        None => Ok(usual),
        Some(DataValue::String(text)) if text.len() <= MAX_SEPARATOR => Ok(text),
        Some(_) => Err(refuse(format!("format_number takes separators of up to {MAX_SEPARATOR} bytes"))),
    }
}

/// Writes a decimal number with separators of its own.
fn grouped(number: &str, thousands: &str, point: &str) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut text = sign.to_owned();
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n).is_multiple_of(3) {
            text.push_str(thousands);
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push_str(point);
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_threes() {
        for (number, expected) in [
            ("0", "0"),
            ("123", "123"),
            ("1234", "1.234"),
            ("-123456.70", "-123.456,70"),
            ("1234567", "1.234.567"),
        ] {
            assert_eq!(grouped(number, ".", ","), expected);
        }
    }
}
