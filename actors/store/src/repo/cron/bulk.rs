//! Bulk changes of the ledger for PostgreSQL: every column is one array parameter, so that a statement has the same text
//! for any number of rows and is prepared once.

use std::collections::HashSet;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamp};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use svc_ledger::{Cursor, Occurrence};

use super::materialise::NewRow;
use crate::error::StoreError;

type Texts = Array<Text>;
type MaybeTexts = Array<Nullable<Text>>;
type Numbers = Array<BigInt>;
type MaybeNumbers = Array<Nullable<BigInt>>;
type Times = Array<Timestamp>;
type MaybeTimes = Array<Nullable<Timestamp>>;

/// Binds columns as arrays, separated by commas.
macro_rules! bind {
    ($out:ident, $first:ty: $column:expr $(, $kind:ty: $more:expr)* $(,)?) => {{
        $out.push_bind_param::<$first, _>($column)?;
        $(
            $out.push_sql(", ");
            $out.push_bind_param::<$kind, _>($more)?;
        )*
    }};
}

/// Gives a statement with a constant text the key under which its preparation is kept.
macro_rules! constant_text {
    ($($name:ident),*) => {$(
        impl QueryId for $name<'_> {
            type QueryId = $name<'static>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }
    )*};
}
constant_text!(InsertOccurrences, UpdateOccurrences, UpdateCursors);

/// Inserts the rows whose instants are not recorded yet. Returns for each row whether it was inserted.
pub(super) async fn insert_occurrences(
    rows: &[NewRow<'_>],
    c: &mut AsyncPgConnection,
) -> Result<Vec<bool>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let column = InsertOccurrences {
        ids: rows.iter().map(|row| &*row.id).collect(),
        channel_ids: rows.iter().map(|row| row.channel_id).collect(),
        channel_names: rows.iter().map(|row| row.channel_name).collect(),
        channel_versions: rows.iter().map(|row| row.channel_version).collect(),
        workflow_ids: rows.iter().map(|row| row.workflow_id).collect(),
        triggers: rows.iter().map(|row| row.trigger_kind).collect(),
        scheduled: rows.iter().map(|row| row.scheduled_for).collect(),
        statuses: rows.iter().map(|row| row.status).collect(),
        errors: rows.iter().map(|row| row.error_message.as_deref()).collect(),
        completed: rows.iter().map(|row| row.completed_at).collect(),
    };
    let inserted: HashSet<String> = column.load::<String>(c).await?.into_iter().collect();
    Ok(rows.iter().map(|row| inserted.contains(&row.id)).collect())
}

/// Rows to insert, by column.
struct InsertOccurrences<'a> {
    ids: Vec<&'a str>,
    channel_ids: Vec<&'a str>,
    channel_names: Vec<&'a str>,
    channel_versions: Vec<i64>,
    workflow_ids: Vec<Option<&'a str>>,
    triggers: Vec<&'a str>,
    scheduled: Vec<NaiveDateTime>,
    statuses: Vec<&'a str>,
    errors: Vec<Option<&'a str>>,
    completed: Vec<Option<NaiveDateTime>>,
}

impl QueryFragment<Pg> for InsertOccurrences<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, workflow_id, trigger, \
             scheduled_for, status, error_message, completed_at) SELECT * FROM unnest(",
        );
        bind!(out, Texts: &self.ids, Texts: &self.channel_ids, Texts: &self.channel_names,
            Numbers: &self.channel_versions, MaybeTexts: &self.workflow_ids, Texts: &self.triggers,
            Times: &self.scheduled, Texts: &self.statuses, MaybeTexts: &self.errors, MaybeTimes: &self.completed);
        out.push_sql(") ON CONFLICT (channel_id, scheduled_for) DO NOTHING RETURNING id");
        Ok(())
    }
}

impl Query for InsertOccurrences<'_> {
    type SqlType = Text;
}

/// Writes locked occurrences. The database sets `updated_at`.
pub(super) async fn update_occurrences(
    rows: &[Occurrence],
    c: &mut AsyncPgConnection,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let slots = || rows.iter().map(|row| row.slot.as_ref());
    let update = UpdateOccurrences {
        ids: rows.iter().map(|row| row.id.to_string()).collect(),
        statuses: rows.iter().map(|row| row.status.name()).collect(),
        attempts: rows.iter().map(|row| row.attempt).collect(),
        attempts_counted: rows.iter().map(|row| row.attempt_counted).collect(),
        recoveries: rows.iter().map(|row| row.recoveries).collect(),
        claims: rows.iter().map(|row| row.claims).collect(),
        holders: rows.iter().map(|row| row.claimed_by.as_deref()).collect(),
        leases: rows.iter().map(|row| row.claimed_until).collect(),
        singleton_keys: slots().map(|slot| slot.map(|slot| &*slot.key)).collect(),
        singleton_slots: slots().map(|slot| slot.map(|slot| slot.slot)).collect(),
        fencing_tokens: slots().map(|slot| slot.map(|slot| slot.token)).collect(),
        executing_versions: rows.iter().map(|row| row.executing_version).collect(),
        trace_ids: rows.iter().map(|row| row.trace_id.map(|id| id.to_string())).collect(),
        errors: rows.iter().map(|row| row.error_message.as_deref()).collect(),
        error_groups: rows.iter().map(|row| row.error_group.as_deref()).collect(),
        started: rows.iter().map(|row| row.started_at).collect(),
        completed: rows.iter().map(|row| row.completed_at).collect(),
    };
    update.execute(c).await?;
    Ok(())
}

/// The state of occurrences to write, by column.
struct UpdateOccurrences<'a> {
    ids: Vec<String>,
    statuses: Vec<&'a str>,
    attempts: Vec<i64>,
    attempts_counted: Vec<bool>,
    recoveries: Vec<i64>,
    claims: Vec<i64>,
    holders: Vec<Option<&'a str>>,
    leases: Vec<Option<NaiveDateTime>>,
    singleton_keys: Vec<Option<&'a str>>,
    singleton_slots: Vec<Option<i64>>,
    fencing_tokens: Vec<Option<i64>>,
    executing_versions: Vec<Option<i64>>,
    trace_ids: Vec<Option<String>>,
    errors: Vec<Option<&'a str>>,
    error_groups: Vec<Option<&'a str>>,
    started: Vec<Option<NaiveDateTime>>,
    completed: Vec<Option<NaiveDateTime>>,
}

impl QueryFragment<Pg> for UpdateOccurrences<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "UPDATE cron_occurrences SET status = o.status, attempt = o.attempt, \
             attempt_counted = o.attempt_counted, recoveries = o.recoveries, claims = o.claims, \
             claimed_by = o.claimed_by, claimed_until = o.claimed_until, singleton_key = o.singleton_key, \
             singleton_slot = o.singleton_slot, fencing_token = o.fencing_token, \
             executing_version = o.executing_version, trace_id = o.trace_id, error_message = o.error_message, \
             error_group = o.error_group, started_at = o.started_at, completed_at = o.completed_at FROM unnest(",
        );
        bind!(out, Texts: &self.ids, Texts: &self.statuses, Numbers: &self.attempts,
            Array<Bool>: &self.attempts_counted, Numbers: &self.recoveries, Numbers: &self.claims,
            MaybeTexts: &self.holders, MaybeTimes: &self.leases, MaybeTexts: &self.singleton_keys,
            MaybeNumbers: &self.singleton_slots, MaybeNumbers: &self.fencing_tokens,
            MaybeNumbers: &self.executing_versions, MaybeTexts: &self.trace_ids, MaybeTexts: &self.errors,
            MaybeTexts: &self.error_groups, MaybeTimes: &self.started, MaybeTimes: &self.completed);
        out.push_sql(
            ") AS o (id, status, attempt, attempt_counted, recoveries, claims, claimed_by, claimed_until, \
             singleton_key, singleton_slot, fencing_token, executing_version, trace_id, error_message, error_group, \
             started_at, completed_at) WHERE cron_occurrences.id = o.id",
        );
        Ok(())
    }
}

/// Writes locked cursors.
pub(super) async fn update_cursors(cursors: &[Cursor], c: &mut AsyncPgConnection) -> Result<(), StoreError> {
    if cursors.is_empty() {
        return Ok(());
    }
    let update = UpdateCursors {
        channel_ids: cursors.iter().map(|cursor| &*cursor.channel_id).collect(),
        channel_versions: cursors.iter().map(|cursor| cursor.channel_version).collect(),
        config_hashes: cursors.iter().map(|cursor| &*cursor.config_hash).collect(),
        next: cursors.iter().map(|cursor| cursor.next_fire_at).collect(),
        paused: cursors.iter().map(|cursor| cursor.paused_at).collect(),
    };
    update.execute(c).await?;
    Ok(())
}

/// Cursors to write, by column.
struct UpdateCursors<'a> {
    channel_ids: Vec<&'a str>,
    channel_versions: Vec<i64>,
    config_hashes: Vec<&'a str>,
    next: Vec<NaiveDateTime>,
    paused: Vec<Option<NaiveDateTime>>,
}

impl QueryFragment<Pg> for UpdateCursors<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "UPDATE cron_schedule_state SET channel_version = s.channel_version, config_hash = s.config_hash, \
             next_fire_at = s.next_fire_at, paused_at = s.paused_at FROM unnest(",
        );
        bind!(out, Texts: &self.channel_ids, Numbers: &self.channel_versions, Texts: &self.config_hashes,
            Times: &self.next, MaybeTimes: &self.paused);
        out.push_sql(
            ") AS s (channel_id, channel_version, config_hash, next_fire_at, paused_at) \
             WHERE cron_schedule_state.channel_id = s.channel_id",
        );
        Ok(())
    }
}
