//! Values that rows are compared with.

use serde_json::{Number, Value};

use crate::reader::single;

/// One value; never null, which is asked for by its own test.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// The text of `{"$oid": text}`: an object id of MongoDB.
    Oid(String),
    /// The text of `{"$date": text}`: an instant of MongoDB.
    Date(String),
}

impl Constant {
    /// The constant a JSON value is; `None` for null.
    ///
    /// # Errors
    /// Why it is none.
    pub fn of(value: &Value) -> Result<Option<Self>, &'static str> {
        match value {
            Value::Null => Ok(None),
            Value::Bool(flag) => Ok(Some(Self::Bool(*flag))),
            Value::Number(number) => Ok(Some(Self::Number(number.clone()))),
            Value::String(text) => Ok(Some(Self::Text(text.clone()))),
            Value::Array(_) => Err("a list is no value here"),
            Value::Object(_) => match single(value) {
                Some(("$oid", Value::String(text))) => Ok(Some(Self::Oid(text.clone()))),
                Some(("$date", Value::String(text))) => Ok(Some(Self::Date(text.clone()))),
                _ => Err("an object is no value here"),
            },
        }
    }

    /// Whether only MongoDB has values of this type.
    pub const fn is_typed(&self) -> bool {
        matches!(self, Self::Oid(_) | Self::Date(_))
    }
}
