//! The requests that were counted against quotas.
//!
//! A node reserves a few requests at a time, and counts them before it admits any: whatever ends, no window has more than its
//! limit. The reservations of one key follow each other under a lock of their own, because a sum of slices is no row.

use std::cmp::Reverse;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::config::QuotaTerms;

use crate::clock::{self, FromNow};
use crate::conn::{Conn, on};
use crate::connections::pool::TransactionFn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::schema::quota_counts;

/// The slice whose row is the lock of a key.
const LOCK: i64 = -1;

/// Seconds that a row outlives its window.
const MARGIN: i64 = 60;

/// Keys that are shown of a quota at most.
const SHOWN_KEYS: usize = 1000;

/// Rows that are read to show the keys of a quota.
const SHOWN_ROWS: i64 = 60_000;

/// The counts of quotas, by channel and key.
#[derive(Clone)]
pub struct QuotaCounts(pub(crate) Database);

/// A request of a node for a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaRequest {
    pub channel_id: String,
    /// The key that is counted.
    pub key: String,
    /// The bounds.
    pub terms: QuotaTerms,
}

/// The part of a window in which requests were reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSlice {
    pub channel_id: String,
    /// The key that is counted.
    pub key: String,
    /// The start of the slice, in seconds since 1970.
    pub slice: i64,
}

/// Requests that a node may admit. They are counted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaReservation {
    /// Their number; 0 if the quota is used up.
    pub count: u64,
    /// The start of their slice, in seconds since 1970.
    pub slice: i64,
    /// The time until that slice ends, and with it the reservation.
    pub slice_left: Duration,
    /// The time until the window has room again.
    pub window_left: Duration,
}

/// The use of a quota by one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUsage {
    pub key: String,
    /// Requests of the current window, those that nodes have reserved included.
    pub used: u64,
    /// The time until the window has room again, or begins anew.
    pub window_left: Duration,
}

struct UnusedRequests {
    slice: QuotaSlice,
    count: i64,
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("quota_counts", method)
}

impl QuotaCounts {
    /// Reserves requests of a key: fewer, the fewer are left, so that little is left with nodes that admit none.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn reserve(&self, request: QuotaRequest) -> Result<QuotaReservation, StoreError> {
        let step: TransactionFn<_, _> = |conn, request| Box::pin(reserve(conn, request));
        self.0.transact(operation("reserve"), request, step).await
    }

    /// Gives back requests that were reserved and not admitted.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub async fn give_back(&self, slice: QuotaSlice, count: u64) -> Result<(), StoreError> {
        let unused = UnusedRequests { slice, count: i64::try_from(count).unwrap_or(i64::MAX) };
        let step: TransactionFn<_, _> = |conn, unused| Box::pin(give_back(conn, unused));
        self.0.transact(operation("give_back"), unused, step).await
    }

    /// Lists the keys of a channel with their use, the most used first, a thousand at most.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses a statement.
    pub async fn list(&self, channel_id: &str, terms: QuotaTerms) -> Result<Vec<QuotaUsage>, StoreError> {
        let channel_id = channel_id.to_owned();
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { list(conn, &channel_id, terms).await })
            })
            .await
    }

    /// Deletes the rows of windows that have ended, `chunk` in a step. Returns their number.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub async fn delete_expired(&self, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(delete_expired(conn, chunk))
            })
            .await
    }
}

async fn reserve(conn: &mut Conn, request: &QuotaRequest) -> Result<QuotaReservation, StoreError> {
    let QuotaRequest { channel_id, key, terms } = request;
    lock(conn, request).await?;
    // Behind the lock, so that the instants of reservations follow each other as they do.
    let now = clock::now(conn).await?;
    let (span, second) = (terms.span_at(now), now.and_utc().timestamp());
    let counted = quota_counts::table
        .filter(quota_counts::channel_id.eq(channel_id))
        .filter(quota_counts::quota_key.eq(key))
        .filter(quota_counts::slice.ge(span.first))
        .order(quota_counts::slice.asc())
        .select((quota_counts::slice, quota_counts::used));
    let slices: Vec<(i64, i64)> = on!(conn, c => counted.load(c).await)?;
    let used: i64 = slices.iter().map(|(_, used)| *used).sum();
    let left = terms.limit.saturating_sub(used.unsigned_abs());
    let count = left.min((left / 10).clamp(1, terms.largest_reservation()));
    let oldest = slices.iter().find(|(_, used)| *used > 0).map_or(span.slice, |(slice, _)| *slice);
    let reservation = QuotaReservation {
        count,
        slice: span.slice,
        slice_left: until(span.slice_end, now),
        window_left: until(terms.end_of(oldest, &span), now),
    };
    if count == 0 {
        return Ok(reservation);
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let row = quota_counts::table.find((channel_id, key, span.slice));
    let change = diesel::update(row).set(quota_counts::used.eq(quota_counts::used + count));
    if on!(conn, c => change.execute(c).await)? == 0 {
        let ends_in = terms.end_of(span.slice, &span) - second + MARGIN;
        insert(conn, request, span.slice, count, ends_in).await?;
    }
    Ok(reservation)
}

async fn give_back(conn: &mut Conn, unused: &UnusedRequests) -> Result<(), StoreError> {
    let UnusedRequests { slice: QuotaSlice { channel_id, key, slice }, count } = unused;
    let row = quota_counts::table.find((channel_id, key, *slice));
    let change = diesel::update(row).set(quota_counts::used.eq(quota_counts::used - *count));
    on!(conn, c => change.execute(c).await)?;
    Ok(())
}

/// Locks the row of a key until the transaction ends; SQLite has one writer anyway.
async fn lock(conn: &mut Conn, request: &QuotaRequest) -> Result<(), StoreError> {
    let QuotaRequest { channel_id, key, terms } = request;
    let span = terms.span_at(NaiveDateTime::default());
    // As long as the longest slice that it guards, and a slice more.
    let life = terms.end_of(span.slice_end, &span) - span.slice + (span.slice_end - span.slice) + MARGIN;
    let row = quota_counts::table.find((channel_id, key, LOCK));
    let expiry = quota_counts::ends_at.eq(FromNow::seconds(seconds(life)));
    let hold = diesel::update(row).set(expiry);
    if on!(conn, c => hold.execute(c).await)? == 0 {
        insert(conn, request, LOCK, 0, life).await?;
        let row = quota_counts::table.find((channel_id, key, LOCK));
        let hold = diesel::update(row).set(quota_counts::used.eq(0_i64));
        // The row may be that of another node, which has committed it by now.
        on!(conn, c => hold.execute(c).await)?;
    }
    Ok(())
}

/// Inserts a slice with its count; one that is there stays.
async fn insert(
    conn: &mut Conn,
    request: &QuotaRequest,
    slice: i64,
    used: i64,
    ends_in: i64,
) -> Result<(), StoreError> {
    let row = (
        quota_counts::channel_id.eq(&request.channel_id),
        quota_counts::quota_key.eq(&request.key),
        quota_counts::slice.eq(slice),
        quota_counts::used.eq(used),
        quota_counts::ends_at.eq(FromNow::seconds(seconds(ends_in))),
    );
    let new = diesel::insert_into(quota_counts::table).values(row).on_conflict_do_nothing();
    on!(conn, c => new.execute(c).await)?;
    Ok(())
}

async fn list(conn: &mut Conn, channel_id: &str, terms: QuotaTerms) -> Result<Vec<QuotaUsage>, StoreError> {
    let now = clock::now(conn).await?;
    let span = terms.span_at(now);
    let counted = quota_counts::table
        .filter(quota_counts::channel_id.eq(channel_id))
        .filter(quota_counts::slice.ge(span.first))
        .order((quota_counts::quota_key.asc(), quota_counts::slice.asc()))
        .limit(SHOWN_ROWS)
        .select((quota_counts::quota_key, quota_counts::slice, quota_counts::used));
    let rows: Vec<(String, i64, i64)> = on!(conn, c => counted.load(c).await)?;
    let mut usages: Vec<QuotaUsage> = Vec::new();
    for (key, slice, used) in rows.into_iter().filter(|(_, _, used)| *used > 0) {
        match usages.last_mut().filter(|last| last.key == key) {
            Some(last) => last.used += used.unsigned_abs(),
            None => {
                let window_left = until(terms.end_of(slice, &span), now);
                usages.push(QuotaUsage { key, used: used.unsigned_abs(), window_left });
            }
        }
    }
    usages.sort_by_key(|usage| Reverse(usage.used));
    usages.truncate(SHOWN_KEYS);
    Ok(usages)
}

async fn delete_expired(conn: &mut Conn, chunk: i64) -> Result<u64, StoreError> {
    let now = clock::now(conn).await?;
    let ended = quota_counts::table
        .filter(quota_counts::ends_at.lt(now))
        .order(quota_counts::ends_at.asc())
        .limit(chunk)
        .select((quota_counts::channel_id, quota_counts::quota_key, quota_counts::slice));
    let keys: Vec<(String, String, i64)> = on!(conn, c => ended.load(c).await)?;
    let mut deleted = 0;
    for (channel_id, key, slice) in keys {
        // A lock that was taken again in between stays.
        let row = quota_counts::table.find((channel_id, key, slice)).filter(quota_counts::ends_at.lt(now));
        deleted += on!(conn, c => diesel::delete(row).execute(c).await)?;
    }
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}

/// Returns the time until a second since 1970.
fn until(second: i64, now: NaiveDateTime) -> Duration {
    let left = second.saturating_mul(1000).saturating_sub(now.and_utc().timestamp_millis());
    Duration::from_millis(u64::try_from(left).unwrap_or_default())
}

#[expect(clippy::cast_precision_loss, reason = "some months at most, far below 2^52")]
fn seconds(seconds: i64) -> f64 {
    seconds as f64
}
