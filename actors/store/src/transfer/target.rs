//! The server that rows are written to, within one transaction.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};

use super::digest::{ColumnKind, TransferColumn, TransferDigest};
use super::source::{quote_name, quote_text};
use crate::error::StoreError;

/// Rows that are read at once to be compared.
const FETCHED_ROWS: usize = 200;

/// A connection to the server.
pub(super) struct TargetServer<'c> {
    pub(super) conn: &'c mut AsyncPgConnection,
}

#[derive(QueryableByName)]
struct ColumnRow {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    data_type: String,
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

#[derive(QueryableByName)]
struct DocumentRow {
    #[diesel(sql_type = Text)]
    document: String,
}

impl TargetServer<'_> {
    /// Returns the columns of a table, by their names; empty without the table.
    pub(super) async fn columns(&mut self, table: &str) -> Result<Vec<TransferColumn>, StoreError> {
        let query = format!(
            "SELECT column_name::text AS name, data_type::text AS data_type FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = {} ORDER BY column_name",
            quote_text(table)
        );
        let rows: Vec<ColumnRow> = diesel::sql_query(query).load(&mut *self.conn).await?;
        let column =
            |row: ColumnRow| TransferColumn { kind: ColumnKind::from_type(&row.data_type), name: row.name };
        Ok(rows.into_iter().map(column).collect())
    }

    /// Keeps every other session from the tables until the transaction ends.
    pub(super) async fn lock(&mut self, tables: &[String]) -> Result<(), StoreError> {
        let names: Vec<_> = tables.iter().map(|table| quote_name(table)).collect();
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", names.join(", "));
        Ok(self.conn.batch_execute(&lock).await?)
    }

    /// Counts the rows of a table that a condition holds for.
    pub(super) async fn count(&mut self, table: &str, condition: &str) -> Result<u64, StoreError> {
        let query = format!("SELECT count(*) AS n FROM {} WHERE {condition}", quote_name(table));
        let row: CountRow = diesel::sql_query(query).get_result(&mut *self.conn).await?;
        Ok(row.n.unsigned_abs())
    }

    /// Deletes the rows that the migrations made.
    pub(super) async fn clear(&mut self, table: &str) -> Result<(), StoreError> {
        Ok(self.conn.batch_execute(&format!("DELETE FROM {}", quote_name(table))).await?)
    }

    /// Inserts rows, each a JSON object, in one statement.
    pub(super) async fn insert(
        &mut self,
        table: &str,
        columns: &[TransferColumn],
        documents: &[String],
    ) -> Result<(), StoreError> {
        let names: Vec<_> = columns.iter().map(|column| quote_name(&column.name)).collect();
        let (names, table) = (names.join(", "), quote_name(table));
        let query = format!(
            "INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, $1::json)"
        );
        let rows = format!("[{}]", documents.join(","));
        diesel::sql_query(query).bind::<Text, _>(rows).execute(&mut *self.conn).await?;
        Ok(())
    }

    /// Reads all rows of a table, and returns their digest. The inner error names a column.
    pub(super) async fn digest(
        &mut self,
        table: &str,
        columns: &[TransferColumn],
    ) -> Result<Result<TransferDigest, String>, StoreError> {
        let values: Vec<_> = columns.iter().map(select_value).collect();
        let declare = format!(
            "DECLARE transferred NO SCROLL CURSOR FOR SELECT row_to_json(r)::text AS document FROM \
             (SELECT {} FROM {}) r",
            values.join(", "),
            quote_name(table)
        );
        self.conn.batch_execute(&declare).await?;
        let mut digest = TransferDigest::default();
        loop {
            let fetch = format!("FETCH FORWARD {FETCHED_ROWS} FROM transferred");
            let rows: Vec<DocumentRow> = diesel::sql_query(fetch).load(&mut *self.conn).await?;
            if rows.is_empty() {
                break;
            }
            for DocumentRow { document } in rows {
                if let Err(problem) = digest.add_row(columns, &document) {
                    return Ok(Err(problem));
                }
            }
        }
        self.conn.batch_execute("CLOSE transferred").await?;
        Ok(Ok(digest))
    }
}

/// Returns a column of a row to be compared. A float is text, with all the digits that it needs.
fn select_value(column: &TransferColumn) -> String {
    let name = quote_name(&column.name);
    match column.kind {
        ColumnKind::Float => format!("{name}::text AS {name}"),
        ColumnKind::Plain | ColumnKind::Truth | ColumnKind::Instant => name,
    }
}
