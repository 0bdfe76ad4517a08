//! Join conditions of relations.

use super::SqlFlavour;
use super::mysql::{DECIMAL, EXACT, is_number, is_typed};

/// Renders the condition that two columns hold the same key. Texts are compared as in filters, whatever the
/// collations of the columns. The comparison in the collations of the columns comes first, because an index
/// can answer it.
pub(super) fn join_condition(flavour: SqlFlavour, left: &str, right: &str) -> String {
    match flavour {
        SqlFlavour::Postgres => format!("{left} = {right}"),
        SqlFlavour::Sqlite => format!("({left} = {right} AND {left} = {right} COLLATE BINARY)"),
        SqlFlavour::MySql => {
            let (left_typed, right_typed) = (is_typed(left), is_typed(right));
            // For the case that only one side is a text.
            let (left_text, right_text) = (text_and_typed(left, right), text_and_typed(right, left));
            let exact = texts(left, right);
            format!(
                "({left} = {right} AND CASE WHEN {left_typed} AND {right_typed} THEN TRUE \
                 WHEN {right_typed} THEN {left_text} WHEN {left_typed} THEN {right_text} ELSE {exact} END)"
            )
        }
    }
}

/// Compares two texts. The columns may have different character sets, in which the same text has different
/// bytes, and bytes may not be valid text.
fn texts(left: &str, right: &str) -> String {
    format!(
        "CAST({left} AS BINARY) = CAST({right} AS BINARY) \
         OR CONVERT({left} USING utf8mb4){EXACT} = CONVERT({right} USING utf8mb4){EXACT}"
    )
}

/// Compares a text with a number: the text must be a decimal number of equal value.
fn text_and_typed(text: &str, typed: &str) -> String {
    let number = is_number(typed);
    format!(
        "NOT ({number}) OR CASE WHEN CAST({text} AS CHAR) REGEXP '^[-+]{{0,1}}[0-9]{{1,35}}([.][0-9]{{0,30}}){{0,1}}$' \
         THEN CAST(CAST({typed} AS CHAR) AS {DECIMAL}) = CAST(CAST({text} AS CHAR) AS {DECIMAL}) ELSE FALSE END"
    )
}
