//! The file that rows are read from, as of one instant. Its calls block.

use std::collections::BTreeSet;

use diesel::connection::{DefaultLoadingMode, SimpleConnection};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::digest::{ColumnKind, TransferColumn};
use crate::connections::connection_manager::{ConnectionManager, Purpose};
use crate::error::StoreError;

/// Most rows of a batch.
const BATCH_ROWS: usize = 500;
/// Bytes of rows from which on a batch is complete.
const BATCH_BYTES: usize = 4 << 20;

/// An open file within a read transaction.
pub(super) struct SourceDatabase {
    conn: SqliteConnection,
}

/// Rows of a table, each a JSON object.
#[derive(Debug, Default)]
pub(super) struct TransferBatch {
    pub(super) documents: Vec<String>,
    /// The position of the last row.
    pub(super) last: i64,
}

#[derive(QueryableByName)]
struct NameRow {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct DocumentRow {
    #[diesel(sql_type = BigInt)]
    position: i64,
    #[diesel(sql_type = Text)]
    document: String,
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl SourceDatabase {
    /// Opens the file for reading and begins the transaction.
    pub(super) fn open(manager: &ConnectionManager) -> Result<Self, StoreError> {
        let mut conn = manager.open_sqlite(Purpose::Inspect)?;
        conn.batch_execute("BEGIN")?;
        Ok(Self { conn })
    }

    /// Returns the names of all tables.
    pub(super) fn tables(&mut self) -> Result<Vec<String>, StoreError> {
        let query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
                     ORDER BY name";
        self.names(query)
    }

    /// Returns the names of the columns of a table.
    pub(super) fn columns(&mut self, table: &str) -> Result<BTreeSet<String>, StoreError> {
        let query = format!("SELECT name FROM pragma_table_info({})", quote_text(table));
        Ok(self.names(&query)?.into_iter().collect())
    }

    /// Counts the rows of a table.
    pub(super) fn count(&mut self, table: &str) -> Result<u64, StoreError> {
        let query = format!("SELECT count(*) AS n FROM {}", quote_name(table));
        let row: CountRow = diesel::sql_query(query).get_result(&mut self.conn)?;
        Ok(row.n.unsigned_abs())
    }

    /// Reads the next rows of a table behind a position; none at its end.
    pub(super) fn next_batch(
        &mut self,
        table: &str,
        columns: &[TransferColumn],
        after: i64,
    ) -> Result<TransferBatch, StoreError> {
        let members: Vec<_> = columns.iter().map(member).collect();
        let query = format!(
            "SELECT rowid AS position, json_object({}) AS document FROM {} WHERE rowid > {after} \
             ORDER BY rowid LIMIT {BATCH_ROWS}",
            members.join(", "),
            quote_name(table)
        );
        let rows = diesel::sql_query(query).load_iter::<DocumentRow, DefaultLoadingMode>(&mut self.conn)?;
        let (mut batch, mut bytes) = (TransferBatch { last: after, ..TransferBatch::default() }, 0);
        for row in rows {
            let DocumentRow { position, document } = row?;
            bytes += document.len();
            batch.last = position;
            batch.documents.push(document);
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        Ok(batch)
    }

    fn names(&mut self, query: &str) -> Result<Vec<String>, StoreError> {
        let rows: Vec<NameRow> = diesel::sql_query(query).load(&mut self.conn)?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }
}

/// Returns the name and the value of a column, as arguments of `json_object`. A float is text: its JSON would have fewer
/// digits than it needs.
fn member(column: &TransferColumn) -> String {
    let (name, value) = (quote_text(&column.name), quote_name(&column.name));
    match column.kind {
        ColumnKind::Float => {
            format!("{name}, CASE WHEN {value} IS NOT NULL THEN printf('%!.17g', {value}) END")
        }
        ColumnKind::Plain | ColumnKind::Truth | ColumnKind::Instant => format!("{name}, {value}"),
    }
}

/// Quotes a name, for either database.
pub(super) fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text, for either database.
pub(super) fn quote_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
