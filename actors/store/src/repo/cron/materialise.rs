//! Instants are put on record.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_ledger::{Occurrence, Singleton, Status, Trigger, is_saturated};
use svc_model::id::new_ordered_id;
use uuid::Uuid;

use super::model::{ChannelFacts, Materialise, Materialised};
use super::{cursors, slots};
use crate::clock;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::schema::cron_occurrences;

/// Rows in one statement: well under PostgreSQL's limit of bound values.
const ROWS_PER_INSERT: usize = 1000;

/// A row before it is written.
#[derive(Insertable)]
#[diesel(table_name = cron_occurrences)]
struct NewRow<'a> {
    id: String,
    channel_id: &'a str,
    channel_name: &'a str,
    channel_version: i64,
    workflow_id: Option<&'a str>,
    trigger_kind: &'static str,
    scheduled_for: NaiveDateTime,
    status: &'static str,
    error_message: Option<String>,
    completed_at: Option<NaiveDateTime>,
}

impl<'a> NewRow<'a> {
    fn new(channel: &'a ChannelFacts, trigger: Trigger, row: Occurrence) -> Self {
        Self {
            id: row.id.to_string(),
            channel_id: &channel.channel_id,
            channel_name: &channel.channel_name,
            channel_version: channel.channel_version,
            workflow_id: channel.workflow_id.as_deref(),
            trigger_kind: trigger.name(),
            scheduled_for: row.scheduled_for,
            status: row.status.name(),
            error_message: row.error_message,
            completed_at: row.completed_at,
        }
    }
}

/// The cursor moves first, so that of several nodes that are as far one writes; the rows follow in the transaction.
pub(super) async fn materialise(conn: &mut Conn, order: &Materialise) -> Result<Materialised, StoreError> {
    let channel = &order.channel;
    let Some(mut cursor) = cursors::lock(conn, &channel.channel_id).await? else {
        return Ok(Materialised::Gone);
    };
    if !cursor.advance(channel.channel_version, order.from, order.next) {
        return Ok(Materialised::Moved(cursor));
    }
    cursors::save(conn, &cursor).await?;
    let now = clock::now(conn).await?;
    if let Some(missed) = &order.missed {
        let newest = missed.newest.naive_utc();
        let row =
            Occurrence::skipped(new_ordered_id(), newest, Status::SkippedMisfire, missed.message(), now);
        insert(conn, vec![NewRow::new(channel, Trigger::Cron, row)]).await?;
    }
    let held = saturated(conn, order, now).await?;
    let rows = order.fire.iter().map(|due| {
        let id = new_ordered_id();
        let row = match held {
            Some(singleton) => {
                Occurrence::skipped(id, *due, Status::SkippedSingleton, singleton.skip_message(), now)
            }
            None => Occurrence::pending(id, *due),
        };
        NewRow::new(channel, Trigger::Cron, row)
    });
    let written = insert(conn, rows.collect()).await?;
    let (inserted, skipped) = if held.is_some() { (0, written) } else { (written, 0) };
    Ok(Materialised::Written { inserted, skipped })
}

/// The key that no run could begin under now. A run that begins or ends at this very moment makes no difference: what
/// waits is asked again when it begins.
async fn saturated<'o>(
    conn: &mut Conn,
    order: &'o Materialise,
    now: NaiveDateTime,
) -> Result<Option<&'o Singleton>, StoreError> {
    let Some(singleton) = &order.singleton else { return Ok(None) };
    if order.fire.is_empty() {
        return Ok(None);
    }
    let slots = slots::of(conn, &singleton.key).await?;
    Ok(is_saturated(&slots, singleton.slots, now).then_some(singleton))
}

/// Writes the rows whose instants are not on record yet; answers how many.
async fn insert(conn: &mut Conn, rows: Vec<NewRow<'_>>) -> Result<usize, StoreError> {
    let identity = (cron_occurrences::channel_id, cron_occurrences::scheduled_for);
    let mut written = 0;
    match conn {
        Conn::Sqlite(c) => {
            for row in rows {
                let insert = diesel::insert_into(cron_occurrences::table).values(row);
                written += insert.on_conflict(identity).do_nothing().execute(c).await?;
            }
        }
        Conn::Postgres(c) => {
            for rows in rows.chunks(ROWS_PER_INSERT) {
                let insert = diesel::insert_into(cron_occurrences::table).values(rows);
                written += insert.on_conflict(identity).do_nothing().execute(&mut **c).await?;
            }
        }
    }
    Ok(written)
}

/// Puts an occurrence on record that an admin asked for, due now; `None` where one owns this very instant.
pub(super) async fn trigger(conn: &mut Conn, channel: &ChannelFacts) -> Result<Option<Uuid>, StoreError> {
    let now = clock::now(conn).await?;
    let row = Occurrence::pending(new_ordered_id(), now);
    let id = row.id;
    let written = insert(conn, vec![NewRow::new(channel, Trigger::Manual, row)]).await?;
    Ok((written > 0).then_some(id))
}
