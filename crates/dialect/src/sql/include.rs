//! Related rows that are returned with the rows of a read.
//!
//! The database joins them, with the same comparison as in filters. Both statements return the join key
//! converted to a text, by which the rows are matched here. So no key passes through JSON, which could lose
//! precision or type.

use std::collections::HashMap;

use serde_json::Value;

use super::join::join_condition;
use super::select::{key_column, unused_name};
use super::writer::SqlWriter;
use super::{SqlFlavour, SqlStatement};
use crate::query::Select;
use crate::refusal::DialectRefusal;

/// Auxiliary columns of the statement for related rows; no result contains them.
const KEY: &str = "svc_key";
const RANK: &str = "svc_rank";
/// The join key of the rows that are read.
const LOCAL: &str = "svc_local";

/// Renders the statement that reads the related rows of the `nth` relation. It must run on the same snapshot
/// as the statement of [`select`](super::select()).
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a value that SQL cannot compare, or if there is no `nth` relation.
pub fn include(select: &Select, nth: usize, flavour: SqlFlavour) -> Result<SqlStatement, DialectRefusal> {
    let missing = || DialectRefusal::invalid("query.include", "there is no such relation");
    let included = select.include.get(nth).ok_or_else(missing)?;
    let relation = &included.relation;
    let (key, rank) = (unused_name(&included.fields, KEY), unused_name(&included.fields, RANK));
    let mut writer = SqlWriter::new(flavour);
    let (ranked, related, keys) = (writer.table(), writer.table(), writer.table());
    let (chosen, table) = (writer.table(), writer.table());
    writer.push("SELECT * FROM (SELECT ");
    writer.fields(&related, &included.fields)?;
    writer.push(", ").push(&keys).push(".").name(KEY).push(" AS ").name(&key);
    writer.push(", ROW_NUMBER() OVER (PARTITION BY ").push(&keys).push(".").name(KEY).push(" ORDER BY ");
    writer.write_order(&related, &included.sort)?;
    writer.push(") AS ").name(&rank);
    writer.push(" FROM (SELECT DISTINCT ").push(&chosen).push(".* FROM (SELECT ");
    writer.column(&table, &relation.local).push(" AS ").name(LOCAL).push(", ");
    writer.key(&table, &relation.local).push(" AS ").name(KEY);
    writer.rows(&table, select)?;
    writer.push(") AS ").push(&chosen).push(") AS ").push(&keys).push(" JOIN ");
    let (foreign, local) =
        (writer.reference(&related, &relation.foreign.physical), writer.reference(&keys, LOCAL));
    writer.name(&relation.target.physical).push(" AS ").push(&related);
    writer.push(" ON ").push(&join_condition(flavour, &foreign, &local));
    writer.push(") AS ").push(&ranked).push(" WHERE ").push(&ranked).push(".").name(&rank);
    writer.push(" <= ").number(included.limit);
    writer.push(" ORDER BY ").push(&ranked).push(".").name(&rank);
    writer.finish()
}

/// Adds the related rows to the rows they belong to, under the names of their relations, and removes the
/// auxiliary columns. `related` holds one list of rows for each relation of the read, in order.
pub fn attach(rows: &mut [Value], select: &Select, related: impl IntoIterator<Item = Vec<Value>>) {
    for (nth, (included, found)) in select.include.iter().zip(related).enumerate() {
        let column = key_column(select, nth);
        let (key, rank) = (unused_name(&included.fields, KEY), unused_name(&included.fields, RANK));
        let mut groups: HashMap<String, Vec<Value>> = HashMap::new();
        for mut row in found {
            let Some(members) = row.as_object_mut() else { continue };
            members.shift_remove(&rank);
            let Some(Value::String(of)) = members.shift_remove(&key) else { continue };
            groups.entry(of).or_default().push(row);
        }
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            // Several rows may have the same key, such as the books of one author.
            let group = match row.shift_remove(&column) {
                Some(Value::String(of)) => groups.get(&of).cloned().unwrap_or_default(),
                _ => Vec::new(),
            };
            row.insert(included.relation.name.as_ref().to_owned(), Value::Array(group));
        }
    }
}
