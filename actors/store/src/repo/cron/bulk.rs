//! Bulk changes of the ledger for PostgreSQL.

use std::collections::HashSet;

use chrono::NaiveDateTime;
use diesel::query_builder::Query;
use diesel::sql_types::{Array, Bool, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use svc_ledger::{Cursor, Occurrence};

use super::materialise::NewRow;
use crate::bulk_statement::{
    Instants, MaybeInstants, MaybeNumbers, MaybeTexts, Numbers, Texts, bulk_statement,
};
use crate::error::StoreError;

bulk_statement! {
    /// Occurrences to insert.
    InsertOccurrences(row: NewRow<'a>),
    "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, workflow_id, trigger, \
     scheduled_for, status, error_message, completed_at) SELECT * FROM unnest(",
    ") ON CONFLICT (channel_id, scheduled_for) DO NOTHING RETURNING id",
    ids: Texts = &'a str => &*row.id,
    channel_ids: Texts = &'a str => row.channel_id,
    channel_names: Texts = &'a str => row.channel_name,
    channel_versions: Numbers = i64 => row.channel_version,
    workflow_ids: MaybeTexts = Option<&'a str> => row.workflow_id,
    triggers: Texts = &'a str => row.trigger_kind,
    scheduled: Instants = NaiveDateTime => row.scheduled_for,
    statuses: Texts = &'a str => row.status,
    errors: MaybeTexts = Option<&'a str> => row.error_message.as_deref(),
    completed: MaybeInstants = Option<NaiveDateTime> => row.completed_at,
}

impl Query for InsertOccurrences<'_> {
    type SqlType = Text;
}

bulk_statement! {
    /// The state of occurrences to write.
    UpdateOccurrences(row: Occurrence),
    "UPDATE cron_occurrences SET status = o.status, attempt = o.attempt, \
     attempt_counted = o.attempt_counted, recoveries = o.recoveries, claims = o.claims, \
     claimed_by = o.claimed_by, claimed_until = o.claimed_until, singleton_key = o.singleton_key, \
     singleton_slot = o.singleton_slot, fencing_token = o.fencing_token, \
     executing_version = o.executing_version, trace_id = o.trace_id, error_message = o.error_message, \
     error_group = o.error_group, started_at = o.started_at, completed_at = o.completed_at FROM unnest(",
    ") AS o (id, status, attempt, attempt_counted, recoveries, claims, claimed_by, claimed_until, \
     singleton_key, singleton_slot, fencing_token, executing_version, trace_id, error_message, error_group, \
     started_at, completed_at) WHERE cron_occurrences.id = o.id",
    ids: Texts = String => row.id.to_string(),
    statuses: Texts = &'a str => row.status.name(),
    attempts: Numbers = i64 => row.attempt,
    attempts_counted: Array<Bool> = bool => row.attempt_counted,
    recoveries: Numbers = i64 => row.recoveries,
    claims: Numbers = i64 => row.claims,
    holders: MaybeTexts = Option<&'a str> => row.claimed_by.as_deref(),
    leases: MaybeInstants = Option<NaiveDateTime> => row.claimed_until,
    singleton_keys: MaybeTexts = Option<&'a str> => row.slot.as_ref().map(|slot| &*slot.key),
    singleton_slots: MaybeNumbers = Option<i64> => row.slot.as_ref().map(|slot| slot.slot),
    fencing_tokens: MaybeNumbers = Option<i64> => row.slot.as_ref().map(|slot| slot.token),
    executing_versions: MaybeNumbers = Option<i64> => row.executing_version,
    trace_ids: MaybeTexts = Option<String> => row.trace_id.map(|id| id.to_string()),
    errors: MaybeTexts = Option<&'a str> => row.error_message.as_deref(),
    error_groups: MaybeTexts = Option<&'a str> => row.error_group.as_deref(),
    started: MaybeInstants = Option<NaiveDateTime> => row.started_at,
    completed: MaybeInstants = Option<NaiveDateTime> => row.completed_at,
}

bulk_statement! {
    /// Cursors to write.
    UpdateCursors(cursor: Cursor),
    "UPDATE cron_schedule_state SET channel_version = s.channel_version, config_hash = s.config_hash, \
     next_fire_at = s.next_fire_at, paused_at = s.paused_at FROM unnest(",
    ") AS s (channel_id, channel_version, config_hash, next_fire_at, paused_at) \
     WHERE cron_schedule_state.channel_id = s.channel_id",
    channel_ids: Texts = &'a str => &*cursor.channel_id,
    channel_versions: Numbers = i64 => cursor.channel_version,
    config_hashes: Texts = &'a str => &*cursor.config_hash,
    next: Instants = NaiveDateTime => cursor.next_fire_at,
    paused: MaybeInstants = Option<NaiveDateTime> => cursor.paused_at,
}

/// Inserts the rows whose instants are not recorded yet. Returns for each row whether it was inserted.
pub(super) async fn insert_occurrences(
    rows: &[NewRow<'_>],
    c: &mut AsyncPgConnection,
) -> Result<Vec<bool>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let inserted = InsertOccurrences::new(rows).load::<String>(c).await?;
    let inserted: HashSet<String> = inserted.into_iter().collect();
    Ok(rows.iter().map(|row| inserted.contains(&row.id)).collect())
}

/// Writes locked occurrences. The database sets `updated_at`.
pub(super) async fn update_occurrences(
    rows: &[Occurrence],
    c: &mut AsyncPgConnection,
) -> Result<(), StoreError> {
    if !rows.is_empty() {
        UpdateOccurrences::new(rows).execute(c).await?;
    }
    Ok(())
}

/// Writes locked cursors. The database sets `updated_at`.
pub(super) async fn update_cursors(cursors: &[Cursor], c: &mut AsyncPgConnection) -> Result<(), StoreError> {
    if !cursors.is_empty() {
        UpdateCursors::new(cursors).execute(c).await?;
    }
    Ok(())
}
