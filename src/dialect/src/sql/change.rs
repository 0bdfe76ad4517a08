//! Writes.

use serde_json::Value;

use super::writer::Writer;
use super::{Flavour, Statement};
use crate::query::Fields;
use crate::refusal::Refusal;
use crate::schema::{Column, Entity};
use crate::write::{Action, Change, Conflict};

/// The statements of a write, to be run in one transaction; more than one only where the rows of an insert have more
/// values than one statement may have.
///
/// # Errors
/// A value that SQL does not take, or an answer that the database cannot give.
pub fn change(change: &Change, flavour: Flavour) -> Result<Vec<Statement>, Refusal> {
    match change {
        Change::Insert { target, columns, rows, conflict, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let set = match conflict.as_ref().map(|conflict| &conflict.action) {
                Some(Action::Set(set)) => set.len(),
                _ => 0,
            };
            let at_once = ((flavour.max_params().saturating_sub(set)) / columns.len().max(1)).max(1);
            let chunks = rows.chunks(at_once);
            chunks.map(|rows| insert(target, columns, rows, conflict.as_ref(), returning, flavour)).collect()
        }
        Change::Update { target, set, predicate, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let mut writer = Writer::of_change(flavour, &target.physical);
            let table = writer.table();
            writer.push("UPDATE ").name(&target.physical).push(" AS ").push(&table).push(" SET ");
            writer.assignments(set)?;
            writer.filtered(&table, predicate)?;
            writer.returning(returning.as_ref())?;
            Ok(vec![writer.finish()?])
        }
        Change::Delete { target, predicate, returning } => {
            check_returning(returning.as_ref(), flavour)?;
            let mut writer = Writer::of_change(flavour, &target.physical);
            let table = writer.table();
            writer.push("DELETE ");
            if flavour == Flavour::MySql {
                writer.push(&table).push(" ");
            }
            writer.push("FROM ").name(&target.physical).push(" AS ").push(&table);
            writer.filtered(&table, predicate)?;
            writer.returning(returning.as_ref())?;
            Ok(vec![writer.finish()?])
        }
    }
}

fn check_returning(returning: Option<&Fields>, flavour: Flavour) -> Result<(), Refusal> {
    if returning.is_some() && flavour == Flavour::MySql {
        return Err(Refusal::at("write.returning", "MySQL returns no rows of a write"));
    }
    Ok(())
}

fn insert(
    target: &Entity,
    columns: &[Column],
    rows: &[Vec<Value>],
    conflict: Option<&Conflict>,
    returning: &Option<Fields>,
    flavour: Flavour,
) -> Result<Statement, Refusal> {
    let mut writer = Writer::new(flavour);
    writer.push("INSERT INTO ").name(&target.physical).push(" (");
    writer.names(columns)?;
    writer.push(") VALUES ");
    writer.list(", ", rows, |writer, row| {
        writer.push("(");
        writer.list(", ", row, Writer::stored)?;
        writer.push(")");
        Ok(())
    })?;
    if let Some(conflict) = conflict {
        writer.conflict(conflict)?;
    }
    writer.returning(returning.as_ref())?;
    writer.finish()
}

impl Writer {
    fn names(&mut self, columns: &[Column]) -> Result<(), Refusal> {
        self.list(", ", columns, |writer, column| {
            writer.name(&column.physical);
            Ok(())
        })
    }

    fn assignments(&mut self, set: &[(Column, Value)]) -> Result<(), Refusal> {
        self.list(", ", set, |writer, (column, value)| {
            writer.name(&column.physical).push(" = ");
            writer.stored(value)
        })
    }

    fn conflict(&mut self, Conflict { target, action }: &Conflict) -> Result<(), Refusal> {
        if self.flavour == Flavour::MySql {
            self.push(" ON DUPLICATE KEY UPDATE ");
        } else {
            self.push(" ON CONFLICT (");
            self.names(target)?;
            self.push(") DO ");
        }
        let same = |writer: &mut Self, column: &Column| {
            writer.name(&column.physical).push(" = ").name(&column.physical);
            Ok(())
        };
        match (self.flavour, action) {
            // Any other way to do nothing hides other errors as well.
            (Flavour::MySql, Action::Nothing) => self.list(", ", target.first(), same),
            (Flavour::MySql, Action::Take(columns)) if columns.is_empty() => {
                self.list(", ", target.first(), same)
            }
            (Flavour::MySql, Action::Take(columns)) => self.list(", ", columns, |writer, column| {
                writer.name(&column.physical).push(" = VALUES(").name(&column.physical).push(")");
                Ok(())
            }),
            (Flavour::MySql, Action::Set(set)) => self.assignments(set),
            (_, Action::Nothing) => {
                self.push("NOTHING");
                Ok(())
            }
            (_, Action::Take(columns)) if columns.is_empty() => {
                self.push("NOTHING");
                Ok(())
            }
            (_, Action::Take(columns)) => {
                self.push("UPDATE SET ");
                self.list(", ", columns, |writer, column| {
                    writer.name(&column.physical).push(" = excluded.").name(&column.physical);
                    Ok(())
                })
            }
            (_, Action::Set(set)) => {
                self.push("UPDATE SET ");
                self.assignments(set)
            }
        }
    }

    /// Only bare names stand here: where tables have short names, each database wants another one.
    fn returning(&mut self, returning: Option<&Fields>) -> Result<(), Refusal> {
        let Some(fields) = returning else { return Ok(()) };
        self.push(" RETURNING ");
        match fields {
            Fields::All => {
                self.push("*");
                Ok(())
            }
            Fields::Only(columns) => self.list(", ", columns, |writer, column| {
                writer.name(&column.physical).push(" AS ").name(&column.name);
                Ok(())
            }),
        }
    }
}
