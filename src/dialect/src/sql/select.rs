//! Reads.

use super::writer::Writer;
use super::{Flavour, Statement};
use crate::query::{Fields, Select, Sort};
use crate::refusal::Refusal;

/// The statement that reads the rows, without what comes along. Each included relation adds a column with its key, which
/// [`attach`](super::attach) takes out again.
///
/// # Errors
/// A value that SQL does not take.
pub fn select(select: &Select, flavour: Flavour) -> Result<Statement, Refusal> {
    let mut writer = Writer::new(flavour);
    let table = writer.table();
    writer.push("SELECT ");
    writer.fields(&table, &select.fields)?;
    for (nth, included) in select.include.iter().enumerate() {
        writer.push(", ").column(&table, &included.relation.local);
        writer.push(" AS ").name(&key_column(select, nth));
    }
    writer.push(" FROM ").name(&select.source.physical).push(" AS ").push(&table);
    writer.filtered(&table, &select.predicate)?;
    if !select.sort.is_empty() {
        writer.push(" ORDER BY ");
        writer.order(&table, &select.sort)?;
    }
    writer.push(" LIMIT ").number(select.limit);
    if select.skip > 0 {
        writer.push(" OFFSET ").number(select.skip);
    }
    writer.finish()
}

/// The column that holds the key of the `nth` included relation.
pub(super) fn key_column(select: &Select, nth: usize) -> String {
    unused(&select.fields, &format!("svc_key_{nth}"))
}

/// A name that no field has.
pub(super) fn unused(fields: &Fields, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while matches!(fields, Fields::Only(columns) if columns.iter().any(|column| *column.name == *name)) {
        name.push('_');
    }
    name
}

impl Writer {
    pub(super) fn fields(&mut self, table: &str, fields: &Fields) -> Result<(), Refusal> {
        match fields {
            Fields::All => {
                self.push(table).push(".*");
                Ok(())
            }
            Fields::Only(columns) => self.list(", ", columns, |writer, column| {
                writer.column(table, column).push(" AS ").name(&column.name);
                Ok(())
            }),
        }
    }

    /// Nulls are the smallest, as MySQL and SQLite have it.
    pub(super) fn order(&mut self, table: &str, sort: &[Sort]) -> Result<(), Refusal> {
        self.list(", ", sort, |writer, sort| {
            writer.column(table, &sort.column);
            writer.push(match (writer.flavour, sort.descending) {
                (Flavour::Postgres, false) => " ASC NULLS FIRST",
                (Flavour::Postgres, true) => " DESC NULLS LAST",
                (_, false) => " ASC",
                (_, true) => " DESC",
            });
            Ok(())
        })
    }
}
