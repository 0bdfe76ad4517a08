//! Constants: the values that columns are compared with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::reader::single;

/// The key of an object that represents bytes.
pub(crate) const BINARY: &str = "$binary";

/// A single value of a comparison. Never null: a test for null is
/// [`Predicate::Null`](crate::Predicate::Null).
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// True or false.
    Bool(bool),
    Number(Number),
    /// A string.
    Text(String),
    /// An object id of MongoDB: the text of `{"$oid": text}`.
    Oid(String),
    /// Bytes: the base64 text of `{"$binary": text}`.
    Binary(String),
    /// A timestamp of MongoDB: the text of `{"$date": text}`.
    Date(String),
}

impl Constant {
    /// Converts a JSON value; returns `None` for null.
    ///
    /// # Errors
    /// The reason why the value is not a constant: it is a list, or an object other than `$oid`, `$date` and
    /// `$binary`.
    pub fn from_json(value: &Value) -> Result<Option<Self>, &'static str> {
        match value {
            Value::Null => Ok(None),
            Value::Bool(flag) => Ok(Some(Self::Bool(*flag))),
            Value::Number(number) => Ok(Some(Self::Number(number.clone()))),
            Value::String(text) => Ok(Some(Self::Text(text.clone()))),
            Value::Array(_) => Err("a list is no value here"),
            Value::Object(_) => match single(value) {
                Some(("$oid", Value::String(text))) => Ok(Some(Self::Oid(text.clone()))),
                Some(("$date", Value::String(text))) => Ok(Some(Self::Date(text.clone()))),
                Some((BINARY, Value::String(text))) => match STANDARD.decode(text) {
                    Ok(_) => Ok(Some(Self::Binary(text.clone()))),
                    Err(_) => Err("\"$binary\" must be base64"),
                },
                _ => Err("an object is no value here"),
            },
        }
    }

    /// Returns true for the types that only MongoDB has (`$oid`, `$date`).
    pub const fn is_typed(&self) -> bool {
        matches!(self, Self::Oid(_) | Self::Date(_))
    }
}
