//! The ends of runs, for those who watch. Without a watcher a run costs one look at a flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use svc_model::{RunEnd, Timestamp, WorkflowVersion};
use tokio::time::Instant;
use uuid::Uuid;

/// Ends of each of the two kinds, completed and other ones, that are kept between two looks.
const KEPT: usize = 100;

/// The way in which a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSource {
    /// Its caller waits for the answer.
    Sync,
    /// It was accepted earlier.
    Async,
    /// An occurrence of a schedule.
    Cron,
    /// A record of a topic.
    Kafka,
    /// A task of another run.
    Call,
}

impl RunSource {
    /// Returns the name in bodies: that of the mode of a trace, or `call`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Cron => "cron",
            Self::Kafka => "kafka",
            Self::Call => "call",
        }
    }
}

/// The end of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// The id of the run, under which its trace is stored if it is traced.
    pub id: Uuid,
    /// The time of the end.
    pub ended_at: Timestamp,
    /// Name of the channel.
    pub channel: Arc<str>,
    /// The way in which it began.
    pub source: RunSource,
    /// The version of the workflow that it was given to.
    pub workflow: Option<WorkflowVersion>,
    pub end: RunEnd,
    /// Code of the error by which it failed.
    pub error_code: Option<&'static str>,
    /// Its duration, for a run that began while somebody watched.
    pub took: Duration,
}

/// The ends since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedRunBatch {
    /// The oldest of them, those that did not complete first.
    pub runs: Vec<EndedRun>,
    /// Number of all of them.
    pub total: u64,
}

#[derive(Debug, Default)]
struct KeptEnds {
    completed: Vec<EndedRun>,
    others: Vec<EndedRun>,
    total: u64,
}

#[derive(Debug, Default)]
struct EndedRunsInner {
    is_watched: AtomicBool,
    kept: Mutex<KeptEnds>,
}

/// The ends of the runs of all channels since the last look, a bounded number. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct EndedRuns(Arc<EndedRunsInner>);

impl EndedRuns {
    /// Keeps ends from now on.
    pub fn watch(&self) {
        self.0.is_watched.store(true, Ordering::Relaxed);
    }

    /// Keeps no further end, and forgets those that were kept.
    pub fn unwatch(&self) {
        self.0.is_watched.store(false, Ordering::Relaxed);
        *self.0.kept.lock() = KeptEnds::default();
    }

    /// Takes the ends since the last call.
    pub fn take(&self) -> EndedRunBatch {
        let KeptEnds { completed, others: mut runs, total } = std::mem::take(&mut *self.0.kept.lock());
        runs.extend(completed);
        EndedRunBatch { runs, total }
    }

    /// Returns the instant at which a run begins; `None` without a watcher.
    pub(crate) fn begin(&self) -> Option<Instant> {
        self.0.is_watched.load(Ordering::Relaxed).then(Instant::now)
    }

    /// Keeps the end of a run, which `describe` makes if there is room for it.
    pub(crate) fn record(&self, end: RunEnd, describe: impl FnOnce() -> EndedRun) {
        let mut kept = self.0.kept.lock();
        kept.total += 1;
        let list = if end == RunEnd::Completed { &mut kept.completed } else { &mut kept.others };
        if list.len() < KEPT {
            list.push(describe());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(runs: &EndedRuns) {
        let Some(started) = runs.begin() else { return };
        runs.record(RunEnd::Completed, || EndedRun {
            id: Uuid::now_v7(),
            ended_at: Timestamp::now(),
            channel: "orders".into(),
            source: RunSource::Sync,
            workflow: None,
            end: RunEnd::Completed,
            error_code: None,
            took: started.elapsed(),
        });
    }

    #[test]
    fn ends_are_kept_while_watched() {
        let runs = EndedRuns::default();
        record(&runs);
        assert_eq!(runs.take(), EndedRunBatch::default());
        runs.watch();
        record(&runs);
        let batch = runs.take();
        assert_eq!((batch.total, batch.runs.len(), &*batch.runs[0].channel), (1, 1, "orders"));
        assert_eq!(runs.take().total, 0);
        record(&runs);
        runs.unwatch();
        record(&runs);
        assert_eq!(runs.take(), EndedRunBatch::default());
    }

    #[test]
    fn kept_ends_are_bounded_and_counted() {
        let runs = EndedRuns::default();
        runs.watch();
        (0..=KEPT).for_each(|_| record(&runs));
        let batch = runs.take();
        assert_eq!((batch.total, batch.runs.len()), (101, KEPT));
    }
}
