//! A submission that begins before its row is on disk, while the 202 waits for the commit.
//!
//! Its run costs one write if it ends before a transaction takes the row, which is then inserted as it ended. Any other end
//! is written after the row. If the row is refused, a run that has not begun is withdrawn; one that has begun leaves
//! nothing, and its submitter learns that it began.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use slog::Logger;
use svc_store::{NewTrace, OpenTrace, TraceEnd, TraceRepository};
use tokio::sync::watch;
use uuid::Uuid;

use crate::ambiguity::wait_until_known;

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
    row: Arc<OpenTrace>,
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
    /// Opens the row of a job.
    pub(crate) fn new(row: NewTrace) -> (Arc<Self>, RowOutcome) {
        let (outcome, stored) = watch::channel(None);
        let (id, row) = (row.id, Arc::new(OpenTrace::new(row)));
        (Arc::new(Self { id, row, stage: AtomicU8::new(WAITING), stored }), RowOutcome(outcome))
    }

    pub(crate) fn row(&self) -> Arc<OpenTrace> {
        Arc::clone(&self.row)
    }

    /// Begins the job. Returns `false` if it was withdrawn.
    pub(crate) fn begin(&self) -> bool {
        let begun = self.stage.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire);
        begun != Err(WITHDRAWN)
    }

    /// Withdraws the job. Returns `false` if it has begun.
    pub(crate) fn withdraw(&self) -> bool {
        self.stage.compare_exchange(WAITING, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends the run with the row. Returns `false` if the end is to be written after the row.
    pub(crate) fn end(&self, end: &TraceEnd) -> bool {
        self.row.end(end)
    }

    /// Waits until it is known whether the row is on disk. Asks the database if the submission did not learn it.
    pub(crate) async fn wait_until_stored(&self, store: &TraceRepository, log: &Logger) -> bool {
        let mut stored = self.stored.clone();
        let known = stored.wait_for(Option::is_some).await.ok().and_then(|stored| *stored);
        match known {
            Some(is_stored) => is_stored,
            None => wait_until_known(store, self.id, log).await,
        }
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
            EarlyStart::new(row).0
        };
        let begun = open();
        assert!(begun.begin() && !begun.withdraw());
        assert!(begun.begin(), "queued again, it begins again");
        let withdrawn = open();
        assert!(withdrawn.withdraw() && !withdrawn.begin() && !withdrawn.withdraw());
    }
}
