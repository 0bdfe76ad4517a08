//! The content of one transaction.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::writer::kill_step::KillStep;
use crate::writer::rows::RowBatch;
use crate::writer::unit::WriteUnit;

/// Rows, which need no savepoint while none fails, and units, each in a savepoint of its own unless it is alone.
#[derive(Default)]
pub(crate) struct Batch {
    pub(super) units: Vec<Box<dyn WriteUnit>>,
    pub(super) rows: RowBatch,
    /// An additional write that tests whether the database accepts any.
    pub(super) trial: Option<Trial>,
}

/// A write of unused data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// Writes the data.
    Write,
    /// Removes the data.
    Clear,
}

impl Batch {
    /// Runs everything after the begin, including the commit; returns the time that the commit took. An error
    /// belongs to no single caller: nothing is known to be kept.
    pub(super) async fn run(&mut self, conn: &mut Conn) -> Result<Duration, StoreError> {
        match self.trial {
            Some(Trial::Write) => conn.write_trial().await?,
            Some(Trial::Clear) => conn.clear_trial().await?,
            None => {}
        }
        self.rows.run(conn).await?;
        match &mut *self.units {
            // It has the transaction to itself.
            [unit] if self.rows.is_empty() && self.trial.is_none() => {
                if !run_unit(unit, conn).await {
                    return conn.rollback().await.map(|()| Duration::ZERO);
                }
            }
            units => {
                for unit in units {
                    conn.savepoint().await?;
                    if run_unit(unit, conn).await {
                        conn.commit().await?;
                    } else {
                        conn.rollback().await?;
                    }
                }
            }
        }
        let has_rows = !self.rows.is_empty();
        if has_rows {
            KillStep::RowsWritten.reach();
        }
        let started_at = Instant::now();
        conn.commit().await.map_err(StoreError::into_commit_failure)?;
        let took = started_at.elapsed();
        if has_rows {
            KillStep::RowsCommitted.reach();
        }
        Ok(took)
    }

    /// Returns the error of a part that failed alone, if the cause is the state of the database itself, such
    /// as a full disk.
    pub(super) fn unwritable_failure(&self) -> Option<StoreError> {
        let units = self.units.iter().filter_map(|unit| unit.failure());
        units.chain(self.rows.failures()).find(|error| error.is_unwritable()).cloned()
    }

    /// Returns `true` for the batch of a probe, which no caller waits for.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.units.is_empty()
    }

    /// Returns `true` if the database refused a row that it tried alone.
    pub(super) fn has_refused_row(&self) -> bool {
        self.rows.failures().next().is_some()
    }

    /// Answers every caller.
    pub(super) fn settle(self, commit: &Result<(), StoreError>) {
        self.units.into_iter().for_each(|unit| unit.settle(commit));
        self.rows.settle(commit);
    }
}

/// Does the work of a unit. Returns whether to keep it.
async fn run_unit(unit: &mut Box<dyn WriteUnit>, conn: &mut Conn) -> bool {
    AssertUnwindSafe(unit.run(conn)).catch_unwind().await.unwrap_or_else(|_| {
        unit.fail(StoreError::Database("a unit of work panicked".into()));
        false
    })
}
