//! What PostgreSQL and its driver complain about.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::DbError;
use tokio_postgres::types::Type;

use crate::drivers::sql::message::{Origin, SqlError};

/// Why there is no connection.
pub(super) fn connecting(error: &Error) -> SqlError {
    let Some(told) = error.as_db_error() else {
        return SqlError::Unreachable(format!("no connection to the database ({})", cause(error)));
    };
    // Their own words repeat who connects, and to what.
    let code = told.code().code();
    match code {
        "28000" | "28P01" => SqlError::Refused(format!("the database refuses the credentials ({code})")),
        "3D000" => SqlError::Refused(format!("the server has no database of this name ({code})")),
        _ if away(code) => SqlError::Unreachable(format!("the database takes no connections now ({code})")),
        _ => SqlError::Refused(format!("the database refuses the connection ({code})")),
    }
}

/// Why a statement was not carried out.
pub(super) fn running(error: &Error, params: &[Type], origin: &Origin) -> SqlError {
    let Some(told) = error.as_db_error() else {
        return SqlError::Unreachable(format!("the connection to the database broke off ({})", cause(error)));
    };
    let code = told.code().code();
    if code == "57014" {
        return SqlError::Timeout(format!("the database gave the statement up ({code})"));
    }
    if away(code) {
        return SqlError::Unreachable(format!("the database is going away ({code})"));
    }
    match misfit(told) {
        // Its words repeat the value.
        Some(number) => {
            let index = number.saturating_sub(1);
            let kind = params.get(index).map_or("unknown", |kind| kind.name());
            SqlError::Input(if origin.is_document() {
                format!("a value of the document does not fit the type {kind} of its column")
            } else {
                format!("params[{index}]: the value does not fit the type {kind} of its placeholder")
            })
        }
        None if origin.is_document() && MISMATCHED.contains(&code) => {
            SqlError::Input(format!("a value of the document does not fit its column: {}", told.message()))
        }
        None => SqlError::Refused(format!("the database refuses the statement ({code}): {}", told.message())),
    }
}

/// Codes of an operator that does not exist for these types, and of a type that is not the one due. In a statement made of a
/// document, the values alone decide that.
const MISMATCHED: [&str; 2] = ["42883", "42804"];

/// Whether a statement that was prepared earlier may no longer be right, and one prepared anew may be: it is gone, or a table
/// has changed since. None of it was carried out.
pub(super) fn outdated(error: &Error) -> bool {
    error.as_db_error().is_some_and(|told| match told.code().code() {
        "26000" => true,
        "0A000" => told.routine() == Some("RevalidateCachedQuery"),
        _ => misfit(told).is_some(),
    })
}

/// Codes of a server that ends, starts, or has no room.
fn away(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("53") || code.starts_with("57P")
}

/// The parameter that its type does not take: the server says so in the context of the error.
fn misfit(told: &DbError) -> Option<usize> {
    let told_where = told.where_().filter(|_| told.code().code().starts_with("22"))?;
    if !told_where.contains("portal") {
        return None;
    }
    let (_, after) = told_where.split_once("parameter $")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// What lies behind an error of the driver.
fn cause(error: &Error) -> String {
    let mut innermost = error.source();
    while let Some(deeper) = innermost.and_then(|cause| cause.source()) {
        innermost = Some(deeper);
    }
    match innermost {
        Some(cause) if cause.is::<io::Error>() || cause.is::<rustls::Error>() => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}
