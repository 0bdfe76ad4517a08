//! A digest of the rows of a table that both databases have alike: it depends on no order, on no notation of an instant, a
//! number or a truth.

use chrono::{NaiveDateTime, SubsecRound};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The notation of instants in both databases, with the `T` of JSON replaced.
const INSTANT: &str = "%Y-%m-%d %H:%M:%S%.f";

/// The kinds of columns whose values the two databases write differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Texts and whole numbers.
    Plain,
    Truth,
    Instant,
    Float,
}

impl ColumnKind {
    /// Returns the kind of a column by its type in PostgreSQL.
    pub(super) fn from_type(data_type: &str) -> Self {
        match data_type {
            "boolean" => Self::Truth,
            "timestamp without time zone" => Self::Instant,
            "double precision" => Self::Float,
            _ => Self::Plain,
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TransferColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

/// The number of rows, and the sum of their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TransferDigest {
    pub(super) rows: u64,
    lanes: [u64; 4],
}

impl TransferDigest {
    /// Adds a row, which is a JSON object of its columns.
    ///
    /// # Errors
    /// The document is no row of the table. The text names the column, never a value.
    pub(super) fn add_row(&mut self, columns: &[TransferColumn], document: &str) -> Result<(), String> {
        let row: Map<String, Value> =
            serde_json::from_str(document).map_err(|error| format!("a row is no JSON: {error}"))?;
        let mut hash = Sha256::new();
        for column in columns {
            let value = row.get(&column.name).unwrap_or(&Value::Null);
            let text = normalize(column.kind, value)
                .ok_or_else(|| format!("a value of the column {} is not of its type", column.name))?;
            // The length separates the values.
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
        let digest: [u8; 32] = hash.finalize().into();
        for (lane, bytes) in self.lanes.iter_mut().zip(digest.chunks_exact(8)) {
            let word = bytes.iter().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
            *lane = lane.wrapping_add(word);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the digest as hexadecimal digits.
    pub(super) fn to_hex(&self) -> String {
        self.lanes.iter().map(|lane| format!("{lane:016x}")).collect()
    }
}

/// Returns the one notation of a value; `None` for a value that is not of its kind.
fn normalize(kind: ColumnKind, value: &Value) -> Option<String> {
    Some(match (kind, value) {
        (_, Value::Null) => "n".to_owned(),
        (ColumnKind::Instant, Value::String(text)) => {
            let instant = NaiveDateTime::parse_from_str(&text.replace('T', " "), INSTANT).ok()?;
            format!("i{}", instant.round_subsecs(6).and_utc().timestamp_micros())
        }
        (ColumnKind::Float, Value::String(text)) => {
            format!("f{:x}", text.parse::<f64>().ok()?.to_bits())
        }
        (ColumnKind::Truth, Value::Bool(truth)) => format!("t{}", u8::from(*truth)),
        (ColumnKind::Truth, Value::Number(number)) => format!("t{}", u8::from(number.as_i64()? != 0)),
        (ColumnKind::Plain, Value::String(text)) => format!("s{text}"),
        (ColumnKind::Plain, Value::Number(number)) => format!("d{number}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<TransferColumn> {
        let kinds = [
            ("id", ColumnKind::Plain),
            ("at", ColumnKind::Instant),
            ("took", ColumnKind::Float),
            ("done", ColumnKind::Truth),
        ];
        kinds.map(|(name, kind)| TransferColumn { name: name.to_owned(), kind }).into()
    }

    fn digest(rows: &[&str]) -> TransferDigest {
        let mut digest = TransferDigest::default();
        rows.iter().for_each(|row| digest.add_row(&columns(), row).unwrap());
        digest
    }

    #[test]
    fn notation_and_order_change_no_digest() {
        let one = r#"{"id": "a", "at": "2026-01-02 03:04:05.5", "took": "0.10000000000000001", "done": 1}"#;
        let same = r#"{"done": true, "took": "0.1", "at": "2026-01-02T03:04:05.500000", "id": "a"}"#;
        let other = r#"{"id": "b", "at": null, "took": null, "done": 0}"#;
        assert_eq!(digest(&[one, other]), digest(&[other, same]));
        assert_eq!(digest(&[one]).to_hex().len(), 64);
    }

    #[test]
    fn every_change_of_a_value_changes_the_digest() {
        let row = r#"{"id": "a", "at": "2026-01-02 03:04:05.500", "took": "0.5", "done": 1}"#;
        for changed in [
            r#"{"id": "b", "at": "2026-01-02 03:04:05.500", "took": "0.5", "done": 1}"#,
            r#"{"id": "a", "at": "2026-01-02 03:04:05.501", "took": "0.5", "done": 1}"#,
            r#"{"id": "a", "at": "2026-01-02 03:04:05.500", "took": "0.6", "done": 1}"#,
            r#"{"id": "a", "at": "2026-01-02 03:04:05.500", "took": "0.5", "done": 0}"#,
            r#"{"id": "a", "at": "2026-01-02 03:04:05.500", "took": null, "done": 1}"#,
        ] {
            assert_ne!(digest(&[row]), digest(&[changed]), "{changed}");
        }
    }

    #[test]
    fn value_of_another_kind_names_its_column() {
        let refused =
            TransferDigest::default().add_row(&columns(), r#"{"id": "a", "at": "noon"}"#).unwrap_err();
        assert!(refused.contains("column at") && !refused.contains("noon"), "{refused}");
    }
}
