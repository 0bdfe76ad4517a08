//! The audit log: written with the changes it records, read here.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::{AuditRow, Page, Timestamp};

use crate::clock;
use crate::conn::{Conn, on};
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::filters::{AnyOf, IndexParts, KeyScan, MOST_SCANNED, RowCondition, count_all};
use crate::repo::keyset::{self, CursorKind};
use crate::repo::mutation::{AuditEntry, Mutation, MutationResult, mutate};
use crate::repo::{RowKey, sorted};
use crate::schema::audit_logs;

/// The audit log.
#[derive(Clone)]
pub struct AuditLog(pub(crate) Database);

/// A filter on audit records, and their order. All given conditions must hold, each with any of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub action: Option<AnyOf>,
    /// The type of the changed resource.
    pub resource_type: Option<AnyOf>,
    /// The id of the changed resource.
    pub resource_id: Option<AnyOf>,
    /// The principal that made the change.
    pub principal: Option<AnyOf>,
    /// Earliest instant, inclusive.
    pub start_time: Option<Timestamp>,
    /// Latest instant, exclusive.
    pub end_time: Option<Timestamp>,
    /// True to list the oldest first.
    pub oldest_first: bool,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// True to leave out the number of all records.
    pub without_total: bool,
}

impl AuditFilter {
    const fn cursor_kind(&self) -> CursorKind {
        if self.oldest_first { CursorKind::AuditOldestFirst } else { CursorKind::Audit }
    }
}

/// A page of audit records.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPage {
    /// The records.
    pub rows: Vec<AuditRow>,
    /// Number of matching records on all pages, unless it is left out.
    pub total: Option<i64>,
    /// Cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
    /// The instant up to which records were read, for a page that is not full although more may match.
    pub scanned_until: Option<Timestamp>,
}

/// A row, in the order of the columns.
#[derive(Queryable)]
pub(super) struct StoredAuditRow {
    id: String,
    principal: String,
    action: String,
    resource_type: String,
    resource_id: String,
    details: Option<String>,
    created_at: NaiveDateTime,
}

impl From<StoredAuditRow> for AuditRow {
    fn from(row: StoredAuditRow) -> Self {
        Self {
            id: row.id,
            principal: row.principal,
            action: row.action,
            resource_type: row.resource_type,
            resource_id: row.resource_id,
            details: row.details,
            created_at: Timestamp::from_naive(row.created_at),
        }
    }
}

impl AuditLog {
    /// Returns a page of the records that match the filter, in its order, and the number of all matches.
    ///
    /// # Errors
    /// As [`list_page`](Self::list_page).
    pub async fn list(&self, filter: AuditFilter, page: Page) -> Result<(Vec<AuditRow>, i64), StoreError> {
        let page = self.list_page(filter, page).await?;
        Ok((page.rows, page.total.unwrap_or_default()))
    }

    /// Returns a page of the records that match the filter, in its order.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 for an invalid cursor; [`StoreError::Unavailable`] while the database is away,
    /// [`StoreError::Database`] if it refuses the query.
    pub async fn list_page(&self, filter: AuditFilter, page: Page) -> Result<AuditPage, StoreError> {
        let cursor = filter.cursor.as_ref();
        let after = cursor.map(|cursor| keyset::decode(filter.cursor_kind(), cursor)).transpose()?;
        self.0
            .read(QueryOperation::new("audit", "list"), move |conn| {
                Box::pin(async move { list(conn, &filter, page, after).await })
            })
            .await
    }

    /// Records an event that changes no stored row, such as the summary of an import or a test run.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn record(&self, entry: AuditEntry) -> Result<(), StoreError> {
        let mutation = Mutation::new(entry);
        mutate(&self.0, QueryOperation::new("audit", "record"), mutation, |_| {
            Box::pin(async { Ok(MutationResult::new((), "")) })
        })
        .await
    }

    /// Deletes the records older than `days`, and returns their number. Works in steps of at most `chunk`
    /// rows, between which others can write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, days: u64, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(QueryOperation::new("audit", "delete_expired"), chunk, move |conn| {
                Box::pin(delete_expired(conn, days, chunk))
            })
            .await
    }
}

/// The table.
const TABLE: &str = "audit_logs";

/// Returns the conditions of a filter on columns that are first in an index: the index, the column, its values.
fn list_indexed(filter: &AuditFilter) -> Vec<IndexedCondition> {
    let columns = [
        ("audit_logs_resource_id", "resource_id", &filter.resource_id),
        ("audit_logs_principal", "principal", &filter.principal),
        ("audit_logs_action", "action", &filter.action),
        ("audit_logs_resource_type", "resource_type", &filter.resource_type),
    ];
    let given = columns.into_iter().filter_map(|(index, column, values)| {
        Some(IndexedCondition { index, column, values: values.clone()? })
    });
    given.collect()
}

/// A condition on the column that is first in an index.
struct IndexedCondition {
    index: &'static str,
    column: &'static str,
    values: AnyOf,
}

impl IndexedCondition {
    fn condition(&self) -> RowCondition {
        RowCondition::AnyOf(self.column, self.values.clone())
    }
}

/// Returns a page of the records that match, found by the index of the first condition.
async fn list(
    conn: &mut Conn,
    filter: &AuditFilter,
    page: Page,
    after: Option<RowKey>,
) -> Result<AuditPage, StoreError> {
    let descending = !filter.oldest_first;
    let indexed = list_indexed(filter);
    let range = RowCondition::of_range("created_at", filter.start_time, filter.end_time, "<");
    let first = <[_]>::first(&indexed);
    let parts = first.and_then(|first| IndexParts::new(first.column, first.values.storable()));
    let scan = KeyScan {
        table: TABLE,
        index: first.filter(|_| parts.is_some()).map_or("audit_logs_created", |first| first.index),
        others: indexed.iter().skip(usize::from(parts.is_some())).map(IndexedCondition::condition).collect(),
        parts,
        served: range.clone(),
        after,
        descending,
        page,
        most_read: MOST_SCANNED,
    };
    let found = scan.find(conn).await?;
    let ids: Vec<String> = found.keys.into_iter().map(|key| key.id).collect();
    let rows: Vec<StoredAuditRow> = on!(conn, c: Db => {
        let rows = audit_logs::table.into_boxed::<Db>().filter(audit_logs::id.eq_any(ids));
        let rows = sorted!(rows, audit_logs::created_at, descending);
        let rows = match descending {
            true => rows.then_order_by(audit_logs::id.desc()),
            false => rows.then_order_by(audit_logs::id.asc()),
        };
        rows.load(c).await?
    });
    let conditions: Vec<_> = indexed.iter().map(IndexedCondition::condition).chain(range).collect();
    let total = match filter.without_total {
        true => None,
        false => Some(count_all(conn, TABLE, &conditions).await?),
    };
    Ok(AuditPage {
        rows: rows.into_iter().map(AuditRow::from).collect(),
        total,
        next_cursor: found.next.key.map(|key| keyset::encode(filter.cursor_kind(), &key)),
        scanned_until: found.next.scanned_until,
    })
}

async fn delete_expired(conn: &mut Conn, days: u64, chunk: i64) -> Result<u64, StoreError> {
    let old = audit_logs::created_at.lt(clock::hours_ago(conn, days.saturating_mul(24)).await?);
    let oldest =
        audit_logs::table.select(audit_logs::id).filter(old).order(audit_logs::created_at).limit(chunk);
    let ids: Vec<String> = on!(conn, c => oldest.load(c).await)?;
    let expired = audit_logs::table.filter(audit_logs::id.eq_any(ids));
    let deleted = on!(conn, c => diesel::delete(expired).execute(c).await)?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
