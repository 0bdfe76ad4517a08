//! The specification of a recurring job: its name, its interval and its work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// The reason why a run of a job failed, for the log.
pub(crate) type JobError = Box<dyn std::error::Error + Send + Sync>;

/// The result of a run that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPass {
    /// The work was done.
    Done,
    /// Another process does the work.
    Skipped,
}

/// The work of a job.
pub(crate) type JobWork = Arc<dyn Fn() -> BoxFuture<'static, Result<JobPass, JobError>> + Send + Sync>;

/// The specification of a recurring job.
#[derive(Clone)]
pub(crate) struct JobSpec {
    /// Name of the job in the tree and in metrics.
    pub(crate) name: &'static str,
    /// Time between two starts. Fractions of a second are dropped; the minimum is one second.
    pub(crate) every: Duration,
    /// The work of one run.
    pub(crate) work: JobWork,
}

impl fmt::Debug for JobSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSpec")
            .field("name", &self.name)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}
