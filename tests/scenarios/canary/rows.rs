//! The content of a database file, by table.

use std::path::Path;

use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Nullable, Text};

use super::{CHANNEL_ROWS, CONNECTOR_ROWS, WORKFLOW_ROWS};
use crate::support::open_database;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Nullable<Text>)]
    line: Option<String>,
}

/// The text of every table, by place. Bytes are written in hexadecimal.
pub(super) fn read_rows(file: &Path) -> Vec<(&'static str, String)> {
    let mut database = open_database(file);
    let mut lines = |query: String| -> Vec<String> {
        let lines: Vec<Line> = sql_query(query).load(&mut database).unwrap();
        lines.into_iter().filter_map(|line| line.line).collect()
    };
    let tables = lines("SELECT name AS line FROM sqlite_master WHERE type = 'table'".to_owned());
    let text = |table: String| {
        let columns = lines(format!("SELECT name AS line FROM pragma_table_info('{table}')"));
        let row: Vec<String> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
        let rows = format!("SELECT {} AS line FROM \"{table}\"", row.join(" || ' ' || "));
        let places: &[(&'static str, &str)] = match table.as_str() {
            "definitions" => &[
                (WORKFLOW_ROWS, " WHERE kind = 'workflow'"),
                (CHANNEL_ROWS, " WHERE kind = 'channel'"),
                (CONNECTOR_ROWS, " WHERE kind = 'connector'"),
            ],
            _ => &[("other rows", "")],
        };
        let read = |(place, condition): &(&'static str, &str)| {
            (*place, lines(format!("{rows}{condition}")).join("\n"))
        };
        places.iter().map(read).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(text).collect()
}
