//! The batch: everything that one transaction writes.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::writer::rows::RowBatch;
use crate::writer::unit::WriteUnit;

/// Rows, which need no savepoint while none fails, and units, each in one of its own.
#[derive(Default)]
pub(crate) struct Batch {
    pub(super) units: Vec<Box<dyn WriteUnit>>,
    pub(super) rows: RowBatch,
    /// A trial write beside the batch, to see if writes succeed.
    pub(super) trial: Option<Trial>,
}

/// A write that nobody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// Makes it.
    Write,
    /// Removes what it left.
    Clear,
}

impl Batch {
    /// Runs everything between begin and commit, and the commit. An error applies to the whole batch: nothing is known
    /// to be kept.
    pub(super) async fn run(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        match self.trial {
            Some(Trial::Write) => conn.write_trial().await?,
            Some(Trial::Clear) => conn.clear_trial().await?,
            None => {}
        }
        self.rows.run(conn).await?;
        for unit in &mut self.units {
            conn.savepoint().await?;
            let keep = AssertUnwindSafe(unit.run(conn)).catch_unwind().await.unwrap_or_else(|_| {
                unit.fail(StoreError::Database("a unit of work panicked".into()));
                false
            });
            if keep {
                conn.commit().await?;
            } else {
                conn.rollback().await?;
            }
        }
        conn.commit().await.map_err(StoreError::into_commit_failure)
    }

    /// Returns why the database could not write a part of it that failed alone, where that is the database's own state,
    /// such as a full disk.
    pub(super) fn unwritable_failure(&self) -> Option<String> {
        let units = self.units.iter().filter_map(|unit| unit.failure());
        units.chain(self.rows.failures()).find(|error| error.is_unwritable()).map(ToString::to_string)
    }

    /// Answers every caller.
    pub(super) fn settle(self, commit: &Result<(), StoreError>) {
        self.units.into_iter().for_each(|unit| unit.settle(commit));
        self.rows.settle(commit);
    }
}
