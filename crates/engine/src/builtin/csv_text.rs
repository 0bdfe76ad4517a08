//! CSV (RFC 4180) to rows and back: rows below a row of names are objects of texts.

use std::borrow::Cow;
use std::collections::HashSet;

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Terminator, WriterBuilder};
use serde_json::{Map, Value};

/// Bytes that a field takes in addition to its name and its text.
const FIELD: usize = 64;

/// The bounds of what is made of a text.
#[derive(Debug, Clone, Copy)]
pub struct CsvBounds {
    /// The character between two fields.
    pub delimiter: u8,
    /// Rows, that of the names aside.
    pub max_rows: usize,
    /// Bytes of the rows with their names.
    pub max_bytes: usize,
}

/// The reason why a text is not parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCsvError {
    /// A row has another number of fields than the row of names, or its quotes do not end.
    #[error("{0}")]
    Malformed(String),
    /// The rows would be more, or take more, than the bounds allow.
    #[error("{0}")]
    TooLarge(String),
}

/// Parses CSV whose first row has the names. Each further row is an object of texts; the fields of a repeated name are
/// a list.
///
/// # Errors
/// The reason why the text is not parsed, with the row.
pub fn parse_csv_within(text: &str, bounds: CsvBounds) -> Result<Value, ParseCsvError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = ReaderBuilder::new().delimiter(bounds.delimiter).from_reader(text.as_bytes());
    let malformed = |error: csv::Error| ParseCsvError::Malformed(format!("the row of names: {error}"));
    let names = reader.headers().map_err(malformed)?.clone();
    if let Some(reason) = find_open_quote(text, 0, reader.position(), bounds.delimiter) {
        return Err(ParseCsvError::Malformed(format!("the row of names: {reason}")));
    }
    let mut budget = bounds.max_bytes;
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    loop {
        let start = reader.position().byte();
        let read = reader.read_record(&mut record);
        if matches!(read, Ok(false)) {
            break;
        }
        // Counted here: the parser counts lines, and takes the two bytes of an end of line for one or two.
        let number = rows.len() + 1;
        if number > bounds.max_rows {
            let message = format!("there are more than {} rows", bounds.max_rows);
            return Err(ParseCsvError::TooLarge(message));
        }
        let reason = find_open_quote(text, start, reader.position(), bounds.delimiter);
        if let Some(reason) = reason.or_else(|| read.err().map(|error| describe(&error))) {
            return Err(ParseCsvError::Malformed(format!("row {number}: {reason}")));
        }
        let taken: usize =
            names.iter().zip(&record).map(|(name, field)| FIELD + name.len() + field.len()).sum();
        budget = budget.checked_sub(taken).ok_or_else(|| {
            let limit = bounds.max_bytes >> 20;
            let message = format!("row {number}: the rows with their names would take more than {limit} MiB");
            ParseCsvError::TooLarge(message)
        })?;
        rows.push(Value::Object(to_object(&names, &record)));
    }
    Ok(Value::Array(rows))
}

/// Adds a field; the values of a repeated name become a list, in their order.
pub fn add_field(fields: &mut Map<String, Value>, name: impl Into<String>, value: Value) {
    let field = fields.entry(name).or_insert(Value::Null);
    match field {
        Value::Null => *field = value,
        Value::Array(values) => values.push(value),
        first => *first = Value::Array(vec![first.take(), value]),
    }
}

fn to_object(names: &StringRecord, record: &StringRecord) -> Map<String, Value> {
    let mut row = Map::new();
    for (name, field) in names.iter().zip(record) {
        add_field(&mut row, name, field.into());
    }
    row
}

/// Returns the reason why the row from `start` to `end` cannot be read: quotes that open in it and do not end. The parser
/// ends them with the text, so that only its last row is looked at.
fn find_open_quote(text: &str, start: u64, end: &Position, delimiter: u8) -> Option<String> {
    /// The place before a byte of a row.
    enum Place {
        FieldStart,
        Unquoted,
        /// In quotes that opened at this byte.
        Quoted(usize),
        /// Behind a quote that ends them, or is the first half of an escaped one.
        AfterQuote(usize),
    }
    if usize::try_from(end.byte()) != Ok(text.len()) {
        return None;
    }
    let row = text.as_bytes().iter().enumerate().skip(usize::try_from(start).ok()?);
    let place = row.fold(Place::FieldStart, |place, (at, byte)| match (place, *byte) {
        (Place::FieldStart, b'"') => Place::Quoted(at),
        (Place::Quoted(open), b'"') => Place::AfterQuote(open),
        (Place::Quoted(open), _) | (Place::AfterQuote(open), b'"') => Place::Quoted(open),
        (_, b'\r' | b'\n') => Place::FieldStart,
        (_, byte) if byte == delimiter => Place::FieldStart,
        _ => Place::Unquoted,
    });
    let Place::Quoted(open) = place else { return None };
    let line = 1 + text.as_bytes().iter().take(open).filter(|byte| **byte == b'\n').count();
    Some(format!("a quote opens on line {line} and does not end"))
}

fn describe(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("fields: {len}, names: {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Writes rows below a row of names. The names are those of `columns`, else those of all rows in the order in which
/// they first occur. A member that a row lacks, and null, are empty fields; lists and objects are their JSON.
///
/// # Errors
/// The reason: a row that is no object, or a text of more than `max_bytes`.
pub(super) fn write_csv(
    rows: &[Value],
    columns: &[String],
    delimiter: u8,
    max_bytes: usize,
) -> Result<String, String> {
    let rows: Vec<&Map<String, Value>> = rows
        .iter()
        .enumerate()
        .map(|(n, row)| row.as_object().ok_or_else(|| format!("row {} is no object", n + 1)))
        .collect::<Result<_, _>>()?;
    let mut names: Vec<&str> = columns.iter().map(String::as_str).collect();
    if names.is_empty() {
        let mut known = HashSet::new();
        let members = rows.iter().flat_map(|row| row.keys()).map(String::as_str);
        names.extend(members.filter(|name| known.insert(*name)));
    }
    if names.is_empty() {
        return Ok(String::new());
    }
    let too_large = || format!("the text would take more than {} MiB", max_bytes >> 20);
    // The texts are in the message already; what they get are delimiters, for absent members too.
    if names.len().saturating_mul(rows.len() + 1) > max_bytes {
        return Err(too_large());
    }
    let mut writer =
        WriterBuilder::new().delimiter(delimiter).terminator(Terminator::CRLF).from_writer(Vec::new());
    let failed = |error: csv::Error| error.to_string();
    writer.write_record(&names).map_err(failed)?;
    // A member that is a column twice is written twice.
    let mut room = max_bytes;
    for row in rows {
        for name in &names {
            let text = match row.get(*name) {
                None | Some(Value::Null) => Cow::Borrowed(""),
                Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                Some(other) => Cow::Owned(other.to_string()),
            };
            room = room.checked_sub(text.len()).ok_or_else(too_large)?;
            writer.write_field(text.as_bytes()).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str, delimiter: u8) -> Value {
        parse_csv_within(text, CsvBounds { delimiter, max_rows: 9, max_bytes: 1 << 20 }).unwrap()
    }

    #[test]
    fn written_rows_are_read_again() {
        let rows = json!([{"id": "1", "note": "a, \"b\"\nc"}, {"id": "", "note": "ö;"}]);
        for delimiter in [b',', b';', b'\t'] {
            let text = write_csv(rows.as_array().unwrap(), &[], delimiter, 1 << 20).unwrap();
            assert_eq!(parse(&text, delimiter), rows, "{text}");
        }
    }

    #[test]
    fn quotes_that_do_not_end_are_refused() {
        let bounds = CsvBounds { delimiter: b',', max_rows: 9, max_bytes: 1 << 20 };
        for (text, row, line) in [
            ("a,b\n1,\"x\n2,y\n", "row 1", 2),
            ("a,b\r\n1,2\r\n\r\n3,\"x", "row 2", 4),
            ("a\n1\n\"x\"\"\n", "row 2", 3),
            ("a,\"b\n1,2", "the row of names", 1),
        ] {
            let expected = format!("{row}: a quote opens on line {line} and does not end");
            assert_eq!(parse_csv_within(text, bounds), Err(ParseCsvError::Malformed(expected)), "{text}");
        }
        let rows = json!([{"a": "xy\""}, {"a": "1\""}, {"a": ""}, {"a": "\""}]);
        assert_eq!(parse("a\n\"x\"y\"\n1\"\n\"\"\n\"\"\"\"", b','), rows);
    }

    #[test]
    fn columns_are_those_of_all_rows_or_chosen() {
        let rows = json!([{"a": 1, "b": null}, {"c": [1, {"x": "y"}], "a": true}, {}]);
        let rows = rows.as_array().unwrap();
        let text = write_csv(rows, &[], b',', 1 << 20);
        assert_eq!(text.as_deref(), Ok("a,b,c\r\n1,,\r\ntrue,,\"[1,{\"\"x\"\":\"\"y\"\"}]\"\r\n,,\r\n"));
        let chosen = ["c".to_owned(), "none".to_owned(), "a".to_owned()];
        let text = write_csv(rows, &chosen, b';', 1 << 20);
        assert_eq!(text.as_deref(), Ok("c;none;a\r\n;;1\r\n\"[1,{\"\"x\"\":\"\"y\"\"}]\";;true\r\n;;\r\n"));
        assert_eq!(write_csv(&[], &[], b',', 1 << 20).as_deref(), Ok(""));
    }

    #[test]
    fn sparse_rows_are_bounded_before_they_are_written() {
        let rows: Vec<_> = (0..1000).map(|n: u32| json!({ n.to_string(): 1 })).collect();
        let refused = write_csv(&rows, &[], b',', 1 << 19).unwrap_err();
        assert!(refused.contains("would take more than"), "{refused}");
        assert_eq!(write_csv(&[json!(1)], &[], b',', 1 << 20).unwrap_err(), "row 1 is no object");
        let (row, column) = (json!({"a": "x".repeat(1 << 10)}), "a".to_owned());
        let refused =
            write_csv(std::slice::from_ref(&row), &vec![column.clone(); 1 << 11], b',', 1 << 20).unwrap_err();
        assert!(refused.contains("would take more than"), "{refused}");
        assert!(write_csv(&[row], &[column.clone(), column], b',', 1 << 20).is_ok());
    }
}
