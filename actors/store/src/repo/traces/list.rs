//! Lists of traces.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Double, Text};
use diesel_async::RunQueryDsl;
use svc_model::ServiceError;

use crate::config::Backend;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::{
    AnyOf, Continuation, FoundKeys, GroupConditions, MOST_SCANNED, MOST_SCANNED_FAST, any_of, find_tagged,
};
use crate::repo::keyset::{self, CursorKind, KeysetCondition};
use crate::repo::traces::merged::MergedRows;
use crate::repo::traces::read::{COLUMNS, Columns, LenientTimestamp};
use crate::repo::traces::scan::{self, IS_FAILED, ScanPlace};
use crate::repo::traces::{TraceMode, TracePage, TraceQuery, TraceStatus, counts};
use crate::repo::{RowKey, sorted};
use crate::schema::traces;

/// Column of the status of a row.
const STATUS: &str = "status";
/// Prevents SQLite from using the index on the status. Without statistics it would choose that index for any status and
/// sort all rows it finds, possibly the whole table. The plus sign disables the index.
const STATUS_WITHOUT_INDEX: &str = "+status";

/// Rows that a filter on run keys may select at most: a key has a few, one for each run under it.
const MOST_KEYED: i64 = 10_000;

/// A query with a decoded cursor.
pub(super) struct Listing {
    query: TraceQuery,
    after: Option<RowKey>,
    descending: bool,
    /// Names of the channels with the tag of the query.
    tagged: Option<AnyOf>,
    /// Ids of the rows with the run keys of the query.
    keyed: Option<AnyOf>,
}

impl Listing {
    /// Creates a listing.
    ///
    /// # Errors
    /// 400 for an invalid cursor, or a cursor together with an offset or another order.
    pub(super) fn new(mut query: TraceQuery) -> Result<Self, ServiceError> {
        let order = query.order.as_deref().or(query.sort_order.as_deref());
        let descending = order != Some("asc");
        let cursor = query.cursor.take();
        let mut listing = Self { query, after: None, descending, tagged: None, keyed: None };
        if cursor.is_some() && !(listing.goes_by_cursor() && listing.query.page.offset == 0) {
            return Err(ServiceError::validation(
                "query parameter 'cursor' goes with neither an offset nor another order than the default",
            ));
        }
        listing.after = cursor.map(|cursor| keyset::decode(listing.cursor_kind(), &cursor)).transpose()?;
        Ok(listing)
    }

    fn cursor_kind(&self) -> CursorKind {
        if self.descending { CursorKind::Traces } else { CursorKind::TracesOldestFirst }
    }

    /// Returns whether the order is one that a cursor goes on in.
    fn goes_by_cursor(&self) -> bool {
        self.is_by_time() && (self.descending || self.query.order.is_some())
    }

    fn is_by_time(&self) -> bool {
        matches!(self.query.sort_by.as_deref(), None | Some("created_at"))
    }

    fn is_failed_only(&self) -> bool {
        self.query.status.as_ref().is_some_and(|status| status.is_only(TraceStatus::Failed.name()))
    }

    /// Returns whether the query scans rows in the order of time until enough match. That suits statuses of
    /// most rows, but not those for which an index finds the few matches.
    fn walks(&self) -> bool {
        let query = &self.query;
        let is_usual = query.status.as_ref().is_some_and(|status| {
            let ended = [TraceStatus::Completed, TraceStatus::Failed];
            ended.iter().any(|ended| status.values().iter().any(|status| status == ended.name()))
        });
        self.is_by_time() && is_usual && !self.is_found_by_index()
    }

    /// Returns whether an index finds the rows that match.
    fn is_found_by_index(&self) -> bool {
        let query = &self.query;
        let is_open = query.status.as_ref().is_some_and(|status| {
            let is_open = |name: &String| TraceStatus::parse(name).is_some_and(|status| !status.is_end());
            status.values().iter().all(is_open)
        });
        let is_pair = query.status.is_some()
            && query.channel.is_some()
            && query.mode.is_some()
            && !self.is_failed_only()
            && !self.has_other_words();
        let is_failed_request = query.request_id.is_some() && self.is_failed_only();
        let is_named = query.trace_id.is_some() || query.rerun_of.is_some() || query.run_key.is_some();
        is_open || is_pair || is_failed_request || is_named
    }

    /// Returns whether there are conditions on other columns than those of the index of statuses, and the tag.
    fn has_other_words(&self) -> bool {
        let query = &self.query;
        query.workflow_id.is_some()
            || !query.workflow_versions.is_empty()
            || query.request_id.is_some()
            || query.trace_id.is_some()
            || query.run_key.is_some()
            || query.error_code.is_some()
            || query.error_group.is_some()
            || query.rerun_of.is_some()
            || query.min_duration_ms.is_some()
    }

    /// Returns the rows of the channels or the statuses of the query, if indexes have them in their order.
    fn merged(&self) -> Option<MergedRows> {
        let query = &self.query;
        if !self.goes_by_cursor() || query.page.offset != 0 || self.has_other_words() {
            return None;
        }
        let statuses = select(TraceStatus::ALL, TraceStatus::name, query.status.as_ref());
        let channels = match (&query.channel, &self.tagged) {
            (Some(channels), Some(tagged)) => {
                let mut both = channels.storable();
                both.retain(|channel| tagged.values().contains(channel));
                Some(both)
            }
            (Some(channels), None) | (None, Some(channels)) => Some(channels.storable()),
            (None, None) => None,
        };
        let mut rows = match channels {
            Some(channels) => {
                let modes = select(TraceMode::ALL, TraceMode::name, query.mode.as_ref());
                MergedRows::of_channels(&distinct(channels), &statuses, &modes)
            }
            None if query.mode.is_none() && !self.is_failed_only() => MergedRows::of_statuses(&statuses),
            None => None,
        }?;
        rows.attempts = query.attempts;
        (rows.since, rows.until) = (query.since, query.until);
        rows.after = self.after.clone().map(|key| self.after_key(key));
        rows.descending = self.descending;
        rows.limit = query.page.limit.saturating_add(1);
        Some(rows)
    }

    /// Returns whether the conditions may leave out so many rows that what one call reads has to be bounded.
    fn is_bounded(&self) -> bool {
        let query = &self.query;
        let leaves_out = (query.status.is_some() && !self.is_failed_only())
            || query.channel.is_some()
            || query.mode.is_some()
            || query.workflow_id.is_some()
            || !query.workflow_versions.is_empty()
            || query.request_id.is_some()
            || query.error_code.is_some()
            || query.error_group.is_some()
            || query.min_duration_ms.is_some()
            || query.tag.is_some();
        self.goes_by_cursor() && query.page.offset == 0 && leaves_out && !self.is_found_by_index()
    }

    pub(super) async fn load(mut self, conn: &mut Conn) -> Result<TracePage, StoreError> {
        self.resolve(conn).await?;
        let found = self.find(conn).await?;
        let end = match found.is_none() && self.is_bounded() {
            true => self.window_end(conn).await?,
            false => None,
        };
        let keys = found.as_ref().map(|found| &*found.keys);
        let mut rows = self.rows(conn, end.clone(), keys).await?;
        let query = &self.query;
        let total = if query.include_total { Some(self.count(conn).await?) } else { None };
        let counts = match query.include_counts {
            true => {
                let looked_up = (self.tagged.as_ref(), self.keyed.as_ref());
                Some(counts::count_by_status(conn, query, looked_up).await?)
            }
            false => None,
        };
        let next = match found {
            Some(found) => found.next,
            None => self.cut(&mut rows, end),
        };
        let next_cursor = next.key.map(|key| keyset::encode(self.cursor_kind(), &key));
        let rows = rows.into_iter().filter_map(Columns::into_row).collect();
        Ok(TracePage { rows, total, counts, next_cursor, scanned_until: next.scanned_until })
    }

    /// Finds the keys of the page, if an index has its rows in their order.
    async fn find(&self, conn: &mut Conn) -> Result<Option<FoundKeys>, StoreError> {
        let page = self.query.page;
        if let Some(rows) = self.merged() {
            return Ok(Some(FoundKeys::cut(rows.find(conn).await?, page.limit, None)));
        }
        let place = ScanPlace { after: self.after.clone(), descending: self.descending, page };
        let scan = match self.goes_by_cursor() && page.offset == 0 {
            true => scan::scan(&self.query, self.tagged.as_ref(), self.is_failed_only(), place),
            false => None,
        };
        match scan {
            Some(scan) => Ok(Some(scan.find(conn).await?)),
            None => Ok(None),
        }
    }

    /// Cuts the rows to the page, and returns the place at which the list goes on.
    fn cut(&self, rows: &mut Vec<Columns>, end: Option<RowKey>) -> Continuation {
        let limit = usize::try_from(self.query.page.limit).unwrap_or_default();
        let more = rows.len() > limit;
        rows.truncate(limit);
        // The key of the last row with a readable time.
        let last = rows
            .iter()
            .rev()
            .find_map(|columns| Some(RowKey { created_at: columns.created_at.0?, id: columns.id.clone() }));
        match self.goes_by_cursor() {
            true => Continuation::after(last.filter(|_| more), end),
            false => Continuation::default(),
        }
    }

    /// Replaces the tag by the channels that have it, the run keys by the rows that have them, and the task by the groups
    /// of its errors.
    async fn resolve(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        let query = &mut self.query;
        if let Some(tags) = &query.tag {
            self.tagged = Some(find_tagged(conn, tags).await?.names);
        }
        if let Some(keys) = &query.run_key {
            self.keyed = Some(find_keyed(conn, keys).await?);
        }
        let conditions = GroupConditions {
            groups: query.error_group.as_ref(),
            tasks: query.task.as_ref(),
            codes: None,
            workflows: None,
        };
        query.error_group = conditions.resolve(conn).await?;
        Ok(())
    }

    /// Returns the key of the last row that this call may read, if more follow.
    async fn window_end(&self, conn: &mut Conn) -> Result<Option<RowKey>, StoreError> {
        // Failed rows are far from each other.
        let is_fast = self.query.workflow_id.is_some()
            || !self.query.workflow_versions.is_empty()
            || self.is_failed_only();
        let most = if is_fast { MOST_SCANNED_FAST } else { MOST_SCANNED };
        let row: Option<(LenientTimestamp, String)> = on!(conn, c: Db => {
            let mut query = traces::table.select((traces::created_at, traces::id)).into_boxed::<Db>();
            if self.is_failed_only() {
                query = query.filter(sql::<Bool>(IS_FAILED));
            }
            query = in_range!(query, self.query);
            if let Some(key) = self.after.clone() {
                query = query.filter(self.after_key(key));
            }
            query = match self.descending {
                true => query.order((traces::created_at.desc(), traces::id.desc())),
                false => query.order((traces::created_at.asc(), traces::id.asc())),
            };
            query.limit(1).offset(most - 1).first(c).await.optional()
        })?;
        Ok(row.and_then(|(created_at, id)| Some(RowKey { created_at: created_at.0?, id })))
    }

    fn after_key(&self, key: RowKey) -> KeysetCondition {
        if self.descending { KeysetCondition::newest_first(key) } else { KeysetCondition::oldest_first(key) }
    }

    /// Reads one row more than the page holds, to know whether more follow; none behind `end`. With keys that were `found`
    /// it reads their rows.
    async fn rows(
        &self,
        conn: &mut Conn,
        end: Option<RowKey>,
        found: Option<&[RowKey]>,
    ) -> Result<Vec<Columns>, StoreError> {
        let (page, descending) = (self.query.page, self.descending);
        let is_sqlite = conn.backend() == Backend::Sqlite;
        // The index of failed rows looks as good to SQLite, and has no groups.
        let is_grouped = is_sqlite && self.query.error_group.is_some();
        let status = if (is_sqlite && self.walks()) || is_grouped { STATUS_WITHOUT_INDEX } else { STATUS };
        let is_failed_only = self.is_failed_only() && !is_grouped;
        Ok(on!(conn, c: Db => {
            // By their ids alone: SQLite would take the index of another condition for as good.
            let rows = match found {
                Some(_) => traces::table.into_boxed::<Db>(),
                None => filtered!(Db, self, status, is_failed_only),
            };
            let mut query = rows.select(COLUMNS);
            if let Some(found) = found {
                let ids: Vec<String> = found.iter().map(|key| key.id.clone()).collect();
                query = query.filter(traces::id.eq_any(ids));
            } else if let Some(key) = self.after.clone() {
                query = query.filter(self.after_key(key));
            }
            if let Some(end) = end {
                query = query.filter(match descending {
                    true => KeysetCondition::newest_first_up_to(end),
                    false => KeysetCondition::oldest_first_up_to(end),
                });
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
        Ok(on!(conn, c: Db => {
            filtered!(Db, self, STATUS, false).count().get_result::<i64>(c).await
        })?)
    }
}

/// Returns the members of a set whose names a condition takes; all of them without one.
fn select<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    condition: Option<&AnyOf>,
) -> Vec<T> {
    let is_taken =
        |member: T| condition.is_none_or(|values| values.values().iter().any(|value| value == name(member)));
    all.into_iter().filter(|member| is_taken(*member)).collect()
}

/// Returns the texts without those that are there twice.
fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Returns the ids of the rows of runs with these keys. A row without a key has its id as such.
pub(in crate::repo) async fn find_keyed(conn: &mut Conn, keys: &AnyOf) -> Result<AnyOf, StoreError> {
    let keys = keys.storable();
    let same = traces::table
        .filter(traces::id.eq_any(keys.clone()))
        .filter(traces::run_key.is_null())
        .select(traces::id);
    let mut ids: Vec<String> = on!(conn, c => same.load(c).await)?;
    let keyed = traces::table
        .filter(traces::run_key.is_not_null())
        .filter(traces::run_key.assume_not_null().eq_any(keys))
        .limit(MOST_KEYED)
        .select(traces::id);
    let keyed: Vec<String> = on!(conn, c => keyed.load(c).await)?;
    ids.extend(keyed);
    Ok(AnyOf::new(ids))
}

/// Restricts a boxed query to the range of time.
macro_rules! in_range {
    ($boxed:expr, $query:expr) => {{
        let mut query = $boxed;
        if let Some(since) = $query.since {
            query = query.filter(traces::created_at.ge(since.naive()));
        }
        if let Some(until) = $query.until {
            query = query.filter(traces::created_at.lt(until.naive()));
        }
        query
    }};
}
use in_range;

macro_rules! filtered {
    ($db:ident, $listing:expr, $status:expr, $is_failed_only:expr) => {{
        let mut query = traces::table.into_boxed::<$db>();
        if !$listing.query.attempts {
            query = query.filter(traces::attempt_of.is_null());
        }
        if $is_failed_only {
            query = query.filter(sql::<Bool>(IS_FAILED));
        } else if let Some(status) = &$listing.query.status {
            query = any_of!(query, sql::<Text>($status), status);
        }
        for channels in [&$listing.query.channel, &$listing.tagged].into_iter().flatten() {
            query = any_of!(query, traces::channel, channels);
        }
        if let Some(mode) = &$listing.query.mode {
            query = any_of!(query, traces::mode, mode);
        }
        if let Some(workflow) = &$listing.query.workflow_id {
            query = any_of!(query, traces::workflow_id, workflow);
        }
        if let Some(request) = &$listing.query.request_id {
            query = any_of!(query, traces::request_id, request);
        }
        if let Some(code) = &$listing.query.error_code {
            query = any_of!(query, traces::error_code, code);
        }
        if let Some(group) = &$listing.query.error_group {
            query = any_of!(query, traces::error_group, group);
        }
        for ids in [&$listing.query.trace_id, &$listing.keyed].into_iter().flatten() {
            query = any_of!(query, traces::id, ids);
        }
        if let Some(former) = &$listing.query.rerun_of {
            query = any_of!(query, traces::rerun_of, former);
        }
        if let Some(least) = $listing.query.min_duration_ms {
            #[expect(clippy::cast_precision_loss, reason = "a duration has far fewer digits")]
            let least = least as f64;
            query = query.filter(traces::duration_ms.ge(least));
        }
        if !$listing.query.workflow_versions.is_empty() {
            query = query.filter(traces::workflow_version.eq_any($listing.query.workflow_versions.clone()));
        }
        in_range!(query, $listing.query)
    }};
}
use filtered;
