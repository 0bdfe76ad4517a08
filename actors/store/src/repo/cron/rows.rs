//! Conversion between rows and the values of the rules: read under lock, written as the rules changed them.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{ClaimKey, HeldSlot, Occurrence, OccurrenceStatus};
use uuid::Uuid;

use super::bulk;
use crate::conn::{Conn, on};
use crate::connections::prepared::Prepared;
use crate::error::StoreError;
use crate::schema::cron_occurrences;

/// The columns that the rules read and write.
#[derive(Queryable, Selectable, AsChangeset)]
#[diesel(table_name = cron_occurrences, treat_none_as_null = true)]
pub(super) struct OccurrenceState {
    status: String,
    attempt: i64,
    attempt_counted: bool,
    recoveries: i64,
    claims: i64,
    claimed_by: Option<String>,
    claimed_until: Option<NaiveDateTime>,
    singleton_key: Option<String>,
    singleton_slot: Option<i64>,
    fencing_token: Option<i64>,
    executing_version: Option<i64>,
    trace_id: Option<String>,
    error_message: Option<String>,
    error_group: Option<String>,
    started_at: Option<NaiveDateTime>,
    completed_at: Option<NaiveDateTime>,
}

impl OccurrenceState {
    /// Returns the row as a value of the rules; `None` for a status to which no rule applies.
    fn read(self, id: Uuid, scheduled_for: NaiveDateTime) -> Option<Occurrence> {
        let slot = match (self.singleton_key, self.singleton_slot, self.fencing_token) {
            (Some(key), Some(slot), Some(token)) => Some(HeldSlot { key, slot, token }),
            _ => None,
        };
        Some(Occurrence {
            id,
            scheduled_for,
            status: OccurrenceStatus::parse(&self.status)?,
            attempt: self.attempt,
            attempt_counted: self.attempt_counted,
            recoveries: self.recoveries,
            claims: self.claims,
            claimed_by: self.claimed_by,
            claimed_until: self.claimed_until,
            slot,
            executing_version: self.executing_version,
            trace_id: self.trace_id.and_then(|id| Uuid::try_parse(&id).ok()),
            error_message: self.error_message,
            error_group: self.error_group,
            started_at: self.started_at,
            completed_at: self.completed_at,
        })
    }
}

impl From<&Occurrence> for OccurrenceState {
    fn from(row: &Occurrence) -> Self {
        Self {
            status: row.status.name().to_owned(),
            attempt: row.attempt,
            attempt_counted: row.attempt_counted,
            recoveries: row.recoveries,
            claims: row.claims,
            claimed_by: row.claimed_by.clone(),
            claimed_until: row.claimed_until,
            singleton_key: row.slot.as_ref().map(|slot| slot.key.clone()),
            singleton_slot: row.slot.as_ref().map(|slot| slot.slot),
            fencing_token: row.slot.as_ref().map(|slot| slot.token),
            executing_version: row.executing_version,
            trace_id: row.trace_id.map(|id| id.to_string()),
            error_message: row.error_message.clone(),
            error_group: row.error_group.clone(),
            started_at: row.started_at,
            completed_at: row.completed_at,
        }
    }
}

/// Returns the columns of a row, for a query on either backend.
pub(super) fn columns<T: Selectable<diesel::sqlite::Sqlite>>() -> T::SelectExpression {
    T::construct_selection()
}

/// Reads a row; `None` if it does not exist or no rule applies to it.
pub(super) async fn read(
    conn: &mut Conn,
    id: Uuid,
) -> Result<Option<(Occurrence, OccurrenceFacts)>, StoreError> {
    let row = cron_occurrences::table.find(id.to_string()).select(columns::<LoadedOccurrence>());
    let loaded: Option<LoadedOccurrence> = on!(conn, c => row.first(c).await.optional())?;
    Ok(loaded.and_then(LoadedOccurrence::split))
}

/// Reads a row like [`read`], and locks it. Waits for a transaction that has it locked.
pub(super) async fn lock(
    conn: &mut Conn,
    id: Uuid,
) -> Result<Option<(Occurrence, OccurrenceFacts)>, StoreError> {
    let Conn::Postgres(c) = conn else { return read(conn, id).await };
    let row = cron_occurrences::table.find(id.to_string()).select(columns::<LoadedOccurrence>()).for_update();
    let loaded: Option<LoadedOccurrence> = row.first(&mut **c).await.optional()?;
    Ok(loaded.and_then(LoadedOccurrence::split))
}

/// Locks a row like [`lock`], if the claim `key` is still valid.
pub(super) async fn lock_held(conn: &mut Conn, key: &ClaimKey) -> Result<Option<Occurrence>, StoreError> {
    Ok(lock(conn, key.id).await?.map(|(row, _)| row).filter(|row| row.is_held(key)))
}

/// Locks the rows of claims, by their ids. A call that is alone waits for its row, and gets it only while its claim is
/// valid; a group gets all rows but for those that another transaction has locked.
pub(super) async fn lock_claimed(
    conn: &mut Conn,
    keys: &[&ClaimKey],
    is_alone: bool,
) -> Result<HashMap<Uuid, (Occurrence, OccurrenceFacts)>, StoreError> {
    if let ([key], true) = (keys, is_alone) {
        let held = lock(conn, key.id).await?.filter(|(row, _)| row.is_held(key));
        return Ok(held.map(|held| (key.id, held)).into_iter().collect());
    }
    let ids: Vec<String> = keys.iter().map(|key| key.id.to_string()).collect();
    let rows = cron_occurrences::table
        .filter(cron_occurrences::id.eq_any(ids))
        .select(columns::<LoadedOccurrence>());
    let rows: Vec<LoadedOccurrence> = match conn {
        Conn::Sqlite(c) => rows.load(c).await?,
        Conn::Postgres(c) => rows.for_update().skip_locked().load(&mut **c).await?,
    };
    Ok(rows.into_iter().filter_map(LoadedOccurrence::split).map(|loaded| (loaded.0.id, loaded)).collect())
}

/// Writes a locked row.
pub(super) async fn save(conn: &mut Conn, row: &Occurrence, now: NaiveDateTime) -> Result<(), StoreError> {
    let changed = (OccurrenceState::from(row), cron_occurrences::updated_at.eq(now));
    let update = Prepared(diesel::update(cron_occurrences::table.find(row.id.to_string())).set(changed));
    on!(conn, c => update.execute(c).await)?;
    Ok(())
}

/// Writes locked rows.
pub(super) async fn save_all(
    conn: &mut Conn,
    rows: &[Occurrence],
    now: NaiveDateTime,
) -> Result<(), StoreError> {
    match conn {
        Conn::Sqlite(_) => {
            for row in rows {
                save(conn, row, now).await?;
            }
            Ok(())
        }
        Conn::Postgres(c) => bulk::update_occurrences(rows, c).await,
    }
}

/// A row with the columns that the rules do not read.
#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
pub(super) struct LoadedOccurrence {
    id: String,
    scheduled_for: NaiveDateTime,
    #[diesel(embed)]
    facts: OccurrenceFacts,
    #[diesel(embed)]
    state: OccurrenceState,
}

/// The columns of a row that no rule reads.
#[derive(Queryable, Selectable)]
#[diesel(table_name = cron_occurrences)]
pub(super) struct OccurrenceFacts {
    pub(super) channel_id: String,
    pub(super) channel_name: String,
    pub(super) channel_version: i64,
    pub(super) workflow_id: Option<String>,
    #[diesel(column_name = trigger_kind)]
    pub(super) trigger: String,
    pub(super) workflow_version: Option<i64>,
    cancel_requested_at: Option<NaiveDateTime>,
    cancel_reports: Option<bool>,
}

impl OccurrenceFacts {
    /// Returns true if the row is to be cancelled and reported as failed, false if it is to be cancelled without a
    /// report; `None` without an order to cancel it.
    pub(super) fn cancel_order(&self) -> Option<bool> {
        self.cancel_requested_at.map(|_| self.cancel_reports == Some(true))
    }
}

impl LoadedOccurrence {
    /// Splits the row into the part of the rules and the rest; `None` if no rule applies to it.
    pub(super) fn split(self) -> Option<(Occurrence, OccurrenceFacts)> {
        let id = Uuid::try_parse(&self.id).ok()?;
        Some((self.state.read(id, self.scheduled_for)?, self.facts))
    }
}
