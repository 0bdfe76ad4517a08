//! Groups of failures: the rows of failures name their group, and one small row for each group has its facts.
//!
//! A group is stored when a process first sees it, by the group-commit writer and apart from the failure. Each failure is
//! counted once: by its dead letter or its occurrence if it has one, else by its trace.
//!
//! The failures of the last minutes are in counts of their own, which each process adds to every few seconds: a list of
//! the last hour reads no rows of failures.

mod change;
mod counts;
mod known;
mod list;
mod rows;
mod store_new;
mod tally;

use svc_model::{AuditRow, Page};

use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::writer::UnitOutcome;

pub use change::ChangeScope;
pub use counts::{COUNTED_MINUTES, ErrorGroupCount, RecentErrors};
pub(crate) use known::KnownGroups;
pub use list::{ErrorGroupFilter, ErrorGroupPage, ErrorGroupRow};
pub(super) use rows::{GroupRows, GroupStatement};
pub(super) use store_new::store_new;
pub(crate) use tally::FailureTally;

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("error_groups", method)
}

/// The groups of failures.
#[derive(Clone)]
pub struct ErrorGroups(pub(crate) Database);

impl ErrorGroups {
    /// Returns a page of the groups that have failures which match, those with the most failures first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn list(&self, filter: ErrorGroupFilter, page: Page) -> Result<ErrorGroupPage, StoreError> {
        self.0
            .read(operation("list"), move |conn| {
                Box::pin(async move { list::list(conn, filter, page).await })
            })
            .await
    }

    /// Returns the last change of each scope; `None` if there was none.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn last_changes(&self, scopes: Vec<ChangeScope>) -> Result<Vec<Option<AuditRow>>, StoreError> {
        self.0
            .read(operation("last_changes"), move |conn| {
                Box::pin(async move { change::last_changes(conn, &scopes).await })
            })
            .await
    }

    /// Begins to count the failures that this process stores. [`flush_counts`](Self::flush_counts) has to be called from
    /// then on.
    pub fn keep_counts(&self) {
        self.0.failure_tally().keep();
    }

    /// Adds the failures since the last call to the counts of this minute. Does nothing if there were none. What could not
    /// be added is added by a later call, unless the answer was lost.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn flush_counts(&self) -> Result<(), StoreError> {
        let counts = self.0.failure_tally().take();
        if counts.is_empty() {
            return Ok(());
        }
        let added = self.0.transact(operation("flush_counts"), counts.clone(), |conn, counts| {
            Box::pin(counts::add(conn, counts))
        });
        let added = added.await;
        if added.as_ref().is_err_and(|error| matches!(error, StoreError::Unavailable(_))) {
            self.0.failure_tally().give_back(&counts);
        }
        added
    }

    /// Deletes the counts that no list shows any more.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement.
    pub async fn delete_old_counts(&self) -> Result<(), StoreError> {
        self.0
            .write(operation("delete_old_counts"), |conn| {
                Box::pin(async move { counts::delete_old(conn).await.map(UnitOutcome::Keep) })
            })
            .await
    }

    /// Returns the groups with the most failures of the last `minutes`, at most [`COUNTED_MINUTES`], by their counts.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the query.
    pub async fn recent(&self, minutes: u32, limit: usize) -> Result<RecentErrors, StoreError> {
        self.0
            .read(operation("recent"), move |conn| {
                Box::pin(async move { counts::recent(conn, minutes, limit).await })
            })
            .await
    }

    /// Deletes the groups that no failure of the last `hours` was in and no row names, and returns their number. Works in
    /// steps of at most `chunk` rows, between which others can write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        self.0
            .delete_in_steps(operation("delete_expired"), chunk, move |conn| {
                Box::pin(list::delete_expired(conn, hours, chunk))
            })
            .await
    }
}
