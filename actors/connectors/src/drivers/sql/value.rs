//! Values of databases as JSON: what the databases have in common.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value, json};

/// The key of an object that represents bytes: `{"$binary": base64}`.
pub(super) const BINARY: &str = "$binary";

/// The refusal of a type that has no place in JSON, with the remedy.
pub(super) const UNSUPPORTED: &str = "has no place in JSON: cast it to text in the query";
/// The refusal of a number that JSON cannot hold.
pub(super) const NOT_FINITE: &str = "holds a value that is not a finite number";
/// The refusal of bytes that a task reads as text.
pub(super) const NOT_TEXT: &str = "holds bytes that are no UTF-8: read them with binary_as hex or base64";
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

/// The forms in which values are read that JSON does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueForm {
    /// Of bytes.
    pub(crate) binary: BinaryForm,
    /// Of decimals.
    pub(crate) numeric: NumericForm,
}

impl ValueForm {
    /// Returns the forms of two names; the default of one that is absent.
    pub(crate) fn from_names(binary_as: Option<&str>, numeric_as: Option<&str>) -> Self {
        let numeric = match numeric_as {
            Some("text") => NumericForm::Text,
            _ => NumericForm::Number,
        };
        Self { binary: BinaryForm::from_name(binary_as), numeric }
    }
}

/// The form in which decimals are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NumericForm {
    /// A number, see [`decimal`].
    #[default]
    Number,
    /// A text with all digits.
    Text,
}

impl NumericForm {
    /// Converts the digits of a decimal.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub(super) fn encode(self, digits: &str) -> Result<Value, &'static str> {
        match self {
            Self::Number => decimal(digits),
            Self::Text => Ok(digits.into()),
        }
    }
}

/// The form in which bytes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BinaryForm {
    /// Text if they are UTF-8, else `{"$binary": base64}`: written back, they are the same bytes.
    #[default]
    Tagged,
    /// Hexadecimal digits in lower case.
    Hex,
    /// Base64, standard and padded.
    Base64,
    /// Text; other bytes are an error.
    Text,
}

impl BinaryForm {
    /// Returns the form of a name; the default without one.
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("hex") => Self::Hex,
            Some("base64") => Self::Base64,
            Some("text") => Self::Text,
            _ => Self::Tagged,
        }
    }

    /// Converts bytes of a binary value.
    ///
    /// # Errors
    /// [`NOT_TEXT`], if only text is accepted.
    pub(super) fn encode(self, bytes: &[u8]) -> Result<Value, &'static str> {
        match self {
            Self::Hex => Ok(hex::encode(bytes).into()),
            Self::Base64 => Ok(STANDARD.encode(bytes).into()),
            Self::Tagged => Ok(text_or_tagged(bytes)),
            Self::Text => std::str::from_utf8(bytes).map(Value::from).map_err(|_| NOT_TEXT),
        }
    }
}

/// Converts bytes: to text if they are UTF-8, else to `{"$binary": base64}`.
pub(super) fn text_or_tagged(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({BINARY: STANDARD.encode(bytes)}),
    }
}

/// Returns the base64 text of `{"$binary": base64}`.
fn tagged(value: &Value) -> Option<&str> {
    let Value::Object(members) = value else { return None };
    match members.iter().next() {
        Some((key, Value::String(text))) if members.len() == 1 && key == BINARY => Some(text),
        _ => None,
    }
}

/// Returns the bytes of `{"$binary": base64}`; `None` for any other value.
pub(super) fn tagged_bytes(value: &Value) -> Option<Vec<u8>> {
    tagged(value).and_then(|text| STANDARD.decode(text).ok())
}

/// Returns true for `{"$binary": text}` whose text is no base64.
pub(super) fn is_malformed_binary(value: &Value) -> bool {
    tagged(value).is_some_and(|text| STANDARD.decode(text).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_what_a_json_number_can_hold() {
        for (digits, expected) in [
            ("0", json!(0)),
            ("-42", json!(-42)),
            ("12.50", json!(12.5)),
            ("9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("123456789.123456", json!(123_456_789.123_456)),
            ("-0.000001", json!(-0.000_001)),
        ] {
            assert_eq!(decimal(digits), Ok(expected), "{digits}");
        }
        assert_eq!(decimal("NaN"), Err(NOT_FINITE));
        assert!(decimal("1.2.3").is_err());
    }

    #[test]
    fn decimal_as_text_keeps_every_digit() {
        let form = ValueForm::from_names(Some("hex"), Some("text"));
        assert_eq!((form.binary, form.numeric), (BinaryForm::Hex, NumericForm::Text));
        for digits in ["12.50", "0.10000000000000000001", "-7"] {
            assert_eq!(form.numeric.encode(digits), Ok(json!(digits)));
        }
        assert_eq!(ValueForm::from_names(None, Some("number")), ValueForm::default());
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
    fn bytes_survive_the_round_trip_as_text() {
        let raw = [0xff, 0x00, 0x1f];
        for (form, text, other) in [
            (None, "é\n", Ok(json!({"$binary": "/wAf"}))),
            (Some("hex"), "c3a90a", Ok(json!("ff001f"))),
            (Some("base64"), "w6kK", Ok(json!("/wAf"))),
            (Some("text"), "é\n", Err(NOT_TEXT)),
        ] {
            let form = BinaryForm::from_name(form);
            assert_eq!(form.encode("é\n".as_bytes()), Ok(json!(text)), "{form:?}");
            assert_eq!(form.encode(&raw), other, "{form:?}");
            assert_eq!(form.encode(&[]), Ok(json!("")), "{form:?}");
        }
        assert_eq!(tagged_bytes(&json!({"$binary": "/wAf"})).as_deref(), Some(&raw[..]));
        for other in
            [json!("/wAf"), json!({"$binary": "?"}), json!({"$binary": "/wAf", "a": 1}), json!({"a": ""})]
        {
            assert_eq!(tagged_bytes(&other), None, "{other}");
        }
        assert!(
            is_malformed_binary(&json!({"$binary": "?"})) && !is_malformed_binary(&json!({"$binary": ""}))
        );
    }
}
