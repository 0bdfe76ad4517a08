//! Errors of PostgreSQL and its driver.

use std::error::Error as _;
use std::io;

use serde_json::Value;
use svc_outbound::describe_cause;
use svc_pooler::NegotiationFailure;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition};
use tokio_postgres::types::Type;

use super::column;
use crate::drivers::integrity::Integrity;
use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::messages::BoundStatement;

/// Codes of a server that takes no writes: a standby, or one that was made read-only. A read-only transaction of the
/// service's own gets them too.
const NOT_PRIMARY: [&str; 1] = ["25006"];

/// Converts an error of opening a connection. `remedies` are named if it was not the database that
/// refused.
pub(super) fn connecting(error: &Error, remedies: &str) -> SqlError {
    let Some(told) = error.as_db_error() else {
        let remedies = if remedies.is_empty() { String::new() } else { format!(": {remedies}") };
        return SqlError::Unreachable(format!("no connection to the database ({}){remedies}", cause(error)));
    };
    // The server's text repeats the user and the database.
    let code = told.code().code();
    match code {
        "28000" | "28P01" => SqlError::Refused(format!("the database refuses the credentials ({code})")),
        "3D000" => SqlError::Refused(format!("the server has no database of this name ({code})")),
        _ if is_unavailable_code(code) => {
            SqlError::Unreachable(format!("the database takes no connections now ({code})"))
        }
        _ => SqlError::Refused(format!("the database refuses the connection ({code})")),
    }
}

/// Converts an error of running a statement; `statement` is `None` for one that is not of a task.
pub(super) fn running(error: &Error, params: &[Type], statement: Option<&BoundStatement>) -> SqlError {
    let Some(told) = error.as_db_error() else {
        return SqlError::Unreachable(format!("the connection to the database broke off ({})", cause(error)));
    };
    let code = told.code().code();
    if code == "57014" {
        return SqlError::Timeout(format!("the database gave the statement up ({code})"));
    }
    if is_unavailable_code(code) {
        return SqlError::Unreachable(format!("the database is going away ({code})"));
    }
    if NOT_PRIMARY.contains(&code) {
        return SqlError::NotPrimary(code.to_owned());
    }
    if let Some(kind) = integrity(code) {
        let constraint = told.constraint().or(told.column()).map(str::to_owned);
        return SqlError::Violation { kind, constraint, code: code.to_owned() };
    }
    let document = statement.filter(|statement| statement.origin.is_document());
    if let Some(number) = misfit(told, params) {
        // Its words repeat the value.
        let index = number.saturating_sub(1);
        let kind = params.get(index).map_or("unknown", |kind| kind.name());
        let value = statement.and_then(|statement| statement.params.get(index));
        let value = value.map_or("a value", kind_of);
        let column = document.and_then(|document| column::find_column(&document.sql, number));
        return SqlError::Input(match (document, column) {
            (Some(_), Some(column)) => {
                format!(
                    "a value of the document, {value} for the column '{column}', does not fit its type {kind}"
                )
            }
            (Some(_), None) => {
                format!("a value of the document, {value}, does not fit the type {kind} of its column")
            }
            (None, _) => format!("params[{index}]: {value} does not fit the type {kind} of its placeholder"),
        });
    }
    match document.and_then(|document| mismatched_column(told, &document.sql)) {
        Some(column) => SqlError::Input(format!(
            "a value of the document does not fit the column '{column}': {}",
            told.message()
        )),
        None => SqlError::Refused(format!("the database refuses the statement ({code}): {}", told.message())),
    }
}

/// The JSON type of a value, in the words of a sentence.
const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The column that cannot be compared with a value, as the types of the two have no such operator. In a
/// statement made of a document the value is to blame; if two columns meet, its author.
fn mismatched_column<'s>(told: &DbError, sql: &'s str) -> Option<&'s str> {
    if !matches!(told.code().code(), "42883" | "42804") {
        return None;
    }
    // Where the operator stands, counted in characters from 1.
    let ErrorPosition::Original(position) = told.position()? else { return None };
    compared_column(sql, usize::try_from(*position).ok()?.checked_sub(1)?)
}

/// The column before an operator that a value follows.
fn compared_column(sql: &str, operator: usize) -> Option<&str> {
    let (at, _) = sql.char_indices().nth(operator)?;
    let (before, behind) = sql.split_at_checked(at)?;
    if !behind.get(behind.find(['$', '"'])?..)?.starts_with('$') {
        return None;
    }
    before.trim_end().trim_end_matches(" NOT").strip_suffix('"')?.rsplit('"').next()
}

/// Returns true if a prepared statement is outdated and may succeed when prepared anew: it is gone, or a table
/// has changed since. None of it was carried out.
pub(super) fn is_outdated(error: &Error, params: &[Type]) -> bool {
    error.as_db_error().is_some_and(|told| match told.code().code() {
        "26000" => true,
        // The types it was prepared with meet others now, or are gone. Of what runs inside of it, errors tell
        // where.
        "42804" | "42883" | "XX000" => told.where_().is_none(),
        "0A000" => told.routine() == Some("RevalidateCachedQuery"),
        _ => misfit(told, params).is_some(),
    })
}

/// The kind of constraint that a code of class 23 is about.
fn integrity(code: &str) -> Option<Integrity> {
    match code {
        // An exclusion constraint is a unique one with other operators.
        "23505" | "23P01" => Some(Integrity::Unique),
        "23503" | "23001" => Some(Integrity::ForeignKey),
        "23502" => Some(Integrity::NotNull),
        "23514" => Some(Integrity::Check),
        _ => None,
    }
}

/// Codes of a server that ends, starts, or has no room.
fn is_unavailable_code(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("53") || code.starts_with("57P")
}

/// The parameter that its type does not take: the server says so in the context of the error.
fn misfit(told: &DbError, params: &[Type]) -> Option<usize> {
    let context = told.where_().filter(|_| told.code().code().starts_with("22"))?;
    parameter(context).or_else(|| json_parameter(context, params))
}

/// The number of a parameter of a JSON type: there the place within the document precedes it, on a line
/// of its own.
fn json_parameter(context: &str, params: &[Type]) -> Option<usize> {
    let number = context.lines().skip(1).find_map(parameter)?;
    let kind = params.get(number.checked_sub(1)?)?;
    matches!(*kind, Type::JSON | Type::JSONB).then_some(number)
}

/// The number of the parameter that a context is about, in whatever language: `… $1` or `… $1 = 'value'`.
/// The context of a failed function quotes a statement or has no parameter.
fn parameter(context: &str) -> Option<usize> {
    let (place, _) = context.split_once(" = ").unwrap_or((context, ""));
    if place.contains(['"', '\n']) {
        return None;
    }
    let (_, after) = place.split_once('$')?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Returns the text of an error of the driver, with its innermost cause.
fn cause(error: &Error) -> String {
    let mut sources = std::iter::successors(error.source(), |&cause| cause.source());
    let is_described = |cause: &&(dyn std::error::Error + 'static)| {
        cause.is::<io::Error>() || cause.is::<rustls::Error>() || cause.is::<NegotiationFailure>()
    };
    match sources.find(is_described) {
        Some(cause) => describe_cause(cause),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_of_a_context_is_found_in_any_language() {
        for (context, expected) in [
            ("unnamed portal parameter $2 = 'x'", Some(2)),
            ("unnamed portal parameter $12", Some(12)),
            ("unbenanntes Portal mit Parameter $1 = '...'", Some(1)),
            ("параметр $3 неименованного портала = 'a\nb'", Some(3)),
            ("PL/pgSQL function f(integer) line 1 at RETURN", None),
            ("SQL statement \"SELECT $1 = 5\"", None),
            ("PL/pgSQL function f(integer) line 1\nSQL function costs $5", None),
        ] {
            assert_eq!(parameter(context), expected, "{context}");
        }
    }

    #[test]
    fn json_error_names_its_json_parameter() {
        let context = "JSON data, line 1: {\nunnamed portal parameter $2 = '{'";
        assert_eq!(json_parameter(context, &[Type::TEXT, Type::JSONB]), Some(2));
        assert_eq!(json_parameter(context, &[Type::JSONB, Type::TEXT]), None);
    }

    #[test]
    fn compared_column_is_before_the_operator() {
        let due = |sql: &str, operator: &str| {
            let at = sql.find(operator).map(|at| sql[..at].chars().count()).unwrap();
            compared_column(sql, at).map(str::to_owned)
        };
        for (sql, operator, column) in [
            (r#"SELECT "é" FROM "t" AS t0 WHERE t0."größe" = $1::bigint"#, "= $1", Some("größe")),
            (r#"SELECT 1 FROM "t" AS t0 WHERE t0."a" IN ($1, $2)"#, "IN", Some("a")),
            (r#"SELECT 1 FROM "t" AS t0 WHERE t0."a" NOT IN ($1, $2)"#, "IN", Some("a")),
            (r#"SELECT 1 WHERE t1."a" = t0."b" AND t0."c" = $1"#, "= t0", None),
            (r#"SELECT 1 WHERE t0."a" = $1 ORDER BY t0."j" ASC"#, r#"t0."j""#, None),
        ] {
            assert_eq!(due(sql, operator).as_deref(), column, "{sql}");
        }
        assert_eq!(compared_column("SELECT 1", 99), None);
    }
}
