//! Values of databases as JSON: what the databases have in common.

use serde_json::{Number, Value};

/// The refusal of a type that has no place in JSON, with the remedy.
pub(super) const UNSUPPORTED: &str = "has no place in JSON: cast it to text in the query";
/// The refusal of a number that JSON cannot hold.
pub(super) const NOT_FINITE: &str = "holds a value that is not a finite number";
/// The refusal of a value that cannot be decoded.
pub(super) const MALFORMED: &str = "holds a value that cannot be read";

/// Converts a double.
pub(super) fn double(value: f64) -> Result<Value, &'static str> {
    Number::from_f64(value).map(Value::Number).ok_or(NOT_FINITE)
}

/// Converts a single by its shortest decimal form: 0.1 stays 0.1.
pub(super) fn single(value: f32) -> Result<Value, &'static str> {
    double(value.to_string().parse().map_err(|_| MALFORMED)?)
}

/// Converts a decimal, given as digits. A whole number that fits keeps every digit; any other is the double
/// next to it, which keeps 15 of them at least.
pub(super) fn decimal(digits: &str) -> Result<Value, &'static str> {
    if let Ok(whole) = digits.parse::<i64>() {
        return Ok(whole.into());
    }
    if let Ok(whole) = digits.parse::<u64>() {
        return Ok(whole.into());
    }
    double(digits.parse().map_err(|_| MALFORMED)?)
}

/// Converts bytes: to text where they are UTF-8, else to hexadecimal.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => hex::encode(bytes).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn decimals_keep_what_a_json_number_can_hold() {
        for (digits, due) in [
            ("0", json!(0)),
            ("-42", json!(-42)),
            ("12.50", json!(12.5)),
            ("9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("123456789.123456", json!(123_456_789.123_456)),
            ("-0.000001", json!(-0.000_001)),
        ] {
            assert_eq!(decimal(digits), Ok(due), "{digits}");
        }
        assert_eq!(decimal("NaN"), Err(NOT_FINITE));
        assert!(decimal("1.2.3").is_err());
    }

    #[test]
    fn floats_are_finite_and_short() {
        assert_eq!(single(0.1), Ok(json!(0.1)));
        assert_eq!(double(1e300), Ok(json!(1e300)));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(double(bad), Err(NOT_FINITE));
        }
        assert_eq!(single(f32::INFINITY), Err(NOT_FINITE));
    }

    #[test]
    fn bytes_are_text_where_they_can_be() {
        assert_eq!(bytes("é\n".as_bytes()), json!("é\n"));
        assert_eq!(bytes(&[0xff, 0x00, 0x1f]), json!("ff001f"));
        assert_eq!(bytes(&[]), json!(""));
    }
}
