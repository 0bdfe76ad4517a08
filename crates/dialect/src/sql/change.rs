//! Renders writes to SQL.

use serde_json::Value;

use super::writer::SqlWriter;
use super::{SqlFlavour, SqlStatement};
use crate::query::Projection;
use crate::refusal::DialectRefusal;
use crate::schema::{SchemaColumn, SchemaEntity};
use crate::write::{Conflict, ConflictAction, WriteChange};

/// Renders a write to statements, which run in one transaction in this order. There is more than one only if
/// the rows of an insert have more values than one statement may have parameters.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a value that SQL cannot store, or a `returning` that the database does not
/// support.
pub fn change(change: &WriteChange, flavour: SqlFlavour) -> Result<Vec<SqlStatement>, DialectRefusal> {
    match change {
        WriteChange::Insert { target, columns, rows, conflict, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let set = match conflict.as_ref().map(|conflict| &conflict.action) {
                Some(ConflictAction::Set(set)) => set.len(),
                _ => 0,
            };
            let at_once = ((flavour.max_params().saturating_sub(set)) / columns.len().max(1)).max(1);
            let chunks = rows.chunks(at_once);
            chunks.map(|rows| insert(target, columns, rows, conflict.as_ref(), returning, flavour)).collect()
        }
        WriteChange::Update { target, set, predicate, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let mut writer = SqlWriter::of_change(flavour, &target.physical);
            let table = writer.table();
            writer.push("UPDATE ").name(&target.physical).push(" AS ").push(&table).push(" SET ");
            writer.assignments(set)?;
            writer.write_where(&table, predicate)?;
            writer.returning(returning.as_ref())?;
            Ok(vec![writer.finish()?])
        }
        WriteChange::Delete { target, predicate, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let mut writer = SqlWriter::of_change(flavour, &target.physical);
            let table = writer.table();
            writer.push("DELETE ");
            if flavour == SqlFlavour::MySql {
                writer.push(&table).push(" ");
            }
            writer.push("FROM ").name(&target.physical).push(" AS ").push(&table);
            writer.write_where(&table, predicate)?;
            writer.returning(returning.as_ref())?;
            Ok(vec![writer.finish()?])
        }
    }
}

fn check_returning(returning: Option<&Projection>, flavour: SqlFlavour) -> Result<(), DialectRefusal> {
    if returning.is_some() && flavour == SqlFlavour::MySql {
        return Err(DialectRefusal::invalid("write.returning", "MySQL returns no rows of a write"));
    }
    Ok(())
}

fn insert(
    target: &SchemaEntity,
    columns: &[SchemaColumn],
    rows: &[Vec<Value>],
    conflict: Option<&Conflict>,
    returning: &Option<Projection>,
    flavour: SqlFlavour,
) -> Result<SqlStatement, DialectRefusal> {
    let mut writer = SqlWriter::new(flavour);
    writer.push("INSERT INTO ").name(&target.physical).push(" (");
    writer.names(columns)?;
    writer.push(") VALUES ");
    writer.list(", ", rows, |writer, row| {
        writer.push("(");
        writer.list(", ", row, SqlWriter::write_stored_value)?;
        writer.push(")");
        Ok(())
    })?;
    if let Some(conflict) = conflict {
        writer.conflict(conflict)?;
    }
    writer.returning(returning.as_ref())?;
    writer.finish()
}

impl SqlWriter {
    fn names(&mut self, columns: &[SchemaColumn]) -> Result<(), DialectRefusal> {
        self.list(", ", columns, |writer, column| {
            writer.name(&column.physical);
            Ok(())
        })
    }

    fn assignments(&mut self, set: &[(SchemaColumn, Value)]) -> Result<(), DialectRefusal> {
        self.list(", ", set, |writer, (column, value)| {
            writer.name(&column.physical).push(" = ");
            writer.write_stored_value(value)
        })
    }

    fn conflict(&mut self, Conflict { target, action }: &Conflict) -> Result<(), DialectRefusal> {
        if self.flavour == SqlFlavour::MySql {
            self.push(" ON DUPLICATE KEY UPDATE ");
        } else {
            self.push(" ON CONFLICT (");
            self.names(target)?;
            self.push(") DO ");
        }
        let same = |writer: &mut Self, column: &SchemaColumn| {
            writer.name(&column.physical).push(" = ").name(&column.physical);
            Ok(())
        };
        match (self.flavour, action) {
            // `INSERT IGNORE` would suppress other errors as well.
            (SqlFlavour::MySql, ConflictAction::Nothing) => self.list(", ", target.first(), same),
            (SqlFlavour::MySql, ConflictAction::Take(columns)) if columns.is_empty() => {
                self.list(", ", target.first(), same)
            }
            (SqlFlavour::MySql, ConflictAction::Take(columns)) => {
                self.list(", ", columns, |writer, column| {
                    writer.name(&column.physical).push(" = VALUES(").name(&column.physical).push(")");
                    Ok(())
                })
            }
            (SqlFlavour::MySql, ConflictAction::Set(set)) => self.assignments(set),
            (_, ConflictAction::Nothing) => {
                self.push("NOTHING");
                Ok(())
            }
            (_, ConflictAction::Take(columns)) if columns.is_empty() => {
                self.push("NOTHING");
                Ok(())
            }
            (_, ConflictAction::Take(columns)) => {
                self.push("UPDATE SET ");
                self.list(", ", columns, |writer, column| {
                    writer.name(&column.physical).push(" = excluded.").name(&column.physical);
                    Ok(())
                })
            }
            (_, ConflictAction::Set(set)) => {
                self.push("UPDATE SET ");
                self.assignments(set)
            }
        }
    }

    /// Writes bare column names: with a table alias, each database would need a different one.
    fn returning(&mut self, returning: Option<&Projection>) -> Result<(), DialectRefusal> {
        let Some(fields) = returning else { return Ok(()) };
        self.push(" RETURNING ");
        match fields {
            Projection::All => {
                self.push("*");
                Ok(())
            }
            Projection::Only(columns) => self.list(", ", columns, |writer, column| {
                writer.name(&column.physical).push(" AS ").name(&column.name);
                Ok(())
            }),
        }
    }
}
