//! Renders reads to SQL.

use super::writer::SqlWriter;
use super::{SqlFlavour, SqlStatement};
use crate::query::{Projection, Select, SortKey};
use crate::refusal::DialectRefusal;
use crate::schema::SchemaColumn;

/// Renders the statement that reads the rows, without related rows. Each included relation adds a column with
/// its join key, which [`attach`](super::attach) removes again.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a value that SQL cannot compare.
pub fn select(select: &Select, flavour: SqlFlavour) -> Result<SqlStatement, DialectRefusal> {
    let mut writer = SqlWriter::new(flavour);
    let table = writer.table();
    writer.push("SELECT ");
    writer.fields(&table, &select.fields)?;
    for (nth, included) in select.include.iter().enumerate() {
        writer.push(", ").key(&table, &included.relation.local);
        writer.push(" AS ").name(&key_column(select, nth));
    }
    writer.rows(&table, select)?;
    writer.finish()
}

/// Renders the statement that counts the rows. Its only row has the number as `count`.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a value that SQL cannot compare.
pub fn count(select: &Select, flavour: SqlFlavour) -> Result<SqlStatement, DialectRefusal> {
    let mut writer = SqlWriter::new(flavour);
    let table = writer.table();
    writer.push("SELECT COUNT(*) AS ").name("count");
    writer.push(" FROM ").name(&select.source.physical).push(" AS ").push(&table);
    writer.write_where(&table, &select.predicate)?;
    writer.finish()
}

/// Returns the name of the column with the join key of the `nth` included relation.
pub(super) fn key_column(select: &Select, nth: usize) -> String {
    unused_name(&select.fields, &format!("svc_key_{nth}"))
}

/// Returns a column name that no field of the result has.
pub(super) fn unused_name(fields: &Projection, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while matches!(fields, Projection::Only(columns) if columns.iter().any(|column| *column.name == *name)) {
        name.push('_');
    }
    name
}

impl SqlWriter {
    /// Writes the part of a read from `FROM` to the end. The join keys of included relations break ties of
    /// the sort order, so that two statements with the same limit return the same keys.
    pub(super) fn rows(&mut self, table: &str, select: &Select) -> Result<(), DialectRefusal> {
        self.push(" FROM ").name(&select.source.physical).push(" AS ").push(table);
        self.write_where(table, &select.predicate)?;
        let mut order: Vec<SortKey> = select.sort.clone();
        let descending = order.last().is_some_and(|last| last.descending);
        for column in select.include.iter().map(|included| &included.relation.local) {
            if order.iter().all(|sort| sort.column.physical != column.physical) {
                order.push(SortKey { column: column.clone(), descending });
            }
        }
        if !order.is_empty() {
            self.push(" ORDER BY ");
            self.write_order(table, &order)?;
        }
        self.push(" LIMIT ").number(select.limit);
        if select.skip > 0 {
            self.push(" OFFSET ").number(select.skip);
        }
        Ok(())
    }

    /// Writes a column converted to a text that is equal only for equal values, whatever the column type.
    pub(super) fn key(&mut self, table: &str, column: &SchemaColumn) -> &mut Self {
        let (before, after) = match self.flavour {
            SqlFlavour::Postgres => ("CAST(", " AS text)"),
            SqlFlavour::MySql => ("HEX(CAST(", " AS BINARY))"),
            SqlFlavour::Sqlite => ("quote(", ")"),
        };
        self.push(before).column(table, column).push(after)
    }

    /// Writes the selected columns under the names that the result shows.
    pub(super) fn fields(&mut self, table: &str, fields: &Projection) -> Result<(), DialectRefusal> {
        match fields {
            Projection::All => {
                self.push(table).push(".*");
                Ok(())
            }
            Projection::Only(columns) => self.list(", ", columns, |writer, column| {
                writer.column(table, column).push(" AS ").name(&column.name);
                Ok(())
            }),
        }
    }

    /// Writes the sort order. Null counts as less than every value: it comes first in ascending order and
    /// last in descending order, as MySQL and SQLite have it by default.
    pub(super) fn write_order(&mut self, table: &str, sort: &[SortKey]) -> Result<(), DialectRefusal> {
        self.list(", ", sort, |writer, sort| {
            writer.column(table, &sort.column);
            writer.push(match (writer.flavour, sort.descending) {
                (SqlFlavour::Postgres, false) => " ASC NULLS FIRST",
                (SqlFlavour::Postgres, true) => " DESC NULLS LAST",
                (_, false) => " ASC",
                (_, true) => " DESC",
            });
            Ok(())
        })
    }
}
