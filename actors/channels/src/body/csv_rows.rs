//! CSV (RFC 4180): rows below a row of names become objects of texts.

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde_json::{Map, Value};

use super::{add_field, value_limit};

/// Rows of a text, that of the names aside.
const MAX_ROWS: usize = 10_000;

/// Bytes that a field takes in addition to its name and its text.
const FIELD: usize = 64;

/// Parses CSV whose first row has the names. Each further row is an object of texts; the fields of a repeated name are
/// a list.
///
/// # Errors
/// The reason why the text is not parsed, with the row.
pub fn parse_csv(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let names = reader.headers().map_err(|error| format!("the row of names: {error}"))?.clone();
    let mut budget = value_limit(text);
    let mut rows = Vec::new();
    for record in reader.records() {
        // Counted here: the parser counts lines, and takes the two bytes of an end of line for one or two.
        let number = rows.len() + 1;
        if number > MAX_ROWS {
            return Err(format!("there are more than {MAX_ROWS} rows"));
        }
        let record = record.map_err(|error| format!("row {number}: {}", describe(&error)))?;
        let taken: usize =
            names.iter().zip(&record).map(|(name, field)| FIELD + name.len() + field.len()).sum();
        budget = budget.checked_sub(taken).ok_or_else(|| {
            let limit = value_limit(text) >> 20;
            format!("row {number}: the rows with their names would take more than {limit} MiB")
        })?;
        rows.push(Value::Object(to_object(&names, &record)));
    }
    Ok(Value::Array(rows))
}

fn to_object(names: &StringRecord, record: &StringRecord) -> Map<String, Value> {
    let mut row = Map::new();
    for (name, field) in names.iter().zip(record) {
        add_field(&mut row, name, field.into());
    }
    row
}

fn describe(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("fields: {len}, names: {expected_len}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_objects_of_texts_by_name() {
        for (text, rows) in [
            ("id,qty\r\n1,2\r\n3,\r\n", json!([{"id": "1", "qty": "2"}, {"id": "3", "qty": ""}])),
            ("a,a,b\n1,2,3", json!([{"a": ["1", "2"], "b": "3"}])),
            ("a\n\"x, \"\"y\"\"\nz\"\n", json!([{"a": "x, \"y\"\nz"}])),
            ("\u{feff}ä\nö\n", json!([{"ä": "ö"}])),
            ("a,b\n", json!([])),
        ] {
            assert_eq!(parse_csv(text), Ok(rows), "{text}");
        }
    }

    #[test]
    fn row_of_another_width_is_named_by_number() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "1,2", "", "3"].join(end);
            assert_eq!(parse_csv(&text), Err("row 2: fields: 1, names: 2".to_owned()));
        }
    }

    #[test]
    fn rows_are_bounded_in_number() {
        let rows = |count: usize| format!("a\n{}", "1\n".repeat(count));
        assert_eq!(parse_csv(&rows(MAX_ROWS)).unwrap().as_array().unwrap().len(), MAX_ROWS);
        assert_eq!(parse_csv(&rows(MAX_ROWS + 1)), Err("there are more than 10000 rows".to_owned()));
    }

    #[test]
    fn repeated_long_names_are_bounded_in_bytes() {
        let text = format!("{}\n{}", "n".repeat(100_000), "1\n".repeat(500));
        let refused = parse_csv(&text).unwrap_err();
        assert!(refused.contains("the rows with their names would take more than"), "{refused}");
    }
}
