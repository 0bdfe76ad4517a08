//! Writing one statement.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Flavour, Statement};
use crate::constant::Constant;
use crate::refusal::Refusal;
use crate::schema::Column;

/// A statement that is being written.
pub(super) struct Writer {
    pub(super) flavour: Flavour,
    sql: String,
    params: Vec<Value>,
    tables: usize,
}

impl Writer {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self { flavour, sql: String::new(), params: Vec::new(), tables: 0 }
    }

    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(self.sql, "{number}");
        self
    }

    /// A name, quoted. SQLite takes a name in double quotes that it does not know for a text; in backticks it does not.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        let quote = if self.flavour == Flavour::Postgres { '"' } else { '`' };
        self.sql.push(quote);
        // Names hold no quotes; if one did, it would not end the name.
        for at in name.chars() {
            self.sql.push(at);
            if at == quote {
                self.sql.push(quote);
            }
        }
        self.sql.push(quote);
        self
    }

    pub(super) fn column(&mut self, table: &str, column: &Column) -> &mut Self {
        self.push(table).push(".").name(&column.physical)
    }

    /// What is between `parts`, each written by `write`.
    pub(super) fn list<T>(
        &mut self,
        between: &str,
        parts: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        for (n, part) in parts.into_iter().enumerate() {
            if n > 0 {
                self.push(between);
            }
            write(self, part)?;
        }
        Ok(())
    }

    /// A short name for one more table of the statement.
    pub(super) fn table(&mut self) -> String {
        self.tables += 1;
        format!("t{}", self.tables - 1)
    }

    /// A value that is stored, of the type of its column.
    pub(super) fn stored(&mut self, value: &Value) -> Result<(), Refusal> {
        match value {
            Value::String(text) => check_text(text)?,
            Value::Object(_) if matches!(Constant::of(value), Ok(Some(one)) if one.is_typed()) => {
                return Err(typed());
            }
            _ => {}
        }
        self.placeholder(value.clone());
        Ok(())
    }

    /// A value that is compared with a column.
    pub(super) fn constant(&mut self, constant: &Constant) -> Result<(), Refusal> {
        let plain = self.plain(constant)?;
        self.placeholder(plain);
        self.push(match (self.flavour, constant) {
            // The type of the column must not decide how a number is read: 1.5 is no integer.
            (Flavour::Postgres, Constant::Number(number)) if number.is_i64() => "::bigint",
            (Flavour::Postgres, Constant::Number(_)) => "::double precision",
            (Flavour::Postgres, Constant::Bool(_)) => "::boolean",
            (Flavour::MySql, Constant::Text(_)) => MYSQL_EXACT,
            (Flavour::Sqlite, Constant::Text(_)) => " COLLATE BINARY",
            _ => "",
        });
        Ok(())
    }

    /// The same as the column's own collation compares it, which an index of the column may answer.
    pub(super) fn inexact(&mut self, constant: &Constant) -> Result<(), Refusal> {
        let plain = self.plain(constant)?;
        self.placeholder(plain);
        Ok(())
    }

    fn plain(&self, constant: &Constant) -> Result<Value, Refusal> {
        Ok(match (self.flavour, constant) {
            (_, Constant::Text(text)) => {
                check_text(text)?;
                Value::String(text.clone())
            }
            // MySQL would read a text column as numbers to compare it with one: every text without digits is 0 there. A
            // number column reads a text that holds a number as that number.
            (Flavour::MySql, Constant::Number(number)) => Value::String(number.to_string()),
            (Flavour::MySql, Constant::Bool(flag)) => Value::String(u8::from(*flag).to_string()),
            (Flavour::Sqlite, Constant::Bool(flag)) => u8::from(*flag).into(),
            (_, Constant::Number(number)) => Value::Number(number.clone()),
            (_, Constant::Bool(flag)) => Value::Bool(*flag),
            (_, Constant::Oid(_) | Constant::Date(_)) => return Err(typed()),
        })
    }

    /// A text that is a pattern already.
    pub(super) fn pattern(&mut self, pattern: String) -> Result<(), Refusal> {
        check_text(&pattern)?;
        self.placeholder(Value::String(pattern));
        if self.flavour == Flavour::MySql {
            self.push(MYSQL_EXACT);
        }
        Ok(())
    }

    fn placeholder(&mut self, value: Value) {
        self.params.push(value);
        if self.flavour == Flavour::Postgres {
            let _ = write!(self.sql, "${}", self.params.len());
        } else {
            self.sql.push('?');
        }
    }

    pub(super) fn finish(self) -> Result<Statement, Refusal> {
        if self.params.len() > self.flavour.max_params() {
            let why = format!("it has {} values, more than one statement may have", self.params.len());
            return Err(Refusal::Invalid(why));
        }
        Ok(Statement { sql: self.sql, params: self.params })
    }
}

/// Compares character by character, case, accents and blanks at the end included. MySQL and MariaDB call that collation
/// differently; each reads its own comment.
const MYSQL_EXACT: &str = " /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */";

fn check_text(text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(Refusal::Invalid("a text holds U+0000, which not every database can hold".to_owned()));
    }
    Ok(())
}

fn typed() -> Refusal {
    Refusal::Invalid("$oid and $date are values of MongoDB; SQL takes plain ones".to_owned())
}
