//! Related rows that come along with the rows of a read.
//!
//! The database joins them, as it does where a filter asks about them; which rows they belong to is told by a text that the
//! key of both reads is turned into. So no key travels through JSON, where one may lose what makes it itself.

use std::collections::HashMap;

use serde_json::Value;

use super::join::joined;
use super::select::{key_column, unused};
use super::writer::SqlWriter;
use super::{SqlFlavour, SqlStatement};
use crate::query::Select;
use crate::refusal::DialectRefusal;

/// Columns of a statement for related rows that no result shows.
const KEY: &str = "svc_key";
const RANK: &str = "svc_rank";
/// The key of the rows that are read, as the join compares it.
const LOCAL: &str = "svc_local";

/// The statement that reads the related rows of the `nth` relation; it must see the rows as [`select`](super::select())
/// sees them.
///
/// # Errors
/// A value that SQL does not take, or a relation that is not there.
pub fn include(select: &Select, nth: usize, flavour: SqlFlavour) -> Result<SqlStatement, DialectRefusal> {
    let missing = || DialectRefusal::at("query.include", "there is no such relation");
    let included = select.include.get(nth).ok_or_else(missing)?;
    let relation = &included.relation;
    let (key, rank) = (unused(&included.fields, KEY), unused(&included.fields, RANK));
    let mut writer = SqlWriter::new(flavour);
    let (ranked, related, keys) = (writer.table(), writer.table(), writer.table());
    let (chosen, table) = (writer.table(), writer.table());
    writer.push("SELECT * FROM (SELECT ");
    writer.fields(&related, &included.fields)?;
    writer.push(", ").push(&keys).push(".").name(KEY).push(" AS ").name(&key);
    writer.push(", ROW_NUMBER() OVER (PARTITION BY ").push(&keys).push(".").name(KEY).push(" ORDER BY ");
    writer.order(&related, &included.sort)?;
    writer.push(") AS ").name(&rank);
    writer.push(" FROM (SELECT DISTINCT ").push(&chosen).push(".* FROM (SELECT ");
    writer.column(&table, &relation.local).push(" AS ").name(LOCAL).push(", ");
    writer.key(&table, &relation.local).push(" AS ").name(KEY);
    writer.rows(&table, select)?;
    writer.push(") AS ").push(&chosen).push(") AS ").push(&keys).push(" JOIN ");
    let (foreign, local) =
        (writer.reference(&related, &relation.foreign.physical), writer.reference(&keys, LOCAL));
    writer.name(&relation.target.physical).push(" AS ").push(&related);
    writer.push(" ON ").push(&joined(flavour, &foreign, &local));
    writer.push(") AS ").push(&ranked).push(" WHERE ").push(&ranked).push(".").name(&rank);
    writer.push(" <= ").number(included.limit);
    writer.push(" ORDER BY ").push(&ranked).push(".").name(&rank);
    writer.finish()
}

/// Puts the related rows into the rows they belong to, under the names of their relations, and takes out what no result
/// shows. `related` holds one list for each relation of the read.
pub fn attach(rows: &mut [Value], select: &Select, related: impl IntoIterator<Item = Vec<Value>>) {
    for (nth, (included, found)) in select.include.iter().zip(related).enumerate() {
        let column = key_column(select, nth);
        let (key, rank) = (unused(&included.fields, KEY), unused(&included.fields, RANK));
        let mut groups: HashMap<String, Vec<Value>> = HashMap::new();
        for mut row in found {
            let Some(members) = row.as_object_mut() else { continue };
            members.shift_remove(&rank);
            let Some(Value::String(of)) = members.shift_remove(&key) else { continue };
            groups.entry(of).or_default().push(row);
        }
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            // Several rows may have one key, such as the author of many books.
            let group = match row.shift_remove(&column) {
                Some(Value::String(of)) => groups.get(&of).cloned().unwrap_or_default(),
                _ => Vec::new(),
            };
            row.insert(included.relation.name.as_ref().to_owned(), Value::Array(group));
        }
    }
}
