//! Changes of single rows that many callers make at once: they are made as one set.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::TraceWrite;

/// The result of a change: `true` if a row was changed.
pub(crate) type RowResult = Result<bool, StoreError>;

/// The changes of a batch and the callers who wait for them.
#[derive(Default)]
pub(super) struct RowBatch {
    changes: Arc<Vec<TraceWrite>>,
    callers: Vec<oneshot::Sender<RowResult>>,
    /// As many as changes, once these were made.
    outcomes: Vec<RowResult>,
}

impl RowBatch {
    pub(super) fn new(rows: impl ExactSizeIterator<Item = (TraceWrite, oneshot::Sender<RowResult>)>) -> Self {
        let (changes, callers): (Vec<_>, Vec<_>) = rows.unzip();
        Self { changes: Arc::new(changes), callers, outcomes: Vec::new() }
    }

    /// Makes the changes, first in the transaction. Where one cannot be made the transaction is begun anew and each is
    /// tried in a savepoint of its own, so that what the database refuses fails alone.
    ///
    /// # Errors
    /// [`StoreError`] when the transaction cannot be used any more.
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
            // Where that fails the transaction is gone, and whose fault that is nobody knows.
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

    /// Answers every caller. What was written depends on the commit.
    pub(super) fn settle(self, commit: &Result<(), StoreError>) {
        let mut outcomes = self.outcomes.into_iter();
        for caller in self.callers {
            let answer = match (outcomes.next(), commit) {
                (Some(Err(refused)), _) => Err(refused),
                (_, Err(error)) => Err(error.clone()),
                (Some(outcome), Ok(())) => outcome,
                (None, Ok(())) => Err(StoreError::Database("a change was not made".into())),
            };
            // A caller that went away has nobody to tell.
            let _gone = caller.send(answer);
        }
    }
}
