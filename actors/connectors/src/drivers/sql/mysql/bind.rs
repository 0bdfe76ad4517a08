//! Parameters for MySQL. The server turns each into the type of its place.

use mysql_async::Value as Bound;
use serde_json::Value;

use crate::drivers::sql::value::tagged_bytes;

/// Converts a value to a parameter.
pub(super) fn param(value: &Value) -> Bound {
    match value {
        Value::Null => Bound::NULL,
        Value::Bool(is) => Bound::Int((*is).into()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(int), ..) => Bound::Int(int),
            (None, Some(int), _) => Bound::UInt(int),
            (None, None, Some(double)) => Bound::Double(double),
            (None, None, None) => Bound::Bytes(number.to_string().into_bytes()),
        },
        Value::String(text) => Bound::Bytes(text.clone().into_bytes()),
        Value::Array(_) | Value::Object(_) => {
            Bound::Bytes(tagged_bytes(value).unwrap_or_else(|| value.to_string().into_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_keep_their_kind() {
        for (value, expected) in [
            (json!(null), Bound::NULL),
            (json!(true), Bound::Int(1)),
            (json!(-7), Bound::Int(-7)),
            (json!(u64::MAX), Bound::UInt(u64::MAX)),
            (json!(1.5), Bound::Double(1.5)),
            (json!("a'b"), Bound::Bytes(b"a'b".to_vec())),
            (json!({"a": [1]}), Bound::Bytes(br#"{"a":[1]}"#.to_vec())),
            (json!({"$binary": "/wA="}), Bound::Bytes(vec![0xff, 0])),
        ] {
            assert_eq!(param(&value), expected, "{value}");
        }
    }
}
