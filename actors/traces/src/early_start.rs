//! A submission that begins before its row is on disk, while the 202 waits for the commit.
//!
//! Its run costs one write if it ends before a transaction takes the row, which is then inserted as it ended. Any other
//! end is written after the row. If the row is refused, a run that has not begun is withdrawn; one that has begun leaves
//! nothing, and its submitter learns that it began.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};

use slog::Logger;
use svc_store::{KillStep, NewTrace, OpenTrace, TraceEnd, TraceRepository};
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use crate::ambiguity::wait_until_known;
use crate::backoff::DATABASE_BACKOFF;

/// The job waits for a worker.
const WAITING: u8 = 0;
/// A worker has taken the job.
const BEGUN: u8 = 1;
/// The job is not to begin: its row was refused.
const WITHDRAWN: u8 = 2;

/// The state of a job that may begin before its row is on disk, shared by its submission and its worker.
#[derive(Debug)]
pub(crate) struct EarlyStart {
    id: Uuid,
    /// Gone once its transaction is over, or the row was refused before one: a long run does not keep its input twice.
    row: Weak<OpenTrace>,
    stage: AtomicU8,
    /// `Some(true)` once the row is on disk, `Some(false)` once it is known not to be. Closed without either by a
    /// submission that did not learn it.
    stored: watch::Receiver<Option<bool>>,
}

/// The submission's part: it learns what became of the row. Dropped before that, it leaves the question to the worker.
pub(crate) struct RowOutcome(watch::Sender<Option<bool>>);

impl RowOutcome {
    pub(crate) fn set(self, is_stored: bool) {
        self.0.send_replace(Some(is_stored));
    }
}

impl EarlyStart {
    /// Opens the row of a job, which is to be written.
    pub(crate) fn new(row: NewTrace) -> (Arc<Self>, Arc<OpenTrace>, RowOutcome) {
        let (outcome, stored) = watch::channel(None);
        let (id, row) = (row.id, Arc::new(OpenTrace::new(row)));
        let start = Self { id, row: Arc::downgrade(&row), stage: AtomicU8::new(WAITING), stored };
        (Arc::new(start), row, RowOutcome(outcome))
    }

    /// Begins the job. Returns `false` if it was withdrawn.
    pub(crate) fn begin(&self) -> bool {
        let begins = self.stage.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if begins {
            KillStep::Begun.reach();
        }
        begins
    }

    /// Puts the job back that began and did not run, because its channel had no permit.
    pub(crate) fn wait_again(&self) {
        // One that was withdrawn meanwhile stays so.
        let _ = self.stage.compare_exchange(BEGUN, WAITING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Withdraws the job: it does not begin from now on. Returns `false` if it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        self.stage.swap(WITHDRAWN, Ordering::AcqRel) == WAITING
    }

    /// Ends the run with the row. Returns `false` if the end is to be written after the row.
    pub(crate) fn end(&self, end: &TraceEnd) -> bool {
        KillStep::Ran.reach();
        let is_with_row = self.row.upgrade().is_some_and(|row| row.end(end));
        if is_with_row {
            KillStep::EndedWithRow.reach();
        }
        is_with_row
    }

    /// Waits until it is known whether the row is on disk. Asks the database if the submission did not learn it.
    pub(crate) async fn wait_until_stored(&self, store: &TraceRepository, log: &Logger) -> bool {
        let mut stored = self.stored.clone();
        let known = stored.wait_for(Option::is_some).await.ok().and_then(|stored| *stored);
        if let Some(is_stored) = known {
            return is_stored;
        }
        // A row that waits for its transaction may be behind many others, and the question overtakes them.
        let mut backoff = DATABASE_BACKOFF.delays();
        while self.row.strong_count() > 0 {
            sleep(backoff.next_delay()).await;
        }
        wait_until_known(store, self.id, log).await
    }
}

#[cfg(test)]
mod tests {
    use svc_store::{TraceMode, TraceStatus};

    use super::*;

    #[test]
    fn job_begins_or_is_withdrawn() {
        let open = || {
            let row = NewTrace::new(Uuid::nil(), "c".into(), TraceMode::Async, TraceStatus::Pending);
            let (start, _row, _outcome) = EarlyStart::new(row);
            start
        };
        let begun = open();
        assert!(begun.begin());
        begun.wait_again();
        assert!(begun.begin(), "queued again, it begins again");
        begun.wait_again();
        assert!(begun.withdraw() && !begun.begin(), "queued again, it may be withdrawn");
        let refused = open();
        assert!(refused.begin() && !refused.withdraw());
        refused.wait_again();
        assert!(!refused.begin(), "its row was refused before it was queued again");
        let withdrawn = open();
        assert!(withdrawn.withdraw() && !withdrawn.begin() && !withdrawn.withdraw());
    }
}
