//! Leases on dead letters for their retries.

use std::time::Duration;

use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel_async::RunQueryDsl;

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::error::StoreError;
use crate::repo::channel_pauses::hold_pause;
use crate::repo::dead_letters::{ClaimedLetter, LetterShare, rows};
use crate::repo::traces::{LenientTimestamp, NewTrace, TraceWrite, attempts};
use crate::schema::trace_dlq;

/// A selection of the letters to retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueLetters {
    /// Every letter.
    All,
    /// The letters whose work is `retrying`. Where failed work is not retried by itself, those are the letters that an
    /// operator requeued, and those that waited when retries were switched off.
    Promised,
}

impl DueLetters {
    fn condition(self) -> SqlLiteral<Bool> {
        sql(match self {
            Self::All => "1 = 1",
            Self::Promised => {
                "EXISTS (SELECT 1 FROM traces w WHERE w.status = 'retrying' \
                 AND w.id = COALESCE(trace_dlq.attempt_of, trace_dlq.trace_id))"
            }
        })
    }
}

type Due =
    ((String, String, Option<String>, String), (String, String, i64, i64), (Option<String>, Option<String>));

/// The channel and the key of the share that the work of a letter takes.
const SHARE: [&str; 2] = [
    "(SELECT w.queue_channel FROM traces w WHERE w.id = COALESCE(trace_dlq.attempt_of, trace_dlq.trace_id))",
    "(SELECT w.queue_key FROM traces w WHERE w.id = COALESCE(trace_dlq.attempt_of, trace_dlq.trace_id))",
];

pub(super) async fn claim_due(
    conn: &mut Conn,
    (letters, except): (DueLetters, &[String]),
    (batch, lease): (i64, Duration),
    holder: &str,
) -> Result<Vec<ClaimedLetter>, StoreError> {
    // The clock is read first: an index serves a comparison with a value, but not with a clock that may
    // differ from row to row.
    let now = clock::now(conn).await?;
    let due = trace_dlq::table
        .select((
            (trace_dlq::id, trace_dlq::trace_id, trace_dlq::attempt_of, trace_dlq::channel),
            (
                trace_dlq::payload_json,
                trace_dlq::metadata_json,
                trace_dlq::retry_count,
                trace_dlq::max_retries,
            ),
            (sql::<Nullable<Text>>(SHARE[0]), sql::<Nullable<Text>>(SHARE[1])),
        ))
        .filter(trace_dlq::next_retry_at.le(now))
        .filter(trace_dlq::retry_count.lt(trace_dlq::max_retries))
        .filter(trace_dlq::awaited_channel.is_null())
        .filter(trace_dlq::channel.ne_all(except))
        .filter(trace_dlq::claimed_until.is_null().or(trace_dlq::claimed_until.lt(now)))
        .filter(letters.condition())
        .order((trace_dlq::next_retry_at.asc(), trace_dlq::id.asc()))
        .limit(batch);
    // SQLite has a single writer, which this is. A server may have others, whose locked letters are skipped.
    let due: Vec<Due> = match conn {
        Conn::Sqlite(c) => due.load(c).await?,
        Conn::Postgres(c) => due.for_update().skip_locked().load(&mut **c).await?,
    };
    let ids: Vec<&str> = due.iter().map(|((id, ..), ..)| id.as_str()).collect();
    let claim_columns = (
        trace_dlq::claimed_by.eq(holder),
        trace_dlq::claimed_until.eq(FromNow::seconds(lease.as_secs_f64()).nullable()),
    );
    on!(conn, c => {
        diesel::update(trace_dlq::table.filter(trace_dlq::id.eq_any(ids))).set(claim_columns).execute(c).await
    })?;
    let claimed = |letter: Due| {
        let ((id, trace_id, attempt_of, channel), run, (queue_channel, queue_key)) = letter;
        let (payload_json, metadata_json, retry_count, max_retries) = run;
        let share = |channel_id| LetterShare { channel_id, key: queue_key.unwrap_or_default() };
        ClaimedLetter {
            id,
            trace_id,
            attempt_of,
            channel,
            payload_json,
            metadata_json,
            retry_count,
            max_retries,
            share: queue_channel.map(share),
        }
    };
    Ok(due.into_iter().map(claimed).collect())
}

pub(super) async fn next_due(
    conn: &mut Conn,
    letters: DueLetters,
    except: &[String],
) -> Result<Option<Duration>, StoreError> {
    let now = clock::now(conn).await?;
    let next = trace_dlq::table
        .select(trace_dlq::next_retry_at)
        .filter(trace_dlq::retry_count.lt(trace_dlq::max_retries))
        .filter(trace_dlq::awaited_channel.is_null())
        .filter(trace_dlq::channel.ne_all(except))
        .filter(trace_dlq::claimed_until.is_null().or(trace_dlq::claimed_until.lt(now)))
        .filter(letters.condition())
        .order((trace_dlq::next_retry_at.asc(), trace_dlq::id.asc()));
    let next: Option<LenientTimestamp> = on!(conn, c => next.first(c).await.optional())?;
    let at = next.and_then(|instant| instant.0);
    Ok(at.map(|at| (at - now).to_std().unwrap_or_default()))
}

pub(super) async fn take_into_trace(
    conn: &mut Conn,
    letter: &ClaimedLetter,
    trace: NewTrace,
    holder: &str,
) -> Result<bool, StoreError> {
    let claimed_row =
        trace_dlq::table.filter(trace_dlq::id.eq(&letter.id)).filter(trace_dlq::claimed_by.eq(holder));
    let is_taken = on!(conn, c => diesel::delete(claimed_row).execute(c).await)? > 0;
    if is_taken {
        let id = trace.id;
        TraceWrite::Insert(trace.into()).apply(conn).await?;
        attempts::begin(conn, letter.work(), id).await?;
    }
    Ok(is_taken)
}

/// Gives back a letter whose channel is paused: it rests until the resume. If the channel is not paused any more, it is due
/// after `delay`.
pub(super) async fn rest(
    conn: &mut Conn,
    id: &str,
    holder: &str,
    (channel_id, delay): (&str, Duration),
) -> Result<bool, StoreError> {
    if !hold_pause(conn, channel_id).await? {
        return put_back(conn, id, holder, delay).await;
    }
    let claimed_row = trace_dlq::table.filter(trace_dlq::id.eq(id)).filter(trace_dlq::claimed_by.eq(holder));
    let rests = (
        trace_dlq::awaited_channel.eq(channel_id),
        trace_dlq::claimed_by.eq(None::<&str>),
        trace_dlq::claimed_until.eq(None::<chrono::NaiveDateTime>),
    );
    Ok(on!(conn, c => diesel::update(claimed_row).set(rests).execute(c).await)? > 0)
}

pub(super) async fn put_back(
    conn: &mut Conn,
    id: &str,
    holder: &str,
    delay: Duration,
) -> Result<bool, StoreError> {
    let claimed_row = trace_dlq::table.filter(trace_dlq::id.eq(id)).filter(trace_dlq::claimed_by.eq(holder));
    let free = (
        trace_dlq::next_retry_at.eq(FromNow::seconds(delay.as_secs_f64())),
        trace_dlq::claimed_by.eq(None::<&str>),
        trace_dlq::claimed_until.eq(None::<chrono::NaiveDateTime>),
    );
    let is_held = on!(conn, c => diesel::update(claimed_row).set(free).execute(c).await)? > 0;
    if is_held {
        rows::wait_for_retry(conn, id, delay).await?;
    }
    Ok(is_held)
}
