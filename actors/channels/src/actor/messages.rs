//! The messages of a channel actor.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::Message;
use futures_util::FutureExt;
use svc_model::ServiceError;
use svc_traces::{Job, JobResult};

use crate::answer::response::ChannelResponse;
use crate::request::DataRequest;
use crate::run::{PinnedVersion, RecordBatch, ScheduledRun, ScheduledRunResult};

/// Serves one message. Read-only: a payload that makes the run panic costs its own response and nothing else.
///
/// Boxed, because many futures hold it on its way.
#[derive(Debug, Message)]
#[rtype(result = "Result<ChannelResponse, ServiceError>")]
pub struct Submit(pub Box<DataRequest>);

/// Runs an accepted job. Read-only, as [`Submit`] is.
#[derive(Debug, Message)]
#[rtype(result = "JobResult")]
pub struct RunJob {
    pub job: Job,
    /// Upper bound of its duration; the channel may set a lower one.
    pub limit: Duration,
    /// The version of the workflow, in place of the one that serves the job.
    pub pinned: Option<PinnedVersion>,
    /// Raised if the run panics.
    pub panicked: PanicFlag,
}

/// Distinguishes a run that panicked from one that was cut off: the caller of either gets no answer.
#[derive(Clone, Debug, Default)]
pub struct PanicFlag(Arc<AtomicBool>);

impl PanicFlag {
    /// Returns `true` once the run has panicked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Returns the result of a run. A panic raises the flag and goes on.
    pub(super) fn watch<T>(self, run: impl Future<Output = T>) -> impl Future<Output = T> {
        AssertUnwindSafe(run).catch_unwind().map(move |ended| match ended {
            Ok(result) => result,
            Err(panic) => {
                self.0.store(true, Ordering::Release);
                resume_unwind(panic)
            }
        })
    }
}

/// Runs a scheduled channel. Read-only, as [`Submit`] is; the run is dropped when it is aborted or its caller leaves.
#[derive(Debug, Message)]
#[rtype(result = "ScheduledRunResult")]
pub struct RunScheduled(pub ScheduledRun);

/// Runs consecutive records of a partition. Read-only, as [`Submit`] is; the run is dropped when its caller leaves.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct RunRecords(pub RecordBatch);

/// Returns the version of the channel that the actor runs. It passes through the mailbox, so an answer proves that the
/// actor is alive.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "i64")]
pub struct ProbeVersion;
