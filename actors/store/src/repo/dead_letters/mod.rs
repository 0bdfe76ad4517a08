//! Dead letters: asynchronous runs that failed and wait for another attempt.
//!
//! A letter that is retried becomes a trace again and is gone. Who retries holds it first, for as long as a lease on
//! the database clock lasts, so that of several nodes one does.

mod lease;
mod rows;

use std::time::Duration;

use svc_model::{Page, ServiceError};

use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::traces::NewTrace;
use crate::repo::{is_impossible, key};
use crate::store::Store;
use crate::writer::UnitOutcome;

pub use rows::{ClaimedLetter, DeadLetter, DeadLetterFilter, DeadLetterRow};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("dead_letters", method)
}

/// The dead letters.
#[derive(Clone)]
pub struct DeadLetterRepository(pub(crate) Store);

impl DeadLetterRepository {
    /// The letters that pass the filter, newest first: a page of them, and how many there are in all.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn list(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<(Vec<DeadLetterRow>, i64), StoreError> {
        if is_impossible([&filter.channel]) {
            return Ok((Vec::new(), 0));
        }
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { rows::list(conn, &filter, page).await })
            })
            .await
    }

    /// The letter of that id.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn get(&self, id: &str) -> Result<Option<DeadLetter>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { rows::get(conn, &id).await })).await
    }

    /// Counts the letters.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn depth(&self) -> Result<i64, StoreError> {
        self.0.read(operation("depth"), |conn| Box::pin(rows::depth(conn))).await
    }

    /// Counts the letters that have no retry left.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn exhausted(&self) -> Result<i64, StoreError> {
        self.0.read(operation("exhausted"), |conn| Box::pin(rows::exhausted(conn))).await
    }

    /// Gives a letter all its retries back and makes it due now, whoever holds it; answers what it is then.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn requeue(&self, id: &str, mutation: Mutation) -> Result<DeadLetter, StoreError> {
        let id = key(id);
        mutate(&self.0, operation("requeue"), mutation, move |conn| {
            Box::pin(async move {
                rows::requeue(conn, &id).await?;
                let letter = rows::get(conn, &id)
                    .await?
                    .ok_or_else(|| ServiceError::not_found(format!("dead letter '{id}' does not exist")))?;
                Ok(MutationResult::new(letter, &id))
            })
        })
        .await
    }

    /// Deletes the letters that have no retry left and are older than so many hours; answers how many.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn purge(&self, older_than_hours: u64, mutation: Mutation) -> Result<u64, StoreError> {
        mutate(&self.0, operation("purge"), mutation, move |conn| {
            Box::pin(async move {
                let purged = rows::purge(conn, older_than_hours).await?;
                Ok(MutationResult { value: purged, id: (purged > 0).then(String::new) })
            })
        })
        .await
    }

    /// Deletes the letters that have no retry left and are older than so many hours; answers how many. Those that wait
    /// for a retry stay. Works in steps of at most `chunk` rows, between which others write.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer; earlier steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = self.0.write(operation("delete_expired"), move |conn| {
                Box::pin(async move { rows::delete_expired(conn, hours, chunk).await.map(UnitOutcome::Keep) })
            });
            let step = step.await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }

    /// Takes at most `batch` letters that are due, have a retry left and are held by nobody, for `lease`; the one due
    /// longest first.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn claim_due(
        &self,
        batch: i64,
        lease: Duration,
        holder: &str,
    ) -> Result<Vec<ClaimedLetter>, StoreError> {
        let holder = holder.to_owned();
        self.0
            .write(operation("claim_due"), move |conn| {
                Box::pin(
                    async move { lease::claim_due(conn, batch, lease, &holder).await.map(UnitOutcome::Keep) },
                )
            })
            .await
    }

    /// Time until the next letter is due that has a retry left and is held by nobody; zero for one that is due.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn next_due(&self) -> Result<Option<Duration>, StoreError> {
        self.0.read(operation("next_due"), |conn| Box::pin(lease::next_due(conn))).await
    }

    /// Makes a trace of a letter that `holder` holds, which ends the letter; answers whether it held it. Where it did
    /// not, no trace is written.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Unanswered`] when the database is away, [`StoreError::Database`]
    /// when it has a trace of that id.
    pub async fn take_into_trace(&self, id: &str, trace: NewTrace, holder: &str) -> Result<bool, StoreError> {
        let (id, holder) = (key(id), holder.to_owned());
        self.0
            .write(operation("take_into_trace"), move |conn| {
                Box::pin(async move {
                    lease::take_into_trace(conn, &id, trace, &holder).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Gives a letter back that `holder` holds, due again after `delay`; answers whether it held it.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn put_back(&self, id: &str, holder: &str, delay: Duration) -> Result<bool, StoreError> {
        let (id, holder) = (key(id), holder.to_owned());
        self.0
            .write(operation("put_back"), move |conn| {
                Box::pin(
                    async move { lease::put_back(conn, &id, &holder, delay).await.map(UnitOutcome::Keep) },
                )
            })
            .await
    }
}
