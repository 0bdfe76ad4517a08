//! Related rows that come along with the rows of a read.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::select::{key_column, unused};
use super::writer::Writer;
use super::{Flavour, Statement};
use crate::constant::Constant;
use crate::predicate::Predicate;
use crate::query::{Included, Select};
use crate::refusal::Refusal;

/// Columns of a statement for related rows that no result shows.
const KEY: &str = "svc_key";
const RANK: &str = "svc_rank";

/// The different keys that the rows have for the `nth` relation.
pub fn keys(rows: &[Value], select: &Select, nth: usize) -> Vec<Value> {
    let column = key_column(select, nth);
    let mut seen = HashSet::new();
    let keys = rows.iter().filter_map(|row| row.get(&column)).filter(|key| !key.is_null());
    keys.filter(|key| seen.insert(Key::of(key))).cloned().collect()
}

/// The statement that reads the related rows of these keys.
///
/// # Errors
/// A key that cannot be compared with.
pub fn include(included: &Included, keys: &[Value], flavour: Flavour) -> Result<Statement, Refusal> {
    let constants: Result<Vec<_>, _> = keys.iter().map(Constant::of).collect();
    let wrong = |why: &str| Refusal::at(&format!("query.include.{}", included.relation.name), why);
    let values: Vec<_> = constants.map_err(wrong)?.into_iter().flatten().collect();
    let foreign = &included.relation.foreign;
    let chosen = Predicate::OneOf { column: foreign.clone(), values, negated: false };
    let (key, rank) = (unused(&included.fields, KEY), unused(&included.fields, RANK));
    let mut writer = Writer::new(flavour);
    let (ranked, table) = (writer.table(), writer.table());
    writer.push("SELECT * FROM (SELECT ");
    writer.fields(&table, &included.fields)?;
    writer.push(", ").column(&table, foreign).push(" AS ").name(&key);
    writer.push(", ROW_NUMBER() OVER (PARTITION BY ").column(&table, foreign).push(" ORDER BY ");
    writer.order(&table, &included.sort)?;
    writer.push(") AS ").name(&rank);
    writer.push(" FROM ").name(&included.relation.target.physical).push(" AS ").push(&table);
    writer.filtered(&table, &chosen)?;
    writer.push(") AS ").push(&ranked).push(" WHERE ").push(&ranked).push(".").name(&rank);
    writer.push(" <= ").number(included.limit);
    writer.push(" ORDER BY ").push(&ranked).push(".").name(&rank);
    writer.finish()
}

/// Puts the related rows into the rows they belong to, under the names of their relations, and takes out what no result
/// shows. `related` holds one list for each relation of the read.
pub fn attach(rows: &mut [Value], select: &Select, related: Vec<Vec<Value>>) {
    for (nth, (included, found)) in select.include.iter().zip(related).enumerate() {
        let column = key_column(select, nth);
        let (key, rank) = (unused(&included.fields, KEY), unused(&included.fields, RANK));
        let mut groups: HashMap<Key, Vec<Value>> = HashMap::new();
        for mut row in found {
            let Some(members) = row.as_object_mut() else { continue };
            members.shift_remove(&rank);
            let Some(of) = members.shift_remove(&key) else { continue };
            groups.entry(Key::of(&of)).or_default().push(row);
        }
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            let of = row.shift_remove(&column);
            // Several rows may have one key, such as the author of many books.
            let group = of.and_then(|of| groups.get(&Key::of(&of)).cloned()).unwrap_or_default();
            row.insert(included.relation.name.as_ref().to_owned(), Value::Array(group));
        }
    }
}

/// A key as two columns that hold the same compare: 1 and 1.0 are one.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Whole(i64),
    Other(String),
}

impl Key {
    fn of(value: &Value) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "only where nothing is lost"
        )]
        let whole = |number: f64| {
            (number.fract() == 0.0 && number.abs() < (1_i64 << 53) as f64).then_some(number as i64)
        };
        match value {
            Value::Number(number) => match number.as_i64().or_else(|| number.as_f64().and_then(whole)) {
                Some(number) => Self::Whole(number),
                None => Self::Other(number.to_string()),
            },
            other => Self::Other(other.to_string()),
        }
    }
}
