//! Reads of the ledger.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::OccurrenceStatus;
use svc_model::{Page, Timestamp};

use super::conditions::IsPending;
use super::model::{
    Backlog, OccurrenceFilter, OccurrencePage, OccurrenceRecord, OccurrenceRow, ScheduleStatus,
};
use super::rows::columns;
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::{AnyOf, GroupConditions, StatusCount, any_of, find_tagged, is_one_of};
use crate::repo::keyset::{self, KeysetCondition};
use crate::repo::traces::TraceMode;
use crate::repo::{IDS_PER_QUERY, RowKey, sorted};
use crate::schema::{cron_occurrences, cron_schedule_state, cron_singletons, traces};

#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
struct Summary {
    id: String,
    channel_id: String,
    channel_name: String,
    trigger_kind: String,
    scheduled_for: NaiveDateTime,
    status: String,
    attempt: i64,
    started_at: Option<NaiveDateTime>,
    completed_at: Option<NaiveDateTime>,
    error_group: Option<String>,
    created_at: NaiveDateTime,
}

impl From<Summary> for OccurrenceRow {
    fn from(row: Summary) -> Self {
        Self {
            id: row.id,
            channel_id: row.channel_id,
            channel_name: row.channel_name,
            trigger: row.trigger_kind,
            scheduled_for: Timestamp::from_naive(row.scheduled_for),
            status: row.status,
            attempt: row.attempt,
            started_at: row.started_at.map(Timestamp::from_naive),
            completed_at: row.completed_at.map(Timestamp::from_naive),
            error_group: row.error_group,
            created_at: Timestamp::from_naive(row.created_at),
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
struct Full {
    #[diesel(embed)]
    row: Summary,
    channel_version: i64,
    executing_version: Option<i64>,
    workflow_id: Option<String>,
    claimed_by: Option<String>,
    claimed_until: Option<NaiveDateTime>,
    singleton_key: Option<String>,
    fencing_token: Option<i64>,
    singleton_slot: Option<i64>,
    trace_id: Option<String>,
    error_message: Option<String>,
    cancel_requested_at: Option<NaiveDateTime>,
    cancelled_by: Option<String>,
    workflow_version: Option<i64>,
    updated_at: NaiveDateTime,
}

impl From<Full> for OccurrenceRecord {
    fn from(full: Full) -> Self {
        Self {
            row: full.row.into(),
            channel_version: full.channel_version,
            executing_version: full.executing_version,
            workflow_id: full.workflow_id,
            claimed_by: full.claimed_by,
            claimed_until: full.claimed_until.map(Timestamp::from_naive),
            singleton_key: full.singleton_key,
            fencing_token: full.fencing_token,
            singleton_slot: full.singleton_slot,
            trace_id: full.trace_id,
            error_message: full.error_message,
            cancel_requested_at: full.cancel_requested_at.map(Timestamp::from_naive),
            cancelled_by: full.cancelled_by,
            workflow_version: full.workflow_version,
            updated_at: Timestamp::from_naive(full.updated_at),
        }
    }
}

/// The conditions of a filter whose values are looked up first.
struct Resolved {
    /// Ids of the channels with the tag.
    tagged: Option<AnyOf>,
    groups: Option<AnyOf>,
    /// Ids of the occurrences whose runs left the traces; `None` if a trace does not name its occurrence.
    traced: Option<AnyOf>,
}

impl Resolved {
    async fn load(conn: &mut Conn, filter: &OccurrenceFilter) -> Result<Self, StoreError> {
        let tagged = match &filter.tag {
            Some(tag) => Some(find_tagged(conn, tag).await?.ids),
            None => None,
        };
        let conditions = GroupConditions {
            groups: filter.error_group.as_ref(),
            tasks: filter.task.as_ref(),
            codes: filter.error_code.as_ref(),
            workflows: None,
        };
        let traced = match &filter.trace_id {
            Some(ids) => find_traced(conn, ids).await?,
            None => None,
        };
        Ok(Self { tagged, groups: conditions.resolve(conn).await?, traced })
    }
}

/// Returns the occurrences whose runs left these traces, by the keys of the runs: occurrences have no index on their
/// trace. `None` if a trace has no key, being of an earlier release.
async fn find_traced(conn: &mut Conn, ids: &AnyOf) -> Result<Option<AnyOf>, StoreError> {
    let keys = traces::table
        .filter(traces::id.eq_any(ids.storable()))
        .filter(traces::mode.eq(TraceMode::Cron.name()))
        .select(traces::run_key);
    let keys: Vec<Option<String>> = on!(conn, c => keys.load(c).await)?;
    let keys: Option<Vec<String>> = keys.into_iter().collect();
    Ok(keys.map(AnyOf::new))
}

macro_rules! filtered {
    ($db:ident, $filter:expr, $resolved:expr) => {{
        let mut query = cron_occurrences::table.into_boxed::<$db>();
        for channels in [&$filter.channel_id, &$resolved.tagged].into_iter().flatten() {
            query = any_of!(query, cron_occurrences::channel_id, channels);
        }
        if let Some(names) = &$filter.channel {
            query = any_of!(query, cron_occurrences::channel_name, names);
        }
        if let Some(status) = &$filter.status {
            query = any_of!(query, cron_occurrences::status, status);
        }
        if let Some(workflow) = &$filter.workflow {
            query = any_of!(query, cron_occurrences::workflow_id, workflow);
        }
        if !$filter.versions.is_empty() {
            query = query.filter(cron_occurrences::executing_version.eq_any($filter.versions.clone()));
        }
        if let Some(groups) = &$resolved.groups {
            query = any_of!(query, cron_occurrences::error_group, groups);
        }
        if let Some(ids) = &$filter.trace_id {
            query = any_of!(query, cron_occurrences::trace_id, ids);
        }
        for ids in [&$filter.run_key, &$resolved.traced].into_iter().flatten() {
            query = any_of!(query, cron_occurrences::id, ids);
        }
        if let Some(since) = $filter.since {
            query = query.filter(cron_occurrences::scheduled_for.ge(since.naive()));
        }
        if let Some(until) = $filter.until {
            query = query.filter(cron_occurrences::scheduled_for.le(until.naive()));
        }
        query
    }};
}

/// Reads one row more than the page holds, to know whether more follow.
pub(super) async fn list(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    page: Page,
    after: Option<RowKey>,
) -> Result<OccurrencePage, StoreError> {
    let resolved = Resolved::load(conn, filter).await?;
    let descending = !filter.oldest_first;
    let (mut rows, total): (Vec<Summary>, i64) = on!(conn, c: Db => {
        let mut rows = filtered!(Db, filter, resolved).select(columns::<Summary>());
        if let Some(key) = after {
            rows = rows.filter(match descending {
                true => KeysetCondition::newest_first(key),
                false => KeysetCondition::oldest_first(key),
            });
        }
        rows = sorted!(rows, cron_occurrences::created_at, descending);
        rows = match descending {
            true => rows.then_order_by(cron_occurrences::id.desc()),
            false => rows.then_order_by(cron_occurrences::id.asc()),
        };
        let rows = rows.limit(page.limit.saturating_add(1)).offset(page.offset).load(c).await?;
        (rows, filtered!(Db, filter, resolved).count().get_result(c).await?)
    });
    let counts = match filter.include_counts {
        true => Some(count_by_status(conn, filter, &resolved).await?),
        false => None,
    };
    let limit = usize::try_from(page.limit).unwrap_or_default();
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    let next_cursor = last.map(|row| {
        keyset::encode(filter.cursor_kind(), &RowKey { created_at: row.created_at, id: row.id.clone() })
    });
    let rows = rows.into_iter().map(OccurrenceRow::from).collect();
    Ok(OccurrencePage { rows, total, counts, next_cursor })
}

/// Counts the rows that the filter selects, by status.
async fn count_by_status(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    resolved: &Resolved,
) -> Result<BTreeMap<String, i64>, StoreError> {
    let conditions = [
        ("channel_id", filter.channel_id.as_ref()),
        ("channel_id", resolved.tagged.as_ref()),
        ("channel_name", filter.channel.as_ref()),
        ("workflow_id", filter.workflow.as_ref()),
        ("error_group", resolved.groups.as_ref()),
        ("trace_id", filter.trace_id.as_ref()),
        ("id", filter.run_key.as_ref()),
        ("id", resolved.traced.as_ref()),
    ];
    let conditions = conditions.into_iter().filter_map(|(column, values)| Some((column, values?)));
    let count = StatusCount {
        table: "cron_occurrences",
        time: "scheduled_for",
        until_operator: "<=",
        statuses: OccurrenceStatus::ALL.map(OccurrenceStatus::name).to_vec(),
        conditions: conditions.collect(),
        texts: is_one_of("executing_version", &filter.versions).into_iter().collect(),
        indexed: "",
        selective: &["error_group", "id"],
        since: filter.since,
        until: filter.until,
    };
    count.count(conn).await
}

pub(super) async fn get(conn: &mut Conn, id: &str) -> Result<Option<OccurrenceRecord>, StoreError> {
    let row = cron_occurrences::table.find(id).select(columns::<Full>());
    let record: Option<Full> = on!(conn, c => row.first(c).await.optional())?;
    Ok(record.map(OccurrenceRecord::from))
}

type Last = (String, String, NaiveDateTime, Option<NaiveDateTime>);

/// Returns the cursors of these channels, each with its newest occurrence and its backlog.
pub(super) async fn status(conn: &mut Conn, ids: &[String]) -> Result<Vec<ScheduleStatus>, StoreError> {
    let mut statuses = Vec::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let newest = cron_occurrences::table
            .filter(cron_occurrences::channel_id.eq(cron_schedule_state::channel_id))
            .order((cron_occurrences::created_at.desc(), cron_occurrences::id.desc()))
            .limit(1)
            .select(cron_occurrences::id)
            .single_value();
        let cursors = cron_schedule_state::table
            .filter(cron_schedule_state::channel_id.eq_any(ids))
            .order(cron_schedule_state::channel_id.asc())
            .select((
                cron_schedule_state::channel_id,
                cron_schedule_state::next_fire_at,
                cron_schedule_state::paused_at,
                newest,
            ));
        type Row = (String, NaiveDateTime, Option<NaiveDateTime>, Option<String>);
        let cursors: Vec<Row> = on!(conn, c => cursors.load(c).await)?;
        let newest: Vec<&String> = cursors.iter().filter_map(|(.., id)| id.as_ref()).collect();
        let last = cron_occurrences::table.filter(cron_occurrences::id.eq_any(newest)).select((
            cron_occurrences::channel_id,
            cron_occurrences::status,
            cron_occurrences::scheduled_for,
            cron_occurrences::completed_at,
        ));
        let last: Vec<Last> = on!(conn, c => last.load(c).await)?;
        let mut last: HashMap<String, Last> = last.into_iter().map(|row| (row.0.clone(), row)).collect();
        let pending = cron_occurrences::table
            .filter(IsPending)
            .filter(cron_occurrences::channel_id.eq_any(ids))
            .group_by(cron_occurrences::channel_id)
            .select((cron_occurrences::channel_id, diesel::dsl::count_star()));
        let pending: Vec<(String, i64)> = on!(conn, c => pending.load(c).await)?;
        let pending: HashMap<String, i64> = pending.into_iter().collect();
        statuses.extend(cursors.into_iter().map(|(channel_id, next_fire_at, paused_at, _)| {
            let last = last.remove(&channel_id);
            ScheduleStatus {
                next_fire_at: Timestamp::from_naive(next_fire_at),
                paused_at: paused_at.map(Timestamp::from_naive),
                last_status: last.as_ref().map(|(_, status, ..)| status.clone()),
                last_scheduled_for: last.as_ref().map(|(_, _, due, _)| Timestamp::from_naive(*due)),
                last_completed_at: last.and_then(|(.., ended)| ended).map(Timestamp::from_naive),
                pending: pending.get(&channel_id).copied().unwrap_or_default(),
                channel_id,
            }
        }));
    }
    Ok(statuses)
}

/// Returns the number of live slots per key. Keys without live slots are omitted.
pub(super) async fn slots_held(conn: &mut Conn, keys: &[String]) -> Result<HashMap<String, i64>, StoreError> {
    let mut counts = HashMap::new();
    for keys in keys.chunks(IDS_PER_QUERY) {
        let live = cron_singletons::table
            .filter(cron_singletons::singleton_key.eq_any(keys))
            .filter(cron_singletons::lease_until.ge(Now))
            .group_by(cron_singletons::singleton_key)
            .select((cron_singletons::singleton_key, diesel::dsl::count_star()));
        counts.extend(on!(conn, c => live.load::<(String, i64)>(c).await)?);
    }
    Ok(counts)
}

pub(super) async fn backlog(conn: &mut Conn) -> Result<Backlog, StoreError> {
    // What rests until a resume waits for no worker.
    let waiting =
        || cron_occurrences::table.filter(IsPending).filter(cron_occurrences::awaited_channel.is_null());
    let oldest = waiting().select(diesel::dsl::min(cron_occurrences::scheduled_for));
    let pending: i64 = on!(conn, c => waiting().count().get_result(c).await)?;
    let oldest: Option<NaiveDateTime> = on!(conn, c => oldest.get_result(c).await)?;
    let now = clock::now(conn).await?;
    Ok(Backlog { pending, oldest_pending_secs: oldest.map(|due| (now - due).num_seconds().max(0)) })
}
