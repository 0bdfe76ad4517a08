//! The writer of one SQL statement.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Number, Value, json};

use super::{SqlFlavour, SqlStatement, mysql};
use crate::constant::{BINARY, Constant};
use crate::refusal::DialectRefusal;
use crate::schema::SchemaColumn;

/// A statement under construction.
pub(super) struct SqlWriter {
    pub(super) flavour: SqlFlavour,
    sql: String,
    params: Vec<Value>,
    tables: usize,
    /// The table that the statement changes, if any.
    changed: Option<Arc<str>>,
}

impl SqlWriter {
    pub(super) fn new(flavour: SqlFlavour) -> Self {
        Self { flavour, sql: String::new(), params: Vec::new(), tables: 0, changed: None }
    }

    /// Creates the writer of a statement that changes `table`.
    pub(super) fn of_change(flavour: SqlFlavour, table: &Arc<str>) -> Self {
        Self { changed: Some(Arc::clone(table)), ..Self::new(flavour) }
    }

    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.sql, "{number}");
        self
    }

    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        let quoted = quote_name(self.flavour, name);
        self.push(&quoted)
    }

    /// Writes a table that is read. MySQL cannot read the table that the statement changes, except through a
    /// materialized derived table; the `LIMIT`, the largest possible, forces the materialization.
    pub(super) fn source(&mut self, table: &str) -> &mut Self {
        let changed = self.changed.as_ref().is_some_and(|changed| changed.eq_ignore_ascii_case(table));
        if changed && self.flavour == SqlFlavour::MySql {
            return self.push("(SELECT * FROM ").name(table).push(" LIMIT 18446744073709551615)");
        }
        self.name(table)
    }

    pub(super) fn column(&mut self, table: &str, column: &SchemaColumn) -> &mut Self {
        let reference = self.reference(table, &column.physical);
        self.push(&reference)
    }

    /// Returns a column reference as it appears in the statement.
    pub(super) fn reference(&self, table: &str, column: &str) -> String {
        format!("{table}.{}", quote_name(self.flavour, column))
    }

    /// Writes `parts` with `write`, separated by `between`.
    pub(super) fn list<T>(
        &mut self,
        between: &str,
        parts: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), DialectRefusal>,
    ) -> Result<(), DialectRefusal> {
        for (n, part) in parts.into_iter().enumerate() {
            if n > 0 {
                self.push(between);
            }
            write(self, part)?;
        }
        Ok(())
    }

    /// Returns a new table alias.
    pub(super) fn table(&mut self) -> String {
        self.tables += 1;
        format!("t{}", self.tables - 1)
    }

    /// Writes a value to be stored, with the type of its column.
    pub(super) fn write_stored_value(&mut self, value: &Value) -> Result<(), DialectRefusal> {
        match value {
            Value::String(text) => check_text(text)?,
            Value::Object(_) if matches!(Constant::from_json(value), Ok(Some(one)) if one.is_typed()) => {
                return Err(typed_value_error());
            }
            _ => {}
        }
        self.placeholder(value.clone());
        Ok(())
    }

    /// Writes a value to be compared with a column of PostgreSQL or SQLite.
    pub(super) fn constant(&mut self, constant: &Constant) -> Result<(), DialectRefusal> {
        let plain = match constant {
            Constant::Text(text) => {
                check_text(text)?;
                Value::String(text.clone())
            }
            Constant::Number(number) => Value::Number(number.clone()),
            Constant::Bool(flag) if self.flavour == SqlFlavour::Sqlite => u8::from(*flag).into(),
            Constant::Bool(flag) => Value::Bool(*flag),
            Constant::Binary(text) => json!({BINARY: text}),
            Constant::Oid(_) | Constant::Date(_) => return Err(typed_value_error()),
        };
        self.placeholder(plain);
        self.push(match (self.flavour, constant) {
            // The column type must not decide how a number is parsed: 1.5 is not an integer.
            (SqlFlavour::Postgres, Constant::Number(number)) if is_bigint(number) => "::bigint",
            // Exact; PostgreSQL converts it to double where the column is one.
            (SqlFlavour::Postgres, Constant::Number(_)) => "::numeric",
            (SqlFlavour::Postgres, Constant::Bool(_)) => "::boolean",
            (SqlFlavour::Postgres, Constant::Binary(_)) => "::bytea",
            (SqlFlavour::Sqlite, Constant::Text(_)) => " COLLATE BINARY",
            _ => "",
        });
        Ok(())
    }

    /// Writes a text that is already a pattern.
    pub(super) fn pattern(&mut self, pattern: String) -> Result<(), DialectRefusal> {
        check_text(&pattern)?;
        self.placeholder(Value::String(pattern));
        if self.flavour == SqlFlavour::MySql {
            self.push(mysql::EXACT);
        }
        Ok(())
    }

    pub(super) fn placeholder(&mut self, value: Value) {
        self.params.push(value);
        if self.flavour == SqlFlavour::Postgres {
            let _ = write!(self.sql, "${}", self.params.len());
        } else {
            self.sql.push('?');
        }
    }

    pub(super) fn finish(self) -> Result<SqlStatement, DialectRefusal> {
        if self.params.len() > self.flavour.max_params() {
            let why = format!("it has {} values, more than one statement may have", self.params.len());
            return Err(DialectRefusal::Invalid(why));
        }
        Ok(SqlStatement { sql: self.sql, params: self.params })
    }
}

/// Returns true if a number is whole and fits in 64 bits, whatever its notation.
fn is_bigint(number: &Number) -> bool {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let whole = |double: f64| double.fract() == 0.0 && (-BOUND..BOUND).contains(&double);
    number.is_i64() || (number.is_f64() && number.as_f64().is_some_and(whole))
}

/// Quotes a name. SQLite treats an unknown name in double quotes as a string literal, but not in backticks.
fn quote_name(flavour: SqlFlavour, name: &str) -> String {
    let quote = if flavour == SqlFlavour::Postgres { '"' } else { '`' };
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push(quote);
    // Validated names hold no quotes; doubling keeps a quote from ending the name in any case.
    for at in name.chars() {
        quoted.push(at);
        if at == quote {
            quoted.push(quote);
        }
    }
    quoted.push(quote);
    quoted
}

pub(super) fn check_text(text: &str) -> Result<(), DialectRefusal> {
    if text.contains('\0') {
        return Err(DialectRefusal::Invalid(
            "a text holds U+0000, which not every database can hold".to_owned(),
        ));
    }
    Ok(())
}

pub(super) fn typed_value_error() -> DialectRefusal {
    DialectRefusal::Invalid("$oid and $date are values of MongoDB; SQL takes plain ones".to_owned())
}
