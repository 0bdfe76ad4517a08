//! A worker of the queue.
//!
//! Owns the job it runs and the ends it still has to write; no messages. It takes the next job while ends are being
//! written, but none while too many are: a database that is away stops the work instead of filling the memory. When it
//! is ordered to end it takes nothing more, finishes its job and its writes within the time allowed, and leaves the
//! rest to the rows, from which the next process takes it up. It never runs two jobs at once.

mod desk;
mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use futures_util::stream::FuturesUnordered;
use slog::warn;
use tokio::sync::watch;
use tokio::time::timeout;

pub(crate) use desk::Desk;
pub(crate) use state::retry_delay;

/// Ends that one worker may have to write at the same time.
const MOST_WRITES: usize = 64;

type Writes = FuturesUnordered<BoxFuture<'static, ()>>;

/// The actor.
pub(crate) struct Worker {
    desk: Arc<Desk>,
    patience: Duration,
    stop: watch::Sender<bool>,
    ended: watch::Receiver<bool>,
    end: Option<watch::Sender<bool>>,
}

impl Worker {
    /// `patience`: what it gets to finish when it is to end.
    pub(crate) fn new(desk: Arc<Desk>, patience: Duration) -> Self {
        let (end, ended) = watch::channel(false);
        desk.metrics.workers_total.inc();
        Self { desk, patience, stop: watch::Sender::new(false), ended, end: Some(end) }
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
        let (desk, stop, end) = (Arc::clone(&self.desk), self.stop.subscribe(), self.end.take());
        let work = async move {
            work(desk, stop).await;
            // Dropped or sent, whoever waits for it learns it.
            let _ended = end.map(|end| end.send(true));
        };
        ctx.spawn(work.into_actor(self));
    }
}

impl Supervised for Worker {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.stop.send_replace(true);
        let (mut ended, patience) = (self.ended.clone(), self.patience);
        let (log, path) = (self.desk.log.clone(), ctx.path().to_string());
        Box::pin(async move {
            if timeout(patience, ended.wait_for(|ended| *ended)).await.is_err() {
                warn!(log, "a job is left to the next start"; "worker" => path);
            }
        })
    }
}

/// Takes job after job until told to stop, then finishes what it has.
async fn work(desk: Arc<Desk>, mut stop: watch::Receiver<bool>) {
    let mut writes = Writes::new();
    loop {
        let queued = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            Some(()) = writes.next() => continue,
            queued = desk.waiting.take(), if writes.len() < MOST_WRITES => queued,
        };
        if let Some(finished) = beside(&mut writes, desk.run(queued)).await {
            let desk = Arc::clone(&desk);
            writes.push(Box::pin(async move { desk.write(finished).await }));
        }
    }
    while writes.next().await.is_some() {}
}

/// Lets the writes go on until `run` is over.
async fn beside<T>(writes: &mut Writes, run: impl Future<Output = T>) -> T {
    tokio::pin!(run);
    loop {
        tokio::select! {
            biased;
            done = &mut run => return done,
            Some(()) = writes.next() => {}
        }
    }
}
