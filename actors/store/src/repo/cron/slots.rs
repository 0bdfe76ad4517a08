//! The table of slots. A transaction that locks a slot and an occurrence locks the slot first.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use svc_ledger::{ConcurrencySlot, HeldSlot};
use uuid::Uuid;

use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::column_list;
use crate::schema::cron_singletons;

type Columns = (i64, String, String, i64, NaiveDateTime);

column_list! {
    const COLUMNS: Selection = cron_singletons {
        slot,
        occurrence_id,
        holder,
        fencing_token,
        lease_until,
    }
}

/// A malformed occurrence id is read as the nil id, which no occurrence has.
fn slot((slot, occurrence, holder, token, lease_until): Columns) -> ConcurrencySlot {
    let occurrence = Uuid::try_parse(&occurrence).unwrap_or_default();
    ConcurrencySlot { slot, occurrence, holder, token, lease_until }
}

/// Reads the slots of a key, without a lock.
pub(super) async fn load_slots(conn: &mut Conn, key: &str) -> Result<Vec<ConcurrencySlot>, StoreError> {
    let rows = cron_singletons::table.filter(cron_singletons::singleton_key.eq(key)).select(COLUMNS);
    let rows: Vec<Columns> = on!(conn, c => rows.load(c).await)?;
    Ok(rows.into_iter().map(slot).collect())
}

/// Locks a key and its slots. A free slot has no row to lock, so the key has a lock of its own, which ends
/// with the transaction.
pub(super) async fn lock(conn: &mut Conn, key: &str) -> Result<Vec<ConcurrencySlot>, StoreError> {
    let Conn::Postgres(c) = conn else { return load_slots(conn, key).await };
    /// Namespace of these advisory locks. Any fixed number works.
    const SPACE: i64 = 0x6c65_6467;
    diesel::sql_query("SELECT pg_advisory_xact_lock(hashtextextended($1, $2))")
        .bind::<Text, _>(key)
        .bind::<BigInt, _>(SPACE)
        .execute(&mut **c)
        .await?;
    let rows = cron_singletons::table
        .filter(cron_singletons::singleton_key.eq(key))
        .select(COLUMNS)
        .order(cron_singletons::slot.asc())
        .for_update();
    let rows: Vec<Columns> = rows.load(&mut **c).await?;
    Ok(rows.into_iter().map(slot).collect())
}

/// Locks one slot.
pub(super) async fn lock_one(
    conn: &mut Conn,
    held: &HeldSlot,
) -> Result<Option<ConcurrencySlot>, StoreError> {
    let row = cron_singletons::table.find((&held.key, held.slot)).select(COLUMNS);
    let row: Option<Columns> = match conn {
        Conn::Sqlite(c) => row.first(c).await.optional()?,
        Conn::Postgres(c) => row.for_update().first(&mut **c).await.optional()?,
    };
    Ok(row.map(slot))
}

/// Writes a slot that is locked, or whose key is.
pub(super) async fn save(
    conn: &mut Conn,
    key: &str,
    slot: &ConcurrencySlot,
    now: NaiveDateTime,
) -> Result<(), StoreError> {
    let holder_columns = (
        cron_singletons::occurrence_id.eq(slot.occurrence.to_string()),
        cron_singletons::holder.eq(&slot.holder),
        cron_singletons::fencing_token.eq(slot.token),
        cron_singletons::lease_until.eq(slot.lease_until),
        cron_singletons::updated_at.eq(now),
    );
    let place = (cron_singletons::singleton_key.eq(key), cron_singletons::slot.eq(slot.slot));
    let upsert = diesel::insert_into(cron_singletons::table)
        .values((place, holder_columns.clone()))
        .on_conflict((cron_singletons::singleton_key, cron_singletons::slot))
        .do_update()
        .set(holder_columns);
    on!(conn, c => upsert.execute(c).await)?;
    Ok(())
}

/// Frees a slot if it is still held by the occurrence with the same token.
pub(super) async fn free(conn: &mut Conn, held: &HeldSlot, occurrence: Uuid) -> Result<(), StoreError> {
    let row = cron_singletons::table
        .find((&held.key, held.slot))
        .filter(cron_singletons::occurrence_id.eq(occurrence.to_string()))
        .filter(cron_singletons::fencing_token.eq(held.token));
    on!(conn, c => diesel::delete(row).execute(c).await)?;
    Ok(())
}
