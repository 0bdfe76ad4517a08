//! Reads of the ledger.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::OccurrenceStatus;
use svc_model::{Page, Timestamp};

use super::conditions::IsPending;
use super::keys::{self, Resolved};
use super::model::{
    Backlog, OccurrenceFilter, OccurrencePage, OccurrenceRecord, OccurrenceRow, ScheduleStatus,
};
use super::rows::columns;
use crate::clock::{self, Now};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::filters::{StatusCount, is_one_of};
use crate::repo::{IDS_PER_QUERY, RowKey, keyset, sorted};
use crate::schema::{cron_occurrences, cron_schedule_state, cron_singletons};

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

/// Returns a page of the occurrences that match.
pub(super) async fn list(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    page: Page,
    after: Option<RowKey>,
) -> Result<OccurrencePage, StoreError> {
    let resolved = Resolved::load(conn, filter).await?;
    let found = keys::find(conn, filter, &resolved, page, after).await?;
    let descending = !filter.oldest_first;
    let ids: Vec<String> = found.keys.into_iter().map(|key| key.id).collect();
    let rows: Vec<Summary> = on!(conn, c: Db => {
        let rows = cron_occurrences::table.into_boxed::<Db>().filter(cron_occurrences::id.eq_any(ids));
        let rows = sorted!(rows.select(columns::<Summary>()), cron_occurrences::created_at, descending);
        let rows = match descending {
            true => rows.then_order_by(cron_occurrences::id.desc()),
            false => rows.then_order_by(cron_occurrences::id.asc()),
        };
        rows.load(c).await?
    });
    let total = match filter.without_total {
        true => None,
        false => Some(keys::count(conn, filter, &resolved).await?),
    };
    let counts = match filter.include_counts {
        true => Some(count_by_status(conn, filter, &resolved).await?),
        false => None,
    };
    Ok(OccurrencePage {
        rows: rows.into_iter().map(OccurrenceRow::from).collect(),
        total,
        counts,
        next_cursor: found.next.key.map(|key| keyset::encode(filter.cursor_kind(), &key)),
        scanned_until: found.next.scanned_until,
    })
}

/// Counts the rows that the filter selects, by status.
async fn count_by_status(
    conn: &mut Conn,
    filter: &OccurrenceFilter,
    resolved: &Resolved,
) -> Result<BTreeMap<String, i64>, StoreError> {
    let conditions = [
        ("channel_id", resolved.channels.as_ref()),
        ("channel_name", filter.channel.as_ref()),
        ("workflow_id", filter.workflow.as_ref()),
        ("error_group", resolved.groups.as_ref()),
        ("trace_id", filter.trace_id.as_ref()),
        ("id", resolved.ids.as_ref()),
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
