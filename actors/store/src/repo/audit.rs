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
use crate::repo::is_impossible;
use crate::repo::mutation::{AuditEntry, Mutation, MutationResult, mutate};
use crate::schema::audit_logs;
use crate::writer::UnitOutcome;

/// The audit log.
#[derive(Clone)]
pub struct AuditLog(pub(crate) Database);

/// A filter on audit records. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The action.
    pub action: Option<String>,
    /// The type of the changed resource.
    pub resource_type: Option<String>,
    /// The id of the changed resource.
    pub resource_id: Option<String>,
    /// The principal that made the change.
    pub principal: Option<String>,
    /// Earliest instant, inclusive.
    pub start_time: Option<Timestamp>,
    /// Latest instant, exclusive.
    pub end_time: Option<Timestamp>,
}

/// A row, in the order of the columns.
#[derive(Queryable)]
struct Row {
    id: String,
    principal: String,
    action: String,
    resource_type: String,
    resource_id: String,
    details: Option<String>,
    created_at: NaiveDateTime,
}

impl From<Row> for AuditRow {
    fn from(row: Row) -> Self {
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
    /// Returns a page of the records that match the filter, newest first, and the number of all matches.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn list(&self, filter: AuditFilter, page: Page) -> Result<(Vec<AuditRow>, i64), StoreError> {
        if is_impossible([&filter.action, &filter.resource_type, &filter.resource_id, &filter.principal]) {
            return Ok((Vec::new(), 0));
        }
        self.0
            .read(QueryOperation::new("audit", "list"), move |conn| {
                Box::pin(async move { list(conn, &filter, page).await })
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
            query = query.filter(audit_logs::action.eq(action.clone()));
        }
        if let Some(resource_type) = &$filter.resource_type {
            query = query.filter(audit_logs::resource_type.eq(resource_type.clone()));
        }
        if let Some(resource_id) = &$filter.resource_id {
            query = query.filter(audit_logs::resource_id.eq(resource_id.clone()));
        }
        if let Some(principal) = &$filter.principal {
            query = query.filter(audit_logs::principal.eq(principal.clone()));
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

async fn list(conn: &mut Conn, filter: &AuditFilter, page: Page) -> Result<(Vec<AuditRow>, i64), StoreError> {
    on!(conn, c: Db => {
        let rows = filtered!(Db, filter)
            .order((audit_logs::created_at.desc(), audit_logs::id.desc()))
            .limit(page.limit)
            .offset(page.offset)
            .load::<Row>(c)
            .await?;
        let total = filtered!(Db, filter).count().get_result::<i64>(c).await?;
        Ok((rows.into_iter().map(AuditRow::from).collect(), total))
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
