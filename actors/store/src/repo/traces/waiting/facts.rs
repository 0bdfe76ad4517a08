//! The facts by which the wait of accepted work is explained.

use chrono::NaiveDateTime;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use svc_ledger::{PausedCallee, WorkFacts, WorkOwner, WorkState};

use super::claim::TAKES_SHARE;
use super::lines::IN_LINE;
use super::model::WaitReason;
use crate::clock;
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::channel_pauses::{self, find_channel_name};
use crate::repo::traces::read::LenientTimestamp;
use crate::repo::traces::{TraceMode, TraceStatus};
use crate::schema::{nodes, traces};

/// The columns of the row that have the reason of its wait.
#[derive(Queryable, Selectable)]
#[diesel(table_name = traces)]
struct Row {
    id: String,
    channel: String,
    channel_id: Option<String>,
    status: String,
    created_at: LenientTimestamp,
    updated_at: LenientTimestamp,
    owner: Option<String>,
    next_retry_at: Option<LenientTimestamp>,
    waiting: Option<String>,
    waits_until: Option<LenientTimestamp>,
    queue_channel: Option<String>,
    queue_key: Option<String>,
    attempt: i64,
    attempt_of: Option<String>,
    awaited_channel: Option<String>,
}

impl Row {
    fn created_at(&self) -> NaiveDateTime {
        self.created_at.0.unwrap_or_default()
    }

    fn waits_until(&self) -> Option<NaiveDateTime> {
        self.waits_until.and_then(|until| until.0)
    }
}

/// Reads the facts about accepted work; `None` if it has ended, is no accepted work, or does not exist.
pub(super) async fn read(conn: &mut Conn, id: &str) -> Result<Option<WorkFacts>, StoreError> {
    let row = traces::table
        .find(id)
        .filter(traces::mode.eq(TraceMode::Async.name()))
        .select(<Row as Selectable<diesel::sqlite::Sqlite>>::construct_selection());
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    let Some(mut row) = row else { return Ok(None) };
    if row.attempt > 1
        && row.attempt_of.is_none()
        && let Some(attempt) = find_open_attempt(conn, id).await?
    {
        // The work is where its newest attempt is.
        row = Row { channel_id: row.channel_id.or(attempt.channel_id), ..attempt };
    }
    let now = clock::now(conn).await?;
    let Some(state) = read_state(conn, &row, now).await? else { return Ok(None) };
    let pause = match &row.channel_id {
        Some(channel) => channel_pauses::find(conn, std::slice::from_ref(channel)).await?.into_iter().next(),
        None => None,
    };
    Ok(Some(WorkFacts {
        since: row.updated_at.0.unwrap_or_else(|| row.created_at()),
        channel: row.channel,
        now,
        state,
        pause: pause.map(|(_, pause)| pause),
        quarantine: None,
    }))
}

/// Returns the newest attempt at work, if it has not ended.
async fn find_open_attempt(conn: &mut Conn, work: &str) -> Result<Option<Row>, StoreError> {
    let open = [TraceStatus::Pending, TraceStatus::Running, TraceStatus::Scheduled, TraceStatus::Waiting];
    let newest = traces::table
        .filter(traces::attempt_of.eq(work))
        .filter(traces::status.eq_any(open.map(TraceStatus::name)))
        .order(traces::attempt.desc())
        .limit(1)
        .select(<Row as Selectable<diesel::sqlite::Sqlite>>::construct_selection());
    Ok(on!(conn, c => newest.first(c).await.optional())?)
}

/// Returns the paused channel that a row waits for, unless it is its own.
async fn find_callee(conn: &mut Conn, row: &Row) -> Result<Option<PausedCallee>, StoreError> {
    let Some(id) = row.awaited_channel.clone().filter(|id| row.channel_id.as_ref() != Some(id)) else {
        return Ok(None);
    };
    let channel = find_channel_name(conn, &id).await?.unwrap_or_else(|| id.clone());
    let pause = channel_pauses::find(conn, &[id]).await?.into_iter().next();
    Ok(pause.map(|(_, pause)| PausedCallee { channel, pause }))
}

async fn read_state(conn: &mut Conn, row: &Row, now: NaiveDateTime) -> Result<Option<WorkState>, StoreError> {
    let until = row.waits_until().unwrap_or(now);
    Ok(Some(match TraceStatus::parse(&row.status) {
        Some(TraceStatus::Pending) => {
            let before = count_queued_before(conn, row).await?;
            WorkState::Queued { owner: read_owner(conn, row).await?, before }
        }
        Some(TraceStatus::Running) => WorkState::Running { owner: read_owner(conn, row).await? },
        Some(TraceStatus::Scheduled) => WorkState::Scheduled { until },
        Some(TraceStatus::Retrying) => WorkState::Retrying { until: row.next_retry_at.and_then(|due| due.0) },
        Some(TraceStatus::Waiting) => match row.waiting.as_deref().and_then(WaitReason::parse) {
            Some(WaitReason::Paused) => WorkState::Paused {
                before: count_paused_before(conn, row).await?,
                called: find_callee(conn, row).await?,
            },
            Some(WaitReason::Scheduled) => WorkState::Scheduled { until },
            Some(WaitReason::Share) => match (&row.queue_channel, row.waits_until()) {
                (Some(channel), None) => read_line(conn, row, channel).await?,
                _ => WorkState::Refused { until },
            },
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// Reads the node that the row belongs to, with its lease.
async fn read_owner(conn: &mut Conn, row: &Row) -> Result<Option<WorkOwner>, StoreError> {
    let Some(node) = row.owner.clone() else { return Ok(None) };
    let lease = nodes::table.find(&node).select(nodes::lease_until);
    let lease: Option<LenientTimestamp> = on!(conn, c => lease.first(c).await.optional())?;
    Ok(Some(WorkOwner { node, lease_until: lease.and_then(|until| until.0) }))
}

/// Counts the accepted work that the same node queued before.
async fn count_queued_before(conn: &mut Conn, row: &Row) -> Result<i64, StoreError> {
    let Some(owner) = &row.owner else { return Ok(0) };
    let created = row.created_at();
    let is_older = traces::created_at.lt(created);
    let before = traces::table
        .filter(traces::status.eq(TraceStatus::Pending.name()))
        .filter(traces::mode.eq(TraceMode::Async.name()))
        .filter(traces::owner.eq(owner))
        .filter(is_older.or(traces::created_at.eq(created).and(traces::id.lt(&row.id))))
        .count();
    Ok(on!(conn, c => before.get_result(c).await)?)
}

/// Counts the rows that wait longer for the resume of the same channel.
async fn count_paused_before(conn: &mut Conn, row: &Row) -> Result<i64, StoreError> {
    let Some(channel) = &row.channel_id else { return Ok(0) };
    let created = row.created_at();
    let is_older = traces::created_at.lt(created);
    let before = traces::table
        .filter(sql::<Bool>("traces.waiting = 'paused'"))
        .filter(traces::channel_id.eq(channel))
        .filter(is_older.or(traces::created_at.eq(created).and(traces::id.lt(&row.id))))
        .count();
    Ok(on!(conn, c => before.get_result(c).await)?)
}

/// Reads the place of a row in the line of its key, and the work that has a share: of the same key, else of any.
async fn read_line(conn: &mut Conn, row: &Row, channel: &str) -> Result<WorkState, StoreError> {
    let key = row.queue_key.clone().unwrap_or_default();
    let created = row.created_at();
    let is_older = traces::created_at.lt(created);
    let before = traces::table
        .filter(sql::<Bool>(IN_LINE))
        .filter(traces::queue_channel.eq(channel))
        .filter(traces::queue_key.eq(&key))
        .filter(is_older.or(traces::created_at.eq(created).and(traces::id.lt(&row.id))))
        .count();
    let before: i64 = on!(conn, c => before.get_result(c).await)?;
    let of_key = find_taken(conn, channel, Some(&key)).await?;
    let is_of_key = of_key.is_some();
    let holder = match of_key {
        Some(holder) => Some(holder),
        None => find_taken(conn, channel, None).await?,
    };
    Ok(WorkState::InLine { key, before, holder, is_of_key })
}

/// Returns the oldest work that has a share of a channel, of one key if it is given.
async fn find_taken(conn: &mut Conn, channel: &str, key: Option<&str>) -> Result<Option<String>, StoreError> {
    Ok(on!(conn, c: Db => {
        let mut query = traces::table
            .select(traces::id)
            .filter(sql::<Bool>(TAKES_SHARE))
            .filter(traces::queue_channel.eq(channel))
            .into_boxed::<Db>();
        if let Some(key) = key {
            query = query.filter(traces::queue_key.eq(key));
        }
        query.order((traces::created_at.asc(), traces::id.asc())).first::<String>(c).await.optional()
    })?)
}
