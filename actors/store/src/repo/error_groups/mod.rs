//! Groups of failures: the rows of failures name their group, and one small row for each group has its facts.
//!
//! A group is stored when a process first sees it, by the group-commit writer and apart from the failure. Each failure is
//! counted once: by its dead letter or its occurrence if it has one, else by its trace.

mod change;
mod known;
mod list;
mod rows;
mod store_new;

use svc_model::{AuditRow, Page};

use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::writer::UnitOutcome;

pub use change::ChangeScope;
pub(crate) use known::KnownGroups;
pub use list::{ErrorGroupFilter, ErrorGroupPage, ErrorGroupRow};
pub(super) use rows::{GroupRows, GroupStatement};
pub(super) use store_new::store_new;

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

    /// Deletes the groups that no failure of the last `hours` was in and no row names, and returns their number. Works in
    /// steps of at most `chunk` rows, between which others can write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Unanswered`] if its answer is
    /// lost, [`StoreError::Database`] if it refuses a statement. Completed steps are kept.
    pub async fn delete_expired(&self, hours: u64, chunk: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = self.0.write(operation("delete_expired"), move |conn| {
                Box::pin(async move { list::delete_expired(conn, hours, chunk).await.map(UnitOutcome::Keep) })
            });
            let step = step.await?;
            deleted += step;
            if step < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }
}
