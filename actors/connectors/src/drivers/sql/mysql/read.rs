//! Values of MySQL as JSON.

use std::fmt::Write as _;

use mysql_async::consts::ColumnType;
use mysql_async::{Column, Row, Value as Sent};
use serde_json::{Map, Value};

use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::value::{MALFORMED, UNSUPPORTED, ValueForm, double, single};

/// The character set of what is no text.
const BINARY: u16 = 63;

/// Refuses a result before it is computed when one of its types has no place in JSON.
pub(super) fn check(columns: &[Column]) -> Result<(), SqlError> {
    match columns.iter().find(|column| column.column_type() == ColumnType::MYSQL_TYPE_GEOMETRY) {
        // Nothing was begun.
        Some(column) => Err(SqlError::Input(unreadable(column, UNSUPPORTED).to_string())),
        None => Ok(()),
    }
}

/// Bytes of a row as the server sent them, but for numbers and times.
pub(super) fn size(row: &Row) -> usize {
    let length = |index| match row.as_ref(index) {
        Some(Sent::Bytes(bytes)) => bytes.len(),
        _ => 0,
    };
    (0..row.len()).map(length).sum()
}

/// A row as an object, its columns in their order.
pub(super) fn row(row: Row, form: ValueForm) -> Result<Value, SqlError> {
    let columns = row.columns();
    let mut object = Map::with_capacity(columns.len());
    for (column, sent) in columns.iter().zip(row.unwrap_raw()) {
        let value = value(column, sent.unwrap_or(Sent::NULL), form);
        let value = value.map_err(|why| unreadable(column, why))?;
        object.insert(column.name_str().into_owned(), value);
    }
    Ok(Value::Object(object))
}

fn unreadable(column: &Column, why: &'static str) -> SqlError {
    let kind = format!("{:?}", column.column_type());
    SqlError::Unreadable {
        column: column.name_str().into_owned(),
        kind: kind.trim_start_matches("MYSQL_TYPE_").to_ascii_lowercase(),
        why,
    }
}

fn value(column: &Column, sent: Sent, form: ValueForm) -> Result<Value, &'static str> {
    use ColumnType as Type;
    let kind = column.column_type();
    match (kind, sent) {
        (_, Sent::NULL) => Ok(Value::Null),
        // The type behind BOOLEAN.
        (Type::MYSQL_TYPE_TINY, Sent::Int(int @ 0..=1)) if column.column_length() == 1 => {
            Ok((int == 1).into())
        }
        (_, Sent::Int(int)) => Ok(int.into()),
        (_, Sent::UInt(int)) => Ok(int.into()),
        (_, Sent::Float(float)) => single(float),
        (_, Sent::Double(float)) => double(float),
        (_, Sent::Time(negative, days, hours, minutes, seconds, micros)) => {
            let sign = if negative { "-" } else { "" };
            let hours = days * 24 + u32::from(hours);
            Ok(with_micros(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"), micros).into())
        }
        (_, Sent::Date(year, month, day, hour, minute, second, micros)) => {
            let mut text = format!("{year:04}-{month:02}-{day:02}");
            if matches!(kind, Type::MYSQL_TYPE_DATE | Type::MYSQL_TYPE_NEWDATE) {
                return Ok(text.into());
            }
            // Writing to a string does not fail.
            let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
            text = with_micros(text, micros);
            // An instant, told in UTC.
            if matches!(kind, Type::MYSQL_TYPE_TIMESTAMP | Type::MYSQL_TYPE_TIMESTAMP2) {
                text.push('Z');
            }
            Ok(text.into())
        }
        (Type::MYSQL_TYPE_DECIMAL | Type::MYSQL_TYPE_NEWDECIMAL, Sent::Bytes(digits)) => {
            form.numeric.encode(std::str::from_utf8(&digits).map_err(|_| MALFORMED)?)
        }
        (Type::MYSQL_TYPE_BIT, Sent::Bytes(bits)) => {
            let bits =
                bits.iter().try_fold(0_u64, |sum, byte| Some(sum.checked_mul(256)? + u64::from(*byte)));
            match bits.ok_or(MALFORMED)? {
                bit @ 0..=1 if column.column_length() == 1 => Ok((bit == 1).into()),
                bits => Ok(bits.into()),
            }
        }
        (Type::MYSQL_TYPE_JSON, Sent::Bytes(json)) => serde_json::from_slice(&json).map_err(|_| MALFORMED),
        (Type::MYSQL_TYPE_GEOMETRY, _) => Err(UNSUPPORTED),
        (_, Sent::Bytes(raw)) if column.character_set() == BINARY => form.binary.encode(&raw),
        (_, Sent::Bytes(raw)) => String::from_utf8(raw).map(Value::from).map_err(|_| MALFORMED),
    }
}

fn with_micros(mut text: String, micros: u32) -> String {
    if micros != 0 {
        let _ = write!(text, ".{micros:06}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: ColumnType, length: u32, sent: Sent) -> Result<Value, &'static str> {
        value(&Column::new(kind).with_column_length(length), sent, ValueForm::default())
    }

    #[test]
    fn a_tinyint_of_one_digit_is_a_boolean() {
        let tiny = ColumnType::MYSQL_TYPE_TINY;
        assert_eq!(read(tiny, 1, Sent::Int(1)), Ok(json!(true)));
        assert_eq!(read(tiny, 1, Sent::Int(0)), Ok(json!(false)));
        assert_eq!(read(tiny, 1, Sent::Int(7)), Ok(json!(7)));
        assert_eq!(read(tiny, 4, Sent::Int(1)), Ok(json!(1)));
        let bit = ColumnType::MYSQL_TYPE_BIT;
        assert_eq!(read(bit, 1, Sent::Bytes(vec![1])), Ok(json!(true)));
        assert_eq!(read(bit, 16, Sent::Bytes(vec![1, 2])), Ok(json!(258)));
    }

    #[test]
    fn times_are_texts() {
        let date = Sent::Date(2024, 2, 3, 4, 5, 6, 0);
        assert_eq!(read(ColumnType::MYSQL_TYPE_DATE, 0, date.clone()), Ok(json!("2024-02-03")));
        assert_eq!(read(ColumnType::MYSQL_TYPE_DATETIME, 0, date.clone()), Ok(json!("2024-02-03T04:05:06")));
        assert_eq!(read(ColumnType::MYSQL_TYPE_TIMESTAMP, 0, date), Ok(json!("2024-02-03T04:05:06Z")));
        let zero = Sent::Date(0, 0, 0, 0, 0, 0, 0);
        assert_eq!(read(ColumnType::MYSQL_TYPE_DATE, 0, zero), Ok(json!("0000-00-00")));
        let time = Sent::Time(true, 1, 2, 3, 4, 500_000);
        assert_eq!(read(ColumnType::MYSQL_TYPE_TIME, 0, time), Ok(json!("-26:03:04.500000")));
    }

    #[test]
    fn numbers_that_come_as_text_are_numbers() {
        let decimal = |digits: &str| read(ColumnType::MYSQL_TYPE_NEWDECIMAL, 0, Sent::Bytes(digits.into()));
        assert_eq!(decimal("12.50"), Ok(json!(12.5)));
        assert_eq!(decimal("7"), Ok(json!(7)));
        assert_eq!(read(ColumnType::MYSQL_TYPE_FLOAT, 0, Sent::Float(0.1)), Ok(json!(0.1)));
    }
}
