//! Lists of traces.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Double, Text};
use diesel_async::RunQueryDsl;
use svc_model::ServiceError;

use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::keyset::{self, KeysetCondition};
use crate::repo::traces::read::{COLUMNS, Columns};
use crate::repo::traces::{TracePage, TraceQuery, TraceStatus};
use crate::repo::{RowKey, is_impossible, sorted};
use crate::schema::traces;

/// Condition on the status of a row.
const STATUS: &str = "status = ";
/// Prevents SQLite from using the index on the status. Without statistics it would choose that index for any status and
/// sort all rows it finds, possibly the whole table. The plus sign disables the index.
const STATUS_WITHOUT_INDEX: &str = "+status = ";

/// A query with a decoded cursor.
pub(super) struct Listing {
    query: TraceQuery,
    after: Option<RowKey>,
    descending: bool,
}

impl Listing {
    /// Creates a listing.
    ///
    /// # Errors
    /// 400 for an invalid cursor, or a cursor together with an offset or another order.
    pub(super) fn new(mut query: TraceQuery) -> Result<Self, ServiceError> {
        let descending = query.sort_order.as_deref() != Some("asc");
        let after = query.cursor.take().map(|cursor| keyset::decode(&cursor)).transpose()?;
        let listing = Self { query, after, descending };
        if listing.after.is_some() && !(listing.is_default_order() && listing.query.page.offset == 0) {
            return Err(ServiceError::validation(
                "query parameter 'cursor' goes with neither an offset nor another order than the default",
            ));
        }
        Ok(listing)
    }

    fn is_default_order(&self) -> bool {
        self.descending && self.is_by_time()
    }

    fn is_by_time(&self) -> bool {
        matches!(self.query.sort_by.as_deref(), None | Some("created_at"))
    }

    /// Returns whether the query scans rows in the order of time until enough match. That suits statuses of
    /// most rows, but not those for which an index finds the few matches.
    fn walks(&self) -> bool {
        let query = &self.query;
        let ended = [TraceStatus::Completed, TraceStatus::Failed];
        let is_usual = ended.iter().any(|status| query.status.as_deref() == Some(status.name()));
        let is_indexed = query.request_id.is_some();
        self.is_by_time() && is_usual && !is_indexed && !(query.channel.is_some() && query.mode.is_some())
    }

    pub(super) async fn load(self, conn: &mut Conn) -> Result<TracePage, StoreError> {
        let query = &self.query;
        if is_impossible([
            &query.status,
            &query.channel,
            &query.mode,
            &query.workflow_id,
            &query.request_id,
            &query.error_code,
        ]) {
            let total = query.include_total.then_some(0);
            return Ok(TracePage { rows: Vec::new(), total, next_cursor: None });
        }
        let mut rows = self.rows(conn).await?;
        let total = if query.include_total { Some(self.count(conn).await?) } else { None };
        let limit = usize::try_from(query.page.limit).unwrap_or_default();
        let more = rows.len() > limit;
        rows.truncate(limit);
        // The key of the last row with a readable time.
        let last = rows
            .iter()
            .rev()
            .find_map(|columns| Some(RowKey { created_at: columns.created_at.0?, id: columns.id.clone() }));
        let next_cursor = last.filter(|_| more && self.is_default_order()).map(|key| keyset::encode(&key));
        Ok(TracePage { rows: rows.into_iter().filter_map(Columns::into_row).collect(), total, next_cursor })
    }

    /// Reads one row more than the page holds, to know whether more follow.
    async fn rows(&self, conn: &mut Conn) -> Result<Vec<Columns>, StoreError> {
        let (page, descending) = (self.query.page, self.descending);
        let status =
            if conn.backend() == Backend::Sqlite && self.walks() { STATUS_WITHOUT_INDEX } else { STATUS };
        Ok(on!(conn, c: Db => {
            let mut query = filtered!(Db, self.query, status).select(COLUMNS);
            if let Some(key) = self.after.clone() {
                query = query.filter(KeysetCondition::newest_first(key));
            }
            query = match self.query.sort_by.as_deref() {
                Some("updated_at") => sorted!(query, traces::updated_at, descending),
                Some("status") => sorted!(query, traces::status, descending),
                Some("channel") => sorted!(query, traces::channel, descending),
                Some("mode") => sorted!(query, traces::mode, descending),
                Some("duration_ms") => sorted!(query, sql::<Double>("coalesce(duration_ms, -1)"), descending),
                Some("workflow_version") => {
                    sorted!(query, sql::<BigInt>("coalesce(workflow_version, 0)"), descending)
                }
                Some("error_code") => sorted!(query, sql::<Text>("coalesce(error_code, '')"), descending),
                _ => sorted!(query, traces::created_at, descending),
            };
            query = if descending {
                query.then_order_by(traces::id.desc())
            } else {
                query.then_order_by(traces::id.asc())
            };
            query.limit(page.limit.saturating_add(1)).offset(page.offset).load::<Columns>(c).await
        })?)
    }

    async fn count(&self, conn: &mut Conn) -> Result<i64, StoreError> {
        Ok(on!(conn, c: Db => filtered!(Db, self.query, STATUS).count().get_result::<i64>(c).await)?)
    }
}

macro_rules! filtered {
    ($db:ident, $query:expr, $status:expr) => {{
        let mut query = traces::table.into_boxed::<$db>();
        if !$query.attempts {
            query = query.filter(traces::attempt_of.is_null());
        }
        if let Some(status) = &$query.status {
            query = query.filter(sql::<Bool>($status).bind::<Text, _>(status.clone()));
        }
        if let Some(channel) = &$query.channel {
            query = query.filter(traces::channel.eq(channel.clone()));
        }
        if let Some(mode) = &$query.mode {
            query = query.filter(traces::mode.eq(mode.clone()));
        }
        if let Some(workflow) = &$query.workflow_id {
            query = query.filter(traces::workflow_id.eq(workflow.clone()));
        }
        if let Some(request) = &$query.request_id {
            query = query.filter(traces::request_id.eq(request.clone()));
            if $query.status.as_deref() == Some(TraceStatus::Failed.name()) {
                // As text, by which the database knows that the index of failed rows has them all.
                query = query.filter(sql::<Bool>("status = 'failed'"));
            }
        }
        if let Some(code) = &$query.error_code {
            query = query.filter(traces::error_code.eq(code.clone()));
        }
        if let Some(least) = $query.min_duration_ms {
            #[expect(clippy::cast_precision_loss, reason = "a duration has far fewer digits")]
            let least = least as f64;
            query = query.filter(traces::duration_ms.ge(least));
        }
        if let Some(since) = $query.since {
            query = query.filter(traces::created_at.ge(since.naive()));
        }
        if let Some(until) = $query.until {
            query = query.filter(traces::created_at.lt(until.naive()));
        }
        if let Some(version) = $query.workflow_version {
            query = query.filter(traces::workflow_version.eq(version));
        }
        query
    }};
}
use filtered;
