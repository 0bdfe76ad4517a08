//! Parameters for PostgreSQL: sent as text, so that the server reads each as the type it asks for.

use std::error::Error;
use std::fmt::Write as _;

use bytes::BytesMut;
use serde_json::Value;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

use super::utc;
use crate::drivers::sql::messages::StatementOrigin;
use crate::drivers::sql::value::tagged_bytes;

/// A value on its way: its text, or NULL.
#[derive(Debug, PartialEq)]
pub(super) struct Param(Option<String>);

/// Converts a value to a parameter of this type. For a JSON type a text is JSON in a statement that an author
/// wrote, who may have it serialized already; in a portable document it is a string value.
pub(super) fn param(value: &Value, kind: &Type, origin: &StatementOrigin) -> Param {
    Param(text(value, kind, origin))
}

fn text(value: &Value, kind: &Type, origin: &StatementOrigin) -> Option<String> {
    match (base(kind), value) {
        (_, Value::Null) => None,
        (kind, Value::Array(items)) if let Kind::Array(member) = kind.kind() => {
            Some(array(items, member, origin))
        }
        (&Type::JSON | &Type::JSONB, Value::String(_)) if origin.is_document() => Some(value.to_string()),
        (&Type::BYTEA, Value::Object(_)) if let Some(bytes) = tagged_bytes(value) => Some(bytea(&bytes)),
        // An array of SQL has no members of JSON.
        (_, Value::Array(_) | Value::Object(_)) => Some(value.to_string()),
        (&Type::BYTEA, Value::String(text)) => Some(bytea(text.as_bytes())),
        // PostgreSQL would pass over the offset.
        (plain @ (&Type::TIMESTAMP | &Type::DATE | &Type::TIME), Value::String(text)) => {
            Some(utc::without_offset(plain, text).unwrap_or_else(|| text.clone()))
        }
        (_, Value::String(text)) => Some(text.clone()),
        (&Type::INT2 | &Type::INT4 | &Type::INT8 | &Type::OID, Value::Number(number)) => {
            // 5.0 is a whole number.
            let whole = number.as_f64().filter(|double| number.is_f64() && double.fract() == 0.0);
            Some(whole.map_or_else(|| number.to_string(), |whole| format!("{whole:.0}")))
        }
        (_, Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
    }
}

fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", hex::encode(bytes))
}

/// Returns the type that a domain is made over.
fn base(kind: &Type) -> &Type {
    match kind.kind() {
        Kind::Domain(under) => base(under),
        _ => kind,
    }
}

/// `{"a",NULL,{"b"}}`: quotes and backslashes have a backslash before them.
fn array(items: &[Value], member: &Type, origin: &StatementOrigin) -> String {
    let mut literal = String::from("{");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            literal.push(',');
        }
        match item {
            // A dimension more of the same type, but where the members are JSON themselves.
            Value::Array(items) if !matches!(*base(member), Type::JSON | Type::JSONB) => {
                literal.push_str(&array(items, member, origin));
            }
            item => match text(item, member, origin) {
                None => literal.push_str("NULL"),
                Some(text) => {
                    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
                    // Writing to a string does not fail.
                    let _ = write!(literal, "\"{text}\"");
                }
            },
        }
    }
    literal.push('}');
    literal
}

impl ToSql for Param {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match &self.0 {
            None => IsNull::Yes,
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bind_text(value: Value, kind: &Type) -> Option<String> {
        param(&value, kind, &StatementOrigin::Author).0
    }

    #[test]
    fn values_are_sent_as_text_of_their_type() {
        for (value, kind, expected) in [
            (json!(null), Type::INT4, None),
            (json!(5), Type::INT2, Some("5")),
            (json!(5.0), Type::INT8, Some("5")),
            (json!(5.5), Type::INT4, Some("5.5")),
            (json!(5), Type::TEXT, Some("5")),
            (json!(12.5), Type::NUMERIC, Some("12.5")),
            (json!(true), Type::BOOL, Some("true")),
            (json!("2024-01-02"), Type::DATE, Some("2024-01-02")),
            (json!("a'b"), Type::TEXT, Some("a'b")),
            (json!("2024-02-29T03:02:03+02:00"), Type::TIMESTAMP, Some("2024-02-29T01:02:03")),
            (json!("2024-02-29T03:02:03+02:00"), Type::TIMESTAMPTZ, Some("2024-02-29T03:02:03+02:00")),
            (json!("aé"), Type::BYTEA, Some("\\x61c3a9")),
            (json!({"$binary": "/wA="}), Type::BYTEA, Some("\\xff00")),
            (json!({"$binary": "/wA="}), Type::JSONB, Some(r#"{"$binary":"/wA="}"#)),
            (json!({"a": [1, "x"]}), Type::JSONB, Some(r#"{"a":[1,"x"]}"#)),
            (json!([1, "x"]), Type::JSONB, Some(r#"[1,"x"]"#)),
            (json!([1, "x"]), Type::TEXT, Some(r#"[1,"x"]"#)),
        ] {
            assert_eq!(bind_text(value.clone(), &kind).as_deref(), expected, "{value} as {kind}");
        }
    }

    #[test]
    fn document_text_is_quoted_in_json_columns() {
        let document = StatementOrigin::Document { inserts: None };
        for (kind, origin, expected) in [
            (Type::JSONB, &document, r#""5""#),
            (Type::JSON, &document, r#""5""#),
            (Type::TEXT, &document, "5"),
            (Type::JSONB, &StatementOrigin::Author, "5"),
        ] {
            assert_eq!(param(&json!("5"), &kind, origin).0.as_deref(), Some(expected), "{kind} {origin:?}");
        }
    }

    #[test]
    fn an_array_of_sql_is_written_as_one() {
        for (value, kind, due) in [
            (json!([]), Type::INT4_ARRAY, "{}"),
            (json!([1, 2.0, null]), Type::INT4_ARRAY, r#"{"1","2",NULL}"#),
            (json!([[1, 2], [3, 4]]), Type::INT4_ARRAY, r#"{{"1","2"},{"3","4"}}"#),
            (json!(["a\"b\\c", "{}", "NULL", ""]), Type::TEXT_ARRAY, r#"{"a\"b\\c","{}","NULL",""}"#),
            (json!([{"$binary": "/wA="}]), Type::BYTEA_ARRAY, r#"{"\\xff00"}"#),
            (json!(["2024-02-29 00:30+01"]), Type::TIMESTAMP_ARRAY, r#"{"2024-02-28T23:30:00"}"#),
            (json!([[1], {"a": "\""}]), Type::JSONB_ARRAY, r#"{"[1]","{\"a\":\"\\\"\"}"}"#),
        ] {
            assert_eq!(bind_text(value.clone(), &kind).as_deref(), Some(due), "{value}");
        }
    }
}
