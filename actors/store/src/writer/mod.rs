//! The group-commit writer: the one way in which rows are written.
//!
//! Owns the queue of units and rows; the connection is lent to it by [`Link`], which outlives it. Messages in:
//! [`Write`] for a unit, whatever it does; [`WriteRow`] for one of the many rows on the way of requests. Out: nothing
//! but answers. While one transaction runs on the io runtime the next units and rows queue, and together make up the
//! next one. A unit or row that fails is undone alone. Nothing of the queue survives a restart: its callers are told
//! that the writer crashed, and what of theirs was committed stays committed. It never waits inside a turn.

mod batch;
mod link;
mod msg;
mod rows;
mod state;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::error::StoreError;
use crate::repo::Change;

use batch::Batch;
pub(crate) use link::Link;
pub(crate) use msg::{Write, WriteRow};
use rows::{Changed, Rows};
use state::Queue;
pub(crate) use unit::Outcome;
use unit::{Pending, Unit};

/// A transaction that takes as long is worth a [`MOMENT`] of waiting for company.
const SLOW: Duration = Duration::from_millis(3);
/// As short as timers are.
const MOMENT: Duration = Duration::from_millis(1);

/// The actor.
pub(crate) struct Writer {
    queue: Queue<Box<dyn Unit>, Row>,
    link: Arc<Link>,
    io: Handle,
}

impl Writer {
    pub(crate) fn new(link: Arc<Link>, io: Handle) -> Self {
        Self { queue: Queue::new(), link, io }
    }

    fn start_batch(&mut self, ctx: &mut Context<Self>) {
        let Some(waiting) = self.queue.start() else { return };
        let batch = batch_of(waiting);
        let link = Arc::clone(&self.link);
        let begun = Instant::now();
        let run = self.io.spawn(async move { link.run(batch).await });
        ctx.spawn(run.into_actor(self).map(move |ended, writer, ctx| {
            if writer.queue.finished(begun.elapsed() >= SLOW) {
                let moment = sleep(MOMENT).into_actor(writer);
                ctx.spawn(moment.map(|(), writer, ctx| {
                    writer.queue.gathered();
                    writer.start_batch(ctx);
                }));
            }
            if let Ok(Err(away)) = ended {
                // The link has waited as long as a caller may: nobody behind should wait for that again.
                let outcome = Err(away.of_others());
                batch_of(writer.queue.take()).settle(&outcome);
            }
            writer.start_batch(ctx);
        }));
    }
}

/// A row that waits, and who waits for it.
type Row = (Change, oneshot::Sender<Changed>);

fn batch_of((units, rows): (Vec<Box<dyn Unit>>, Vec<Row>)) -> Batch {
    Batch { units, rows: Rows::new(rows.into_iter()) }
}

impl Actor for Writer {
    type Context = Context<Self>;
}

/// Answers of admitted units are awaited before the instance is dropped, so there is nothing left to drain.
impl Supervised for Writer {}

impl<T: Send + 'static> Handler<Write<T>> for Writer {
    type Result = ResponseActFuture<Self, Result<T, StoreError>>;

    fn handle(&mut self, message: Write<T>, ctx: &mut Context<Self>) -> Self::Result {
        let (unit, answer) = Pending::boxed(message.work);
        self.queue.push_unit(unit);
        self.start_batch(ctx);
        Box::pin(answer.into_actor(self).map(|answer, _, _| answer.unwrap_or_else(|_| Err(abandoned()))))
    }
}

impl Handler<WriteRow> for Writer {
    type Result = ResponseActFuture<Self, Changed>;

    fn handle(&mut self, message: WriteRow, ctx: &mut Context<Self>) -> Self::Result {
        let (caller, answer) = oneshot::channel();
        let bytes = message.change.bytes();
        self.queue.push_row((message.change, caller), bytes);
        self.start_batch(ctx);
        Box::pin(answer.into_actor(self).map(|answer, _, _| answer.unwrap_or_else(|_| Err(abandoned()))))
    }
}

/// The batch ended without an answer: its task died with the unit inside.
fn abandoned() -> StoreError {
    StoreError::Unanswered("the transaction ended without an answer".into())
}
