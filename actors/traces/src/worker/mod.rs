//! A worker of the queue.
//!
//! Owns the pace at which jobs are taken; no messages. A job is a task of its own from its first step until its end is
//! written, so no restart of the actor loses one. The next is taken while ends are being written, but none while too
//! many are: a database that is away stops the work instead of filling the memory. When it is ordered to end it takes
//! nothing more and waits, within the time allowed, for its jobs and their ends, those of earlier instances included;
//! what the process does not live to see is left to the rows, from which the next one takes it up. One instance never
//! runs two jobs at once, but for those past their deadline that cannot be dropped yet, because their thread is busy.

mod shared;
mod state;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, HandledCounter, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::warn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::timeout;

use crate::queue::QueuedJob;

pub(crate) use shared::WorkerShared;
pub(crate) use state::retry_delay;
pub(crate) use stop::{StopSignal, StopStage};

/// Jobs that one worker may have begun and not written the ends of.
const MOST_JOBS: u32 = 64;

/// The jobs of a worker, whichever instance began them.
#[derive(Clone)]
pub(crate) struct WorkerJobs(Arc<Semaphore>);

impl WorkerJobs {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_JOBS as usize)))
    }

    /// The next job, when there is room for one more. Dropping the future loses none.
    async fn next(&self, shared: &WorkerShared) -> (QueuedJob, Option<OwnedSemaphorePermit>) {
        // It is never closed, so there is a permit.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok();
        // While the lease is not proven nothing may begin.
        shared.nodes.proven().await;
        (shared.waiting.take().await, permit)
    }

    /// Waits until the end of each is written, or it was dropped.
    pub(crate) async fn written(&self) {
        let _all = self.0.acquire_many(MOST_JOBS).await;
    }
}

/// The turn of a job at its worker: the next one begins when it is dropped.
pub(crate) struct WorkerTurn(#[expect(dead_code, reason = "held for its drop")] oneshot::Sender<()>);

/// The actor.
pub(crate) struct QueueWorker {
    shared: Arc<WorkerShared>,
    jobs: WorkerJobs,
    patience: Duration,
    stop: watch::Sender<bool>,
}

impl QueueWorker {
    /// `patience`: what it gets to finish when it is to end.
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
        let work =
            work(Arc::clone(&self.shared), self.jobs.clone(), self.stop.subscribe(), ctx.handled_counter());
        ctx.spawn(work.into_actor(self));
    }
}

impl Supervised for QueueWorker {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.stop.send_replace(true);
        let (jobs, patience) = (self.jobs.clone(), self.patience);
        let (log, path) = (self.shared.log.clone(), ctx.path().to_string());
        Box::pin(async move {
            if timeout(patience, jobs.written()).await.is_err() {
                warn!(log, "a worker ends before its jobs"; "worker" => path);
            }
        })
    }
}

/// Takes job after job until told to stop, each when the one before has run.
async fn work(
    shared: Arc<WorkerShared>,
    jobs: WorkerJobs,
    mut stop: watch::Receiver<bool>,
    handled: HandledCounter,
) {
    loop {
        let (queued, permit) = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            () = shared.stop.reached(StopStage::Closing) => return,
            next = jobs.next(&shared) => next,
        };
        let (turn, turn_is_over) = oneshot::channel::<()>();
        let shared = Arc::clone(&shared);
        #[expect(
            clippy::disallowed_methods,
            reason = "outlives the actor; awaited by `drain` through the permit"
        )]
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = shared.stop.reached(StopStage::Ending) => {}
                () = shared.complete(queued, WorkerTurn(turn)) => {}
            }
            drop(permit);
        });
        let _dropped = turn_is_over.await;
        handled.increment();
    }
}
