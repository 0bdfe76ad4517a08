//! Dead letters: failed asynchronous runs that wait for another attempt.
//!
//! A retry turns the letter into a new trace and deletes it. A node first claims the letter under a lease on
//! the database clock, so that only one of several nodes retries it.

mod bulk;
mod lease;
mod list;
mod rows;

use std::collections::HashSet;
use std::time::Duration;

use svc_model::{Page, ServiceError};

use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::traces::NewTrace;
use crate::writer::UnitOutcome;

pub(in crate::repo) use bulk::{purge_each, requeue_each};
pub use lease::DueLetters;
pub use rows::{ClaimedLetter, DeadLetter, DeadLetterFilter, DeadLetterPage, DeadLetterRow, LetterShare};

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("dead_letters", method)
}

/// The dead letters.
#[derive(Clone)]
pub struct DeadLetterRepository(pub(crate) Database);

impl DeadLetterRepository {
    /// Returns a page of the letters that match the filter, in its order, and the number of all matches.
    ///
    /// # Errors
    /// As [`list_page`](Self::list_page).
    pub async fn list(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<(Vec<DeadLetterRow>, i64), StoreError> {
        let page = self.list_page(filter, page).await?;
        Ok((page.rows, page.total.unwrap_or_default()))
    }

    /// Returns a page of the letters that match the filter, in its order, and the counts that the filter asks for.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 for an invalid cursor; [`StoreError::Unavailable`] while the database is away,
    /// [`StoreError::Database`] if it refuses the query.
    pub async fn list_page(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<DeadLetterPage, StoreError> {
        let after = filter.after()?;
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { list::list(conn, &filter, page, after).await })
            })
            .await
    }

    /// Returns the letter with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn get(&self, id: &str) -> Result<Option<DeadLetter>, StoreError> {
        let id = key(id);
        self.0.read(operation("get"), move |conn| Box::pin(async move { rows::get(conn, &id).await })).await
    }

    /// Returns the number of letters.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn depth(&self) -> Result<i64, StoreError> {
        self.0.read(operation("depth"), |conn| Box::pin(rows::depth(conn))).await
    }

    /// Returns the number of letters without a retry left.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn count_exhausted(&self) -> Result<i64, StoreError> {
        self.0.read(operation("exhausted"), |conn| Box::pin(rows::count_exhausted(conn))).await
    }

    /// Returns those of these letters whose work waits for its retry, and so has its room among the work that waits.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn find_retrying(&self, ids: &[String]) -> Result<HashSet<String>, StoreError> {
        let ids: Vec<String> = ids.iter().map(|id| key(id)).collect();
        self.0
            .read(operation("find_retrying"), move |conn| {
                Box::pin(async move { bulk::find_retrying(conn, &ids).await })
            })
            .await
    }

    /// Restores all retries of a letter and makes it due now, even if it is held. Returns its new state.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
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

    /// Deletes the letters that have no retry left and are older than `older_than_hours`, and returns their
    /// number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn purge(&self, older_than_hours: u64, mutation: Mutation) -> Result<u64, StoreError> {
        mutate(&self.0, operation("purge"), mutation, move |conn| {
            Box::pin(async move {
                let purged = rows::purge(conn, older_than_hours).await?;
                Ok(MutationResult {
                    value: purged,
                    id: (purged > 0).then(String::new),
                    facts: ChangeFacts::default(),
                })
            })
        })
        .await
    }

    /// Deletes the letters that have no retry left and are older than `hours`, and returns their number.
    /// Letters that wait for a retry stay. Works in steps of at most `chunk` rows, between which others can
    /// write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(rows::delete_expired(conn, hours, chunk))
            })
            .await
    }

    /// Claims at most `batch` letters for `lease`: of `letters` those that are due, have a retry left and no holder; the
    /// longest due first. Those that wait for the resume of a paused channel are left.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn claim_due(
        &self,
        letters: DueLetters,
        batch: i64,
        lease: Duration,
        holder: &str,
    ) -> Result<Vec<ClaimedLetter>, StoreError> {
        self.claim_due_except(letters, Vec::new(), (batch, lease), holder).await
    }

    /// Does the same, but for the letters of the channels with the names in `except`.
    ///
    /// # Errors
    /// As [`claim_due`](Self::claim_due).
    pub async fn claim_due_except(
        &self,
        letters: DueLetters,
        except: Vec<String>,
        (batch, lease): (i64, Duration),
        holder: &str,
    ) -> Result<Vec<ClaimedLetter>, StoreError> {
        let holder = holder.to_owned();
        self.0
            .write(operation("claim_due"), move |conn| {
                Box::pin(async move {
                    lease::claim_due(conn, (letters, &except), (batch, lease), &holder)
                        .await
                        .map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Returns the time until the next of `letters` is due that has a retry left and no holder, and waits for no resume;
    /// zero if one is due now.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn next_due(&self, letters: DueLetters) -> Result<Option<Duration>, StoreError> {
        self.next_due_except(letters, Vec::new()).await
    }

    /// Does the same, but for the letters of the channels with the names in `except`.
    ///
    /// # Errors
    /// As [`next_due`](Self::next_due).
    pub async fn next_due_except(
        &self,
        letters: DueLetters,
        except: Vec<String>,
    ) -> Result<Option<Duration>, StoreError> {
        self.0
            .read(operation("next_due"), move |conn| {
                Box::pin(async move { lease::next_due(conn, letters, &except).await })
            })
            .await
    }

    /// Turns a letter claimed by `holder` into a trace, the next attempt at its work, which ends the letter. Returns
    /// `false`, and writes no trace, if the claim of `holder` is lost.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. The latter also if a trace with this id
    /// exists.
    pub async fn take_into_trace(
        &self,
        letter: &ClaimedLetter,
        trace: NewTrace,
        holder: &str,
    ) -> Result<bool, StoreError> {
        let (letter, holder) = (letter.clone(), holder.to_owned());
        self.0
            .write(operation("take_into_trace"), move |conn| {
                Box::pin(async move {
                    lease::take_into_trace(conn, &letter, trace, &holder).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }

    /// Gives back a letter held by `holder` because its channel is paused: it rests until the resume, which frees it. If
    /// the channel is not paused any more, the letter is due after `delay`. Returns whether `holder` held it.
    ///
    /// # Errors
    /// As [`put_back`](Self::put_back).
    pub async fn rest(
        &self,
        id: &str,
        holder: &str,
        channel_id: &str,
        delay: Duration,
    ) -> Result<bool, StoreError> {
        // It may wait for a resume of another node, which must not wait for writes that it meets in one transaction.
        let terms = (key(id), holder.to_owned(), key(channel_id), delay);
        self.0
            .transact(operation("rest"), terms, |conn, terms| {
                let (id, holder, channel_id, delay) = terms;
                Box::pin(lease::rest(conn, id, holder, (channel_id.as_str(), *delay)))
            })
            .await
    }

    /// Gives back a letter held by `holder`, due again after `delay`. Returns whether `holder` held it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
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
