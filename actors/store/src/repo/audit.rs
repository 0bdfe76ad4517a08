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
use crate::repo::filters::{AnyOf, any_of};
use crate::repo::keyset::{self, CursorKind, KeysetCondition};
use crate::repo::mutation::{AuditEntry, Mutation, MutationResult, mutate};
use crate::repo::{RowKey, sorted};
use crate::schema::audit_logs;
use crate::writer::UnitOutcome;

/// The audit log.
#[derive(Clone)]
pub struct AuditLog(pub(crate) Database);

/// A filter on audit records, and their order. All given conditions must hold, each with any of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The action.
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
    /// Number of matching records on all pages.
    pub total: i64,
    /// Cursor of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
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
        Ok((page.rows, page.total))
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
        let mut deleted = 0;
        loop {
            let step = self.0.write(QueryOperation::new("audit", "delete_expired"), move |conn| {
                Box::pin(async move { delete_expired(conn, days, chunk).await.map(UnitOutcome::Keep) })
            });
            let step = step.await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}

macro_rules! filtered {
    ($db:ident, $filter:expr) => {{
        let mut query = audit_logs::table.into_boxed::<$db>();
        if let Some(action) = &$filter.action {
            query = any_of!(query, audit_logs::action, action);
        }
        if let Some(resource_type) = &$filter.resource_type {
            query = any_of!(query, audit_logs::resource_type, resource_type);
        }
        if let Some(resource_id) = &$filter.resource_id {
            query = any_of!(query, audit_logs::resource_id, resource_id);
        }
        if let Some(principal) = &$filter.principal {
            query = any_of!(query, audit_logs::principal, principal);
        }
        if let Some(start) = $filter.start_time {
            query = query.filter(audit_logs::created_at.ge(start.naive()));
        }
        if let Some(end) = $filter.end_time {
            query = query.filter(audit_logs::created_at.lt(end.naive()));
        }
        query
    }};
}

/// Reads one row more than the page holds, to know whether more follow.
async fn list(
    conn: &mut Conn,
    filter: &AuditFilter,
    page: Page,
    after: Option<RowKey>,
) -> Result<AuditPage, StoreError> {
    let descending = !filter.oldest_first;
    let (mut rows, total): (Vec<StoredAuditRow>, i64) = on!(conn, c: Db => {
        let mut query = filtered!(Db, filter);
        if let Some(key) = after {
            query = query.filter(match descending {
                true => KeysetCondition::newest_first(key),
                false => KeysetCondition::oldest_first(key),
            });
        }
        query = sorted!(query, audit_logs::created_at, descending);
        query = match descending {
            true => query.then_order_by(audit_logs::id.desc()),
            false => query.then_order_by(audit_logs::id.asc()),
        };
        let rows = query.limit(page.limit.saturating_add(1)).offset(page.offset).load(c).await?;
        (rows, filtered!(Db, filter).count().get_result(c).await?)
    });
    let limit = usize::try_from(page.limit).unwrap_or_default();
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    let next_cursor = last.map(|row| {
        keyset::encode(filter.cursor_kind(), &RowKey { created_at: row.created_at, id: row.id.clone() })
    });
    Ok(AuditPage { rows: rows.into_iter().map(AuditRow::from).collect(), total, next_cursor })
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
