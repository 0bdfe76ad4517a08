//! The truth of the value that the expression of a guard gives.

use serde_json::Value;

/// Returns the truth of a value as guards see it: null, false, zero, and the empty string and array are falsy; an empty
/// object is not.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_truthy;

    #[test]
    fn only_the_empty_and_the_false_fail() {
        for falsy in [json!(null), json!(false), json!(0), json!(0.0), json!(""), json!([])] {
            assert!(!is_truthy(&falsy), "{falsy}");
        }
        for truthy in [json!(true), json!(1), json!(-0.1), json!("0"), json!([0]), json!({})] {
            assert!(is_truthy(&truthy), "{truthy}");
        }
    }
}
