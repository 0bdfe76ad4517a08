//! Changes of single rows by many callers at once, applied as one set.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::TraceWrite;

/// The answer to a change: whether a row was changed.
pub(crate) type RowResult = Result<bool, StoreError>;

/// The changes of a batch and the callers that wait for them.
#[derive(Default)]
pub(super) struct RowBatch {
    changes: Arc<Vec<TraceWrite>>,
    callers: Vec<oneshot::Sender<RowResult>>,
    /// One outcome per change, once they are applied.
    outcomes: Vec<RowResult>,
}

impl RowBatch {
    pub(super) fn new(rows: impl ExactSizeIterator<Item = (TraceWrite, oneshot::Sender<RowResult>)>) -> Self {
        let (changes, callers): (Vec<_>, Vec<_>) = rows.unzip();
        Self { changes: Arc::new(changes), callers, outcomes: Vec::new() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// Applies the changes at the start of the transaction. If one fails, the transaction is restarted and
    /// each change is tried in a savepoint of its own, so that a change that the database refuses fails
    /// alone.
    ///
    /// # Errors
    /// The [`StoreError`] that made the transaction unusable.
    pub(super) async fn run(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        if let Ok(outcomes) = TraceWrite::apply_all(&self.changes, conn).await {
            self.outcomes = outcomes.into_iter().map(Ok).collect();
            return Ok(());
        }
        conn.rollback().await?;
        conn.begin().await?;
        for change in self.changes.iter() {
            conn.savepoint().await?;
            let outcome = change.apply(conn).await;
            // If this fails, the transaction is lost and the cause cannot be attributed to a change.
            match outcome {
                Ok(_) => conn.commit().await?,
                Err(_) => conn.rollback().await?,
            }
            self.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Returns the errors of the changes that failed alone.
    pub(super) fn failures(&self) -> impl Iterator<Item = &StoreError> {
        self.outcomes.iter().filter_map(|outcome| outcome.as_ref().err())
    }

    /// Answers every caller. The answers depend on the commit.
    pub(super) fn settle(self, commit: &Result<(), StoreError>) {
        let mut outcomes = self.outcomes.into_iter();
        for caller in self.callers {
            let answer = match (outcomes.next(), commit) {
                (Some(Err(refused)), _) => Err(refused),
                (_, Err(error)) => Err(error.clone()),
                (Some(outcome), Ok(())) => outcome,
                (None, Ok(())) => Err(StoreError::Database("a change was not made".into())),
            };
            // The caller may be gone.
            let _gone = caller.send(answer);
        }
    }
}
