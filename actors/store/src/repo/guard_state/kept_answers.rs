//! The answers that repeats of a request get, each under its idempotency key.
//!
//! A row is a text with an end, by the clock of the database: the claim of a run, then its answer. Each change names the
//! text that it replaces, so that a run whose claim has ended and was taken over changes nothing.

use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::clock::{self, FromNow, Now};
use crate::conn::{Conn, on};
use crate::connections::pool::TransactionFn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::schema::kept_answers;

/// The kept answers, by the names of their keys.
#[derive(Clone)]
pub struct KeptAnswers(pub(crate) Database);

/// A change of one row.
struct AnswerChange {
    name: String,
    /// The text that the row has.
    entry: String,
    /// The text that replaces it.
    successor: String,
    life: Duration,
}

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("kept_answers", method)
}

impl KeptAnswers {
    /// Reads the text under a name, until its end.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses a statement.
    pub async fn read(&self, name: String) -> Result<Option<String>, StoreError> {
        self.0
            .read(operation("read"), move |conn| {
                Box::pin(async move {
                    let row = kept_answers::table
                        .find(name)
                        .filter(kept_answers::expires_at.gt(Now))
                        .select(kept_answers::entry);
                    let entry: Option<String> = on!(conn, c => row.first(c).await.optional())?;
                    Ok(entry)
                })
            })
            .await
    }

    /// Puts a text under a name that is free, or that has this text, for `life` from now; `false` if it has another.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is lost,
    /// [`StoreError::Database`] if it refuses a statement.
    pub async fn claim(&self, name: String, entry: String, life: Duration) -> Result<bool, StoreError> {
        let change = AnswerChange { name, successor: entry.clone(), entry, life };
        // Claims of one batch would lock their rows in the orders of two nodes: each has a transaction of its own.
        let step: TransactionFn<_, _> = |conn, change| Box::pin(claim(conn, change));
        self.0.transact(operation("claim"), change, step).await
    }

    /// Replaces the text under a name, for `life` from now; `false` if it has another text.
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub async fn transfer(
        &self,
        name: String,
        entry: String,
        successor: String,
        life: Duration,
    ) -> Result<bool, StoreError> {
        let change = AnswerChange { name, entry, successor, life };
        let step: TransactionFn<_, _> = |conn, change| Box::pin(transfer(conn, change));
        self.0.transact(operation("transfer"), change, step).await
    }

    /// Removes the text under a name, if it is this one.
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub async fn release(&self, name: String, entry: String) -> Result<(), StoreError> {
        let change = AnswerChange { name, successor: String::new(), entry, life: Duration::ZERO };
        let step: TransactionFn<_, _> = |conn, change| Box::pin(release(conn, change));
        self.0.transact(operation("release"), change, step).await
    }

    /// Deletes the rows whose end has come, `chunk` in a step. Returns their number.
    ///
    /// # Errors
    /// Those of [`claim`](Self::claim).
    pub async fn delete_expired(&self, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(delete_expired(conn, chunk))
            })
            .await
    }
}

async fn claim(conn: &mut Conn, change: &AnswerChange) -> Result<bool, StoreError> {
    let expires_at = FromNow::seconds(change.life.as_secs_f64());
    let first = (
        kept_answers::name.eq(&change.name),
        kept_answers::entry.eq(&change.successor),
        kept_answers::expires_at.eq(expires_at.clone()),
    );
    let new = diesel::insert_into(kept_answers::table).values(first).on_conflict_do_nothing();
    if on!(conn, c => new.execute(c).await)? > 0 {
        return Ok(true);
    }
    let free = kept_answers::table
        .find(&change.name)
        .filter(kept_answers::expires_at.le(Now).or(kept_answers::entry.eq(&change.entry)));
    let columns = (kept_answers::entry.eq(&change.successor), kept_answers::expires_at.eq(expires_at));
    Ok(on!(conn, c => diesel::update(free).set(columns).execute(c).await)? > 0)
}

async fn transfer(conn: &mut Conn, change: &AnswerChange) -> Result<bool, StoreError> {
    let own = kept_answers::table.find(&change.name).filter(kept_answers::entry.eq(&change.entry));
    let columns = (
        kept_answers::entry.eq(&change.successor),
        kept_answers::expires_at.eq(FromNow::seconds(change.life.as_secs_f64())),
    );
    Ok(on!(conn, c => diesel::update(own).set(columns).execute(c).await)? > 0)
}

async fn release(conn: &mut Conn, change: &AnswerChange) -> Result<(), StoreError> {
    let own = kept_answers::table.find(&change.name).filter(kept_answers::entry.eq(&change.entry));
    on!(conn, c => diesel::delete(own).execute(c).await)?;
    Ok(())
}

async fn delete_expired(conn: &mut Conn, chunk: i64) -> Result<u64, StoreError> {
    let now = clock::now(conn).await?;
    let ended = kept_answers::table
        .filter(kept_answers::expires_at.lt(now))
        .order(kept_answers::expires_at.asc())
        .limit(chunk)
        .select(kept_answers::name);
    let names: Vec<String> = on!(conn, c => ended.load(c).await)?;
    // One that was claimed anew in between stays.
    let rows =
        kept_answers::table.filter(kept_answers::name.eq_any(names)).filter(kept_answers::expires_at.lt(now));
    let deleted = on!(conn, c => diesel::delete(rows).execute(c).await)?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
