//! Values of SQLite as JSON. A value has a type of its own, whatever its column says; the column decides
//! if that leaves room: `BOOLEAN` for 0 and 1, `JSON` for a text, `DECIMAL` and `NUMERIC` for numbers read as text.

use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use serde_json::{Map, Value};

use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::value::{MALFORMED, NumericForm, ValueForm, double, text_or_tagged};

/// A column of a result.
pub(super) struct Column {
    name: String,
    declared: Declared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    Boolean,
    Json,
    Decimal,
    Other,
}

impl Declared {
    fn from_declaration(kind: Option<&str>) -> Self {
        let kind = kind.unwrap_or_default().trim().to_ascii_uppercase();
        // A decimal may state its digits: `DECIMAL(10, 2)`.
        match kind.split('(').next().unwrap_or_default().trim_end() {
            "NUMERIC" | "DECIMAL" => Self::Decimal,
            "BOOLEAN" | "BOOL" => Self::Boolean,
            "JSON" | "JSONB" => Self::Json,
            _ => Self::Other,
        }
    }
}

/// The columns of a query that runs.
pub(super) fn columns(query: &Statement<'_>) -> Vec<Column> {
    let columns = query.columns().into_iter();
    columns
        .map(|column| Column {
            name: column.name().to_owned(),
            declared: Declared::from_declaration(column.decl_type()),
        })
        .collect()
}

/// Bytes of the texts and blobs of a row.
pub(super) fn size(row: &Row<'_>) -> usize {
    let length = |index| match row.get_ref(index) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len(),
        _ => 0,
    };
    (0..row.as_ref().column_count()).map(length).sum()
}

/// A row as an object, its columns in their order.
pub(super) fn row(row: &Row<'_>, columns: &[Column], form: ValueForm) -> Result<Value, SqlError> {
    let mut object = Map::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let unreadable = |kind: &str, why| SqlError::Unreadable {
            column: column.name.clone(),
            kind: kind.to_owned(),
            why,
        };
        let sent = row.get_ref(index).map_err(|_| unreadable("unknown", MALFORMED))?;
        let value = value(sent, column.declared, form);
        let kind = if matches!(sent, ValueRef::Blob(_)) { "blob" } else { "real" };
        let value = value.map_err(|why| unreadable(kind, why))?;
        object.insert(column.name.clone(), value);
    }
    Ok(Value::Object(object))
}

fn value(sent: ValueRef<'_>, declared: Declared, form: ValueForm) -> Result<Value, &'static str> {
    Ok(match (sent, declared) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Integer(int @ 0..=1), Declared::Boolean) => (int == 1).into(),
        (ValueRef::Integer(int), Declared::Decimal) if form.numeric == NumericForm::Text => {
            int.to_string().into()
        }
        (ValueRef::Integer(int), _) => int.into(),
        // The shortest digits that mean this number: SQLite keeps no others.
        (ValueRef::Real(float), Declared::Decimal) if form.numeric == NumericForm::Text => {
            double(float)?.to_string().into()
        }
        (ValueRef::Real(float), _) => double(float)?,
        // What is no JSON is the text it is: SQLite keeps whatever it is given.
        (ValueRef::Text(text), Declared::Json) => {
            serde_json::from_slice(text).unwrap_or_else(|_| text_or_tagged(text))
        }
        (ValueRef::Text(raw), _) => text_or_tagged(raw),
        (ValueRef::Blob(raw), _) => form.binary.encode(raw)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_column_decides_where_the_value_leaves_room() {
        let (boolean, document) =
            (Declared::from_declaration(Some("boolean")), Declared::from_declaration(Some("JSON")));
        for (sent, declared, expected) in [
            (ValueRef::Integer(1), boolean, json!(true)),
            (ValueRef::Integer(2), boolean, json!(2)),
            (ValueRef::Integer(1), Declared::from_declaration(None), json!(1)),
            (ValueRef::Text(b"[1]"), document, json!([1])),
            (ValueRef::Text(b"[1"), document, json!("[1")),
            (ValueRef::Text(b"[1]"), Declared::from_declaration(Some("TEXT")), json!("[1]")),
            (ValueRef::Blob(&[0xff]), Declared::Other, json!({"$binary": "/w=="})),
            (ValueRef::Text(&[0xff]), Declared::Other, json!({"$binary": "/w=="})),
            (ValueRef::Null, boolean, json!(null)),
        ] {
            assert_eq!(value(sent, declared, ValueForm::default()), Ok(expected));
        }
        let (decimal, form) =
            (Declared::from_declaration(Some("decimal (10, 2)")), ValueForm::from_names(None, Some("text")));
        for (sent, expected) in [
            (ValueRef::Integer(12), json!("12")),
            (ValueRef::Real(12.5), json!("12.5")),
            (ValueRef::Text(b"0.10"), json!("0.10")),
        ] {
            assert_eq!(value(sent, decimal, form), Ok(expected));
        }
        assert_eq!(value(ValueRef::Integer(12), Declared::Other, form), Ok(json!(12)));
        assert!(value(ValueRef::Real(f64::INFINITY), Declared::Other, ValueForm::default()).is_err());
    }
}
