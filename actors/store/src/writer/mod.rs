//! The group-commit writer: the only way in which rows are written.
//!
//! The actor owns the queue of units and rows. [`WriterConnection`], which outlives the actor, lends it the
//! connection. It handles [`RunUnit`] for an arbitrary unit and [`WriteRow`] for one of the many rows on the hot
//! path; it sends only answers.
//!
//! While one transaction runs on the io runtime, further units and rows queue up. Together they form the next
//! transaction, which follows without a return to the actor. A unit or row that fails is rolled back alone.
//! Everything in the queue is written even if the actor restarts meanwhile. A handler never blocks.

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

/// Transactions that take this long are followed by a [`MOMENT`] of waiting for more writes.
const SLOW: Duration = Duration::from_millis(3);
/// The resolution of timers.
const MOMENT: Duration = Duration::from_millis(1);

/// The actor of the group-commit writer.
pub(crate) struct StoreWriter {
    queue: Arc<WriterShared>,
    link: Arc<WriterConnection>,
    io: Handle,
}

/// The queue, shared by the actor that fills it and the task that empties it.
struct WriterShared {
    queue: Mutex<WriteQueue<Box<dyn WriteUnit>, Row>>,
    /// Notified when as many writes wait as the next batch waits for.
    gathered: Notify,
}

/// A waiting row with its caller.
type Row = (TraceWrite, oneshot::Sender<RowResult>);

impl StoreWriter {
    pub(crate) fn new(link: Arc<WriterConnection>, io: Handle) -> Self {
        let queue = Arc::new(WriterShared { queue: Mutex::new(WriteQueue::new()), gathered: Notify::new() });
        Self { queue, link, io }
    }

    /// Starts the task that writes the queue, if it is needed.
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
                        // The task died with its batch; the callers see their channels dropped.
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

/// Writes batch after batch until the queue is empty.
async fn write_out(link: &WriterConnection, shared: &WriterShared) {
    loop {
        let Some(waiting) = shared.lock().start() else { return };
        let begun = Instant::now();
        let ended = link.run(batch_of(waiting)).await;
        if shared.lock().finished(begun.elapsed() >= SLOW) {
            // Either way the next batch includes the callers that have returned.
            let _company = timeout(MOMENT, shared.gathered.notified()).await;
            shared.lock().gathered();
        }
        if let Err(away) = ended {
            // The connection was retried for as long as a caller may wait, so the waiting writes fail now.
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

/// Queued writes are completed by a task of its own, so there is nothing to drain.
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
            // The caller may be gone.
            let _gone = caller.send(Err(queue_full()));
            return;
        }
        self.write(ctx);
    }
}

/// Returns the error of a unit whose batch ended without an answer, because its task died.
pub(crate) fn abandoned() -> StoreError {
    StoreError::Unanswered("the transaction ended without an answer".into())
}

fn queue_full() -> StoreError {
    StoreError::Unavailable("too many rows or bytes wait to be written; nothing was written".into())
}
