//! `db_read` and `db_write`, and what a statement says about itself.

mod effect;
mod insert;
mod read_only;

use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_model::{ConnectorType, FieldError};

pub use effect::{StatementEffect, effect, first_word};
pub use insert::{inserted_table, is_insert};
pub use read_only::check_read_only;

use super::FunctionDeclaration;
use super::input::{BINARY_AS, NUMERIC_AS};
use effect::is_blank;
use read_only::refused_everywhere;

const SQL_PARAMS: InputField = InputField::array(
    "params",
    "Values bound to the placeholders, in order; objects and arrays bind as JSON",
)
.resolvable();

/// The declaration of `db_read`.
pub static DB_READ: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        fields: &[
            InputField::connector("SQL connector"),
            InputField::string("query", "SQL with the placeholders of the driver").required(),
            SQL_PARAMS,
            BINARY_AS,
            NUMERIC_AS,
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "db_read",
            "Runs a SQL query and returns its rows as objects",
            ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::Sql),
        )
    },
    check: check_read,
};

/// The declaration of `db_write`.
pub static DB_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "depends_on:query",
        fields: &[
            InputField::connector("SQL connector"),
            InputField::string("query", "SQL with the placeholders of the driver").required(),
            SQL_PARAMS,
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "db_write",
            "Runs a SQL statement that writes and returns the number of rows affected, and the key of an inserted row",
            ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::Sql),
        )
    },
    check: check_statement,
};

fn check_read(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_statement(input, at, errors);
    let query = input.get("query").and_then(Value::as_str).filter(|query| !is_blank(query));
    if let Some(reason) = query.and_then(refused_everywhere) {
        errors.push(FieldError::invalid(format!("{at}.query"), reason));
    }
}

fn check_statement(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if input.get("query").and_then(Value::as_str).is_some_and(is_blank) {
        errors.push(FieldError::invalid(format!("{at}.query"), "there is no statement in it"));
    }
}
