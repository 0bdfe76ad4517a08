//! A worker of the queue.
//!
//! Owns the pace at which jobs are taken; no messages. A job is a task of its own from its first step until its end is
//! written, so no restart of the actor loses one. The next is taken while ends are being written, but none while too
//! many are: a database that is away stops the work instead of filling the memory. When it is ordered to end it takes
//! nothing more and waits, within the time allowed, for its jobs and their ends, those of earlier instances included;
//! what the process does not live to see is left to the rows, from which the next one takes it up. One instance never
//! runs two jobs at once, but for those past their deadline that cannot be dropped yet, because their thread is busy.

mod desk;
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

use crate::queue::Queued;

pub(crate) use desk::Desk;
pub(crate) use state::retry_delay;
pub(crate) use stop::{StopOrder, StopStage};

/// Jobs that one worker may have begun and not written the ends of.
const MOST_JOBS: u32 = 64;

/// The jobs of a worker, whichever instance began them.
#[derive(Clone)]
pub(crate) struct Jobs(Arc<Semaphore>);

impl Jobs {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_JOBS as usize)))
    }

    /// The next job, when there is room for one more. Dropping the future loses none.
    async fn next(&self, desk: &Desk) -> (Queued, Option<OwnedSemaphorePermit>) {
        // It is never closed, so there is a permit.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok();
        // While the lease is not proven nothing may begin.
        desk.nodes.proven().await;
        (desk.waiting.take().await, permit)
    }

    /// Waits until the end of each is written, or it was dropped.
    pub(crate) async fn written(&self) {
        let _all = self.0.acquire_many(MOST_JOBS).await;
    }
}

/// The turn of a job at its worker: the next one begins when it is dropped.
pub(crate) struct Turn(#[expect(dead_code, reason = "held for its drop")] oneshot::Sender<()>);

/// The actor.
pub(crate) struct Worker {
    desk: Arc<Desk>,
    jobs: Jobs,
    patience: Duration,
    stop: watch::Sender<bool>,
}

impl Worker {
    /// `patience`: what it gets to finish when it is to end.
    pub(crate) fn new(desk: Arc<Desk>, jobs: Jobs, patience: Duration) -> Self {
        desk.metrics.workers_total.inc();
        Self { desk, jobs, patience, stop: watch::Sender::new(false) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.desk.metrics.workers_total.dec();
    }
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let work =
            work(Arc::clone(&self.desk), self.jobs.clone(), self.stop.subscribe(), ctx.handled_counter());
        ctx.spawn(work.into_actor(self));
    }
}

impl Supervised for Worker {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.stop.send_replace(true);
        let (jobs, patience) = (self.jobs.clone(), self.patience);
        let (log, path) = (self.desk.log.clone(), ctx.path().to_string());
        Box::pin(async move {
            if timeout(patience, jobs.written()).await.is_err() {
                warn!(log, "a worker ends before its jobs"; "worker" => path);
            }
        })
    }
}

/// Takes job after job until told to stop, each when the one before has run.
async fn work(desk: Arc<Desk>, jobs: Jobs, mut stop: watch::Receiver<bool>, handled: HandledCounter) {
    loop {
        let (queued, permit) = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return,
            () = desk.stop.reached(StopStage::Closing) => return,
            next = jobs.next(&desk) => next,
        };
        let (turn, turn_is_over) = oneshot::channel::<()>();
        let desk = Arc::clone(&desk);
        #[expect(
            clippy::disallowed_methods,
            reason = "outlives the actor; awaited by `drain` through the permit"
        )]
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = desk.stop.reached(StopStage::Ending) => {}
                () = desk.complete(queued, Turn(turn)) => {}
            }
            drop(permit);
        });
        let _dropped = turn_is_over.await;
        handled.increment();
    }
}
