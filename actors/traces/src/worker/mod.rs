//! A worker of the queue.
//!
//! The actor controls the rate at which jobs are taken; it handles no messages. Its jobs run on a thread that runs
//! channels, one after the other, so that under load no job changes threads. A job is a task of its own from its first
//! step until its outcome is written, so no restart of the actor loses one; if its thread ends before, its outcome is
//! written on the thread of the actor, which does not end before the process does. The worker takes the next job while outcomes are being written, but not while
//! too many are pending: a database that is away stops the work instead of filling the memory.
//!
//! On shutdown it takes no more jobs and waits, within the time allowed, for its jobs and the writes of their
//! outcomes, including those of earlier instances. Whatever remains unwritten is left to the rows, from which the
//! next process resumes it. One instance never runs two jobs at once, except for jobs past their deadline that cannot
//! be dropped yet because their thread is busy.

mod job_loop;
mod running;
mod shared;
mod state;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, HandledCounter, Placement, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::warn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::job::JobThread;
use crate::queue::QueuedJob;
use crate::worker::job_loop::JobLoop;
use crate::worker::running::FinishedJob;

pub(crate) use shared::WorkerShared;
pub(crate) use state::retry_delay;
pub(crate) use stop::{StopSignal, StopStage};

/// Maximum number of jobs of one worker that have begun and whose outcomes are not written.
const MOST_JOBS: u32 = 64;

/// The jobs of a worker, across all its instances.
#[derive(Clone)]
pub(crate) struct WorkerJobs(Arc<Semaphore>);

impl WorkerJobs {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_JOBS as usize)))
    }

    /// Waits for the next job and for room for one more. Cancel-safe: no job is lost.
    async fn next_job(&self, shared: &WorkerShared) -> (QueuedJob, Option<OwnedSemaphorePermit>) {
        // The semaphore is never closed, so the permit is always present.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok();
        // No job may begin while the lease is not proven.
        shared.nodes.wait_until_proven().await;
        (shared.waiting.take().await, permit)
    }

    /// Waits until the outcome of every job is written or the job was dropped.
    pub(crate) async fn wait_until_written(&self) {
        let _all = self.0.acquire_many(MOST_JOBS).await;
    }
}

/// The turn of a job at its worker. The next job begins when it is dropped.
pub(crate) struct WorkerTurn(#[expect(dead_code, reason = "held for its drop")] oneshot::Sender<()>);

/// The actor that runs queued jobs.
pub(crate) struct QueueWorker {
    shared: Arc<WorkerShared>,
    jobs: WorkerJobs,
    patience: Duration,
    stop: watch::Sender<bool>,
}

impl QueueWorker {
    /// Creates a worker. `patience` is the time it gets to finish on shutdown.
    pub(crate) fn new(shared: Arc<WorkerShared>, jobs: WorkerJobs, patience: Duration) -> Self {
        shared.metrics.workers_total.inc();
        Self { shared, jobs, patience, stop: watch::Sender::new(false) }
    }
}

impl Drop for QueueWorker {
    fn drop(&mut self) {
        self.shared.metrics.workers_total.dec();
    }
}

impl Actor for QueueWorker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let work = run_jobs(
            Arc::clone(&self.shared),
            self.jobs.clone(),
            self.stop.subscribe(),
            ctx.handled_counter(),
        );
        ctx.spawn(work.into_actor(self));
    }
}

impl Supervised for QueueWorker {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.stop.send_replace(true);
        let (jobs, patience) = (self.jobs.clone(), self.patience);
        let (log, path) = (self.shared.log.clone(), ctx.path().to_string());
        Box::pin(async move {
            if timeout(patience, jobs.wait_until_written()).await.is_err() {
                warn!(log, "a worker ends before its jobs"; "worker" => path);
            }
        })
    }
}

/// Runs job loops one after the other until the order to stop, each on the next thread that runs channels, or
/// on this one while there is none.
async fn run_jobs(
    shared: Arc<WorkerShared>,
    jobs: WorkerJobs,
    stop: watch::Receiver<bool>,
    handled: HandledCounter,
) {
    while !*stop.borrow() && !shared.stop.has_reached(StopStage::Closing) {
        let start = |thread: Option<JobThread>| {
            let (orphans, left) = mpsc::unbounded_channel();
            let (alive, end) = oneshot::channel();
            let (at, thread) = match thread {
                Some(JobThread { id, at }) => (at, Some(id)),
                None => (Placement::Here, None),
            };
            let job_loop = JobLoop {
                shared: Arc::clone(&shared),
                jobs: jobs.clone(),
                stop: stop.clone(),
                handled: handled.clone(),
                thread,
                orphans,
                alive,
            };
            at.spawn(move || job_loop.run()).then(|| {
                // It outlives the actor; `drain` waits for it through the permits.
                tokio::task::spawn_local(write_orphans(Arc::clone(&shared), left));
                end
            })
        };
        let on_channel_thread = shared.runner.next_thread().and_then(|thread| start(Some(thread)));
        let Some(end) = on_channel_thread.or_else(|| start(None)) else { return };
        let _ended = end.await;
    }
}

/// Writes the outcomes of jobs whose thread has ended first, until their loop and the last of them have ended.
async fn write_orphans(shared: Arc<WorkerShared>, mut orphans: mpsc::UnboundedReceiver<FinishedJob>) {
    while let Some(FinishedJob { mut job, mut verdict }) = orphans.recv().await {
        let shared = Arc::clone(&shared);
        tokio::task::spawn_local(async move {
            tokio::select! {
                biased;
                () = shared.stop.wait_for(StopStage::Ending) => {}
                () = shared.write(&mut job, &mut verdict) => {}
            }
        });
    }
}
