//! Canonical JSON, and the content hash by which documents are compared.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Serializes a value as canonical JSON: keys sorted by their UTF-8 bytes at every depth, no whitespace,
/// arrays in order.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// Returns `sha256:` and the SHA-256 of the canonical JSON in lower-case hex.
pub fn content_hash(value: &Value) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(canonical_json(value).as_bytes())))
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
            out.push('{');
            for (index, (key, member)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_string(text, out),
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Serializes a string exactly as serde_json does.
fn write_string(text: &str, out: &mut String) {
    let needs_escape = |b: u8| b < 0x20 || b == b'"' || b == b'\\';
    if text.bytes().any(needs_escape) {
        out.push_str(&Value::from(text).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_check_value_holds() {
        let value = json!({"b": [1, {"y": 2, "x": 3}], "a": null});
        assert_eq!(canonical_json(&value), r#"{"a":null,"b":[1,{"x":3,"y":2}]}"#);
        assert_eq!(
            content_hash(&value),
            "sha256:fd5905a59ba4aec9fd37e5214d395b1f9ac0db9d3a7addf85ee5c31e89e8a5bc"
        );
    }

    #[test]
    fn canonical_json_sorts_keys_and_escapes_strings() {
        let value = json!({"é": "\u{1}\"\\", "z": 1.5, "Z": true});
        let text = canonical_json(&value);
        assert_eq!(text, "{\"Z\":true,\"z\":1.5,\"é\":\"\\u0001\\\"\\\\\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn the_order_of_an_array_matters() {
        assert_ne!(content_hash(&json!([1, 2])), content_hash(&json!([2, 1])));
    }
}
