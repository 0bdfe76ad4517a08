//! The group-commit writer: the one way in which rows are written.
//!
//! Owns the queue of units and rows; the connection is lent to it by [`WriterConnection`], which outlives it. Messages
//! in:
//! [`RunUnit`] for a unit, whatever it does; [`WriteRow`] for one of the many rows on the way of requests. Out: nothing
//! but answers. While one transaction runs on the io runtime the next units and rows queue, and together make up the
//! next one, which follows without coming back here. A unit or row that fails is undone alone. What was taken into the
//! queue is written even when the actor is restarted meanwhile. It never waits inside a turn.

mod batch;
mod connection;
mod messages;
mod rows;
mod state;
mod unit;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};

use crate::conn::run_on_io;
use crate::error::StoreError;
use crate::repo::TraceWrite;

use batch::Batch;
pub(crate) use connection::WriterConnection;
pub(crate) use messages::{RunUnit, WriteRow};
use rows::{RowBatch, RowResult};
use state::{Wake, WriteQueue};
pub(crate) use unit::UnitOutcome;
use unit::{PendingUnit, WriteUnit};

/// A transaction that takes as long is worth a [`MOMENT`] of waiting for company.
const SLOW: Duration = Duration::from_millis(3);
/// As short as timers are.
const MOMENT: Duration = Duration::from_millis(1);

/// The actor.
pub(crate) struct StoreWriter {
    queue: Arc<WriterShared>,
    link: Arc<WriterConnection>,
    io: Handle,
}

/// The queue, seen by the actor that fills it and by the task that empties it.
struct WriterShared {
    queue: Mutex<WriteQueue<Box<dyn WriteUnit>, Row>>,
    /// As many wait as the next batch waits for.
    gathered: Notify,
}

/// A row that waits, and who waits for it.
type Row = (TraceWrite, oneshot::Sender<RowResult>);

impl StoreWriter {
    pub(crate) fn new(link: Arc<WriterConnection>, io: Handle) -> Self {
        let queue = Arc::new(WriterShared { queue: Mutex::new(WriteQueue::new()), gathered: Notify::new() });
        Self { queue, link, io }
    }

    /// Sees to it that what waits is being written.
    fn write(&self, ctx: &mut Context<Self>) {
        match self.queue.lock().wake() {
            Wake::Nothing => {}
            Wake::Gathered => self.queue.gathered.notify_one(),
            Wake::Start => {
                let (link, queue) = (Arc::clone(&self.link), Arc::clone(&self.queue));
                let (io, backend) = (self.io.clone(), link.backend());
                let writing = async move {
                    run_on_io(&io, backend, async move { write_out(&link, &queue).await }).await
                };
                ctx.spawn(writing.into_actor(self).map(|ended, writer, ctx| {
                    if ended.is_err() {
                        // It died with its batch, whose callers learn it from the dropped channels.
                        writer.queue.lock().task_died();
                        writer.write(ctx);
                    }
                }));
            }
        }
    }
}

impl WriterShared {
    fn lock(&self) -> MutexGuard<'_, WriteQueue<Box<dyn WriteUnit>, Row>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes batch after batch until nothing waits.
async fn write_out(link: &WriterConnection, shared: &WriterShared) {
    loop {
        let Some(waiting) = shared.lock().start() else { return };
        let begun = Instant::now();
        let ended = link.run(batch_of(waiting)).await;
        if shared.lock().finished(begun.elapsed() >= SLOW) {
            // Either way the next batch takes whoever has come back.
            let _company = timeout(MOMENT, shared.gathered.notified()).await;
            shared.lock().gathered();
        }
        if let Err(away) = ended {
            // The link has waited as long as a caller may: nobody behind should wait for that again.
            let left = shared.lock().take();
            batch_of(left).settle(&Err(away.into_collateral()));
        }
    }
}

fn batch_of((units, rows): (Vec<Box<dyn WriteUnit>>, Vec<Row>)) -> Batch {
    Batch { units, rows: RowBatch::new(rows.into_iter()), trial: None }
}

impl Actor for StoreWriter {
    type Context = Context<Self>;
}

/// Needs no drain: a task of its own writes everything that the queue accepted.
impl Supervised for StoreWriter {}

impl<T: Send + 'static> Handler<RunUnit<T>> for StoreWriter {
    type Result = ResponseActFuture<Self, Result<T, StoreError>>;

    fn handle(&mut self, message: RunUnit<T>, ctx: &mut Context<Self>) -> Self::Result {
        let (unit, answer) = PendingUnit::boxed(message.work);
        self.queue.lock().push_unit(unit);
        self.write(ctx);
        Box::pin(answer.into_actor(self).map(|answer, _, _| answer.unwrap_or_else(|_| Err(abandoned()))))
    }
}

impl Handler<WriteRow> for StoreWriter {
    type Result = ();

    fn handle(&mut self, WriteRow { change, caller }: WriteRow, ctx: &mut Context<Self>) {
        let bytes = change.bytes();
        let refused = self.queue.lock().push_row((change, caller), bytes);
        if let Err((_, caller)) = refused {
            // A caller that went away has nobody to tell.
            let _gone = caller.send(Err(queue_full()));
            return;
        }
        self.write(ctx);
    }
}

/// The batch ended without an answer: its task died with the unit inside.
pub(crate) fn abandoned() -> StoreError {
    StoreError::Unanswered("the transaction ended without an answer".into())
}

fn queue_full() -> StoreError {
    StoreError::Unavailable("too many rows or bytes wait to be written; nothing was written".into())
}
