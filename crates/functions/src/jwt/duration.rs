//! Durations in authored inputs.

use serde_json::Value;

/// Maximum duration: ten years of 365 days, in seconds.
const MAX_SECONDS: i64 = 315_360_000;

/// The bound of the whole numbers that a float holds exactly.
const LARGEST_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The message for an invalid duration.
pub(super) const WHY: &str = "1 to 315360000 seconds, as an integer or as a text such as 90s, 15m, 12h, 30d";

/// Parses a duration to seconds: an integer, or digits with a unit.
pub(super) fn seconds(value: &Value) -> Result<i64, &'static str> {
    let seconds = match value {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => parse_written(text),
        _ => None,
    };
    seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds)).ok_or(WHY)
}

/// Returns the whole number that a message has as a float.
fn whole(float: f64) -> Option<i64> {
    let is_whole = float.fract() == 0.0 && float.abs() <= LARGEST_FLOAT;
    #[expect(clippy::cast_possible_truncation, reason = "of no use unless whole and bounded")]
    let integer = float as i64;
    is_whole.then_some(integer)
}

fn parse_written(text: &str) -> Option<i64> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    // Only digits: `parse` would also accept a sign.
    let number: i64 = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duration_is_an_integer_or_has_a_unit() {
        for (value, expected) in [
            (json!(1), 1),
            (json!(900.0), 900),
            (json!(315_360_000), 315_360_000),
            (json!("90s"), 90),
            (json!("15m"), 900),
            (json!("12h"), 43_200),
            (json!("3650d"), 315_360_000),
        ] {
            assert_eq!(seconds(&value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for value in [
            json!(0),
            json!(-5),
            json!(1.5),
            json!(0.0),
            json!(1e300),
            json!(315_360_001),
            json!("3651d"),
            json!("0s"),
            json!("60"),
            json!("m"),
            json!(""),
            json!("+5m"),
            json!("-5m"),
            json!("1.5h"),
            json!("5 m"),
            json!("5M"),
            json!("1w"),
            json!("1é"),
            json!("9223372036854775807d"),
            json!(null),
            json!(true),
            json!(["5m"]),
        ] {
            assert_eq!(seconds(&value), Err(WHY), "{value}");
        }
    }
}
