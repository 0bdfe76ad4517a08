//! CSV (RFC 4180): rows below a row of names become objects of texts.

use serde_json::Value;
use svc_engine::{CsvBounds, parse_csv_within};

use super::value_limit;

/// Rows of a text, that of the names aside.
const MAX_ROWS: usize = 10_000;

/// Parses CSV as the function `parse_csv` does, a bounded number of rows.
///
/// # Errors
/// The reason why the text is not parsed, with the row.
pub fn parse_csv(text: &str) -> Result<Value, String> {
    let bounds = CsvBounds { delimiter: b',', max_rows: MAX_ROWS, max_bytes: value_limit(text) };
    parse_csv_within(text, bounds).map_err(|error| error.to_string())
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
