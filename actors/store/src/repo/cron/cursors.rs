//! The table of cursors.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{AlignRequest, Cursor};
use svc_model::EntityKind;

use super::bulk;
use super::model::AlignOutcome;
use super::rows::columns;
use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::connections::prepared::Prepared;
use crate::error::StoreError;
use crate::group::SingleCall;
use crate::repo::IDS_PER_QUERY;
use crate::schema::{cron_schedule_state as state, definitions};

#[derive(Queryable, Selectable)]
#[diesel(table_name = state)]
struct Row {
    channel_id: String,
    channel_version: i64,
    config_hash: String,
    next_fire_at: NaiveDateTime,
    paused_at: Option<NaiveDateTime>,
}

impl From<Row> for Cursor {
    fn from(row: Row) -> Self {
        Self {
            channel_id: row.channel_id,
            channel_version: row.channel_version,
            config_hash: row.config_hash,
            next_fire_at: row.next_fire_at,
            paused_at: row.paused_at,
        }
    }
}

pub(super) async fn load_cursors(conn: &mut Conn) -> Result<Vec<Cursor>, StoreError> {
    let rows = state::table.select(columns::<Row>()).order(state::channel_id.asc());
    let rows: Vec<Row> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(Cursor::from).collect())
}

/// Reads a cursor, without a lock.
pub(super) async fn find(conn: &mut Conn, channel_id: &str) -> Result<Option<Cursor>, StoreError> {
    let row = state::table.find(channel_id).select(columns::<Row>());
    let row: Option<Row> = on!(conn, c => row.first(c).await.optional())?;
    Ok(row.map(Cursor::from))
}

/// Locks and reads a cursor.
pub(super) async fn lock(conn: &mut Conn, channel_id: &str) -> Result<Option<Cursor>, StoreError> {
    let row = state::table.find(channel_id).select(columns::<Row>());
    let row: Option<Row> = match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_update().first(&mut **c).await.optional()?,
    };
    Ok(row.map(Cursor::from))
}

/// Locks and reads cursors, by their channels. A call that is alone waits for its cursor; a group gets all but for those
/// that another transaction has locked.
pub(super) async fn lock_all(
    conn: &mut Conn,
    channel_ids: &[&str],
    is_alone: bool,
) -> Result<HashMap<String, Cursor>, StoreError> {
    if let ([id], true) = (channel_ids, is_alone) {
        let cursor = lock(conn, id).await?;
        return Ok(cursor.map(|cursor| (cursor.channel_id.clone(), cursor)).into_iter().collect());
    }
    let rows = state::table.filter(state::channel_id.eq_any(channel_ids)).select(columns::<Row>());
    let rows: Vec<Row> = match conn {
        Conn::Sqlite(c) => rows.load(c).await?,
        Conn::Postgres(c) => rows.for_update().skip_locked().load(&mut **c).await?,
    };
    Ok(rows.into_iter().map(|row| (row.channel_id.clone(), Cursor::from(row))).collect())
}

/// Writes a locked cursor.
pub(super) async fn save(conn: &mut Conn, cursor: &Cursor) -> Result<(), StoreError> {
    let update = Prepared(diesel::update(state::table.find(&cursor.channel_id)).set((
        state::channel_version.eq(cursor.channel_version),
        state::config_hash.eq(&cursor.config_hash),
        state::next_fire_at.eq(cursor.next_fire_at),
        state::paused_at.eq(cursor.paused_at),
        state::updated_at.eq(Now),
    )));
    on!(conn, c => update.execute(c).await)?;
    Ok(())
}

/// Writes locked cursors.
pub(super) async fn save_all(conn: &mut Conn, cursors: &[Cursor]) -> Result<(), StoreError> {
    match conn {
        Conn::Sqlite(_) => {
            for cursor in cursors {
                save(conn, cursor).await?;
            }
            Ok(())
        }
        Conn::Postgres(c) => bulk::update_cursors(cursors, c).await,
    }
}

/// Returns whether a version is active, and keeps it so until the transaction ends: a transaction that
/// archives or deletes the version, and then changes its cursor, waits.
async fn is_active(conn: &mut Conn, channel_id: &str, version: i64) -> Result<bool, StoreError> {
    let row = definitions::table
        .find((EntityKind::Channel.name(), channel_id, version))
        .filter(definitions::status.eq("active"))
        .select(definitions::version);
    let row: Option<i64> = match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_share().first(&mut **c).await.optional()?,
    };
    Ok(row.is_some())
}

impl SingleCall for AlignRequest {
    type Answer = AlignOutcome;

    async fn run(&self, conn: &mut Conn) -> Result<AlignOutcome, StoreError> {
        if !is_active(conn, &self.channel_id, self.version).await? {
            return Ok(AlignOutcome::NotActive);
        }
        let cursor = Cursor::begin(self);
        let insert = diesel::insert_into(state::table)
            .values((
                state::channel_id.eq(&cursor.channel_id),
                state::channel_version.eq(cursor.channel_version),
                state::config_hash.eq(&cursor.config_hash),
                state::next_fire_at.eq(cursor.next_fire_at),
            ))
            .on_conflict(state::channel_id)
            .do_nothing();
        if on!(conn, c => insert.execute(c).await)? > 0 {
            return Ok(AlignOutcome::At(cursor));
        }
        // Only another program deletes the cursor of an active channel.
        let Some(mut cursor) = lock(conn, &self.channel_id).await? else {
            return Ok(AlignOutcome::NotActive);
        };
        if cursor.align(self) {
            save(conn, &cursor).await?;
        }
        Ok(AlignOutcome::At(cursor))
    }
}

/// Pauses the cursors that nothing moves.
pub(super) struct PauseStaleRequest {
    pub(super) resting: HashSet<String>,
    pub(super) overdue: Duration,
}

impl SingleCall for PauseStaleRequest {
    type Answer = Vec<String>;

    /// Skips locked cursors: one that is being moved is not stale.
    async fn run(&self, conn: &mut Conn) -> Result<Vec<String>, StoreError> {
        let overdue = state::table
            .select((state::channel_id, state::updated_at))
            .filter(state::paused_at.is_null())
            .filter(state::next_fire_at.lt(FromNow::seconds(-self.overdue.as_secs_f64())))
            .order(state::channel_id.asc());
        let rows: Vec<(String, NaiveDateTime)> = on!(conn, c => overdue.load(c).await)?;
        let active = filter_scheduled(conn, rows.iter().map(|(id, _)| id.as_str()).collect()).await?;
        let now = clock::now(conn).await?;
        // A channel that cannot run on this node may run on another one, which then moves its cursor.
        let rests = |id: &str, moved: NaiveDateTime| {
            self.resting.contains(id) && (now - moved).to_std().is_ok_and(|still| still > self.overdue)
        };
        let forsaken = rows.into_iter().filter(|(id, moved)| !active.contains(id) || rests(id, *moved));
        let mut paused = Vec::new();
        for (id, _) in forsaken {
            let row = state::table.find(&id).select(columns::<Row>());
            let row: Option<Row> = match conn {
                Conn::Sqlite(c) => row.first(c).await.optional()?,
                Conn::Postgres(c) => row.for_update().skip_locked().first(&mut **c).await.optional()?,
            };
            let Some(mut cursor) = row.map(Cursor::from) else { continue };
            let now = clock::now(conn).await?;
            if is_overdue(&cursor, self.overdue, now) && cursor.pause(now) {
                save(conn, &cursor).await?;
                paused.push(id);
            }
        }
        Ok(paused)
    }
}

/// Returns those of the channels that are active and have a schedule.
async fn filter_scheduled(conn: &mut Conn, ids: Vec<&str>) -> Result<HashSet<String>, StoreError> {
    let mut scheduled = HashSet::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        let some = definitions::table
            .filter(definitions::kind.eq(EntityKind::Channel.name()))
            .filter(definitions::id.eq_any(ids))
            .filter(definitions::status.eq("active"))
            .filter(definitions::protocol.eq("cron"))
            .select(definitions::id);
        scheduled.extend(on!(conn, c => some.load::<String>(c).await)?);
    }
    Ok(scheduled)
}

fn is_overdue(cursor: &Cursor, overdue: Duration, now: NaiveDateTime) -> bool {
    (now - cursor.next_fire_at).to_std().is_ok_and(|behind| behind > overdue)
}

/// Pauses the schedule of a channel that is no longer active, if it has one.
pub(crate) async fn pause(conn: &mut Conn, channel_id: &str) -> Result<(), StoreError> {
    let Some(mut cursor) = lock(conn, channel_id).await? else { return Ok(()) };
    let now = clock::now(conn).await?;
    if cursor.pause(now) {
        save(conn, &cursor).await?;
    }
    Ok(())
}
