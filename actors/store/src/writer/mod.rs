//! The group-commit writer: the one way in which rows are written.
//!
//! Owns the queue of units; the connection is lent to it by [`Link`], which outlives it. Message in: [`Write`]. Out:
//! nothing but answers. While one transaction runs on the io runtime the next units queue, and together make up the
//! next one. A unit that fails is undone alone. Nothing of the queue survives a restart: its callers are told that
//! the writer crashed, and what of theirs was committed stays committed. It never waits inside a turn.

mod link;
mod msg;
mod state;
mod unit;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;

use crate::error::StoreError;

pub(crate) use link::Link;
pub(crate) use msg::Write;
use state::Queue;
pub(crate) use unit::{Outcome, Work};
use unit::{Pending, Unit};

/// The actor.
pub(crate) struct Writer {
    queue: Queue<Box<dyn Unit>>,
    link: Arc<Link>,
    io: Handle,
}

impl Writer {
    pub(crate) fn new(link: Arc<Link>, io: Handle) -> Self {
        Self { queue: Queue::new(), link, io }
    }

    fn start_batch(&mut self, ctx: &mut Context<Self>) {
        let Some(units) = self.queue.start() else { return };
        let link = Arc::clone(&self.link);
        let batch = self.io.spawn(async move { link.run(units).await });
        ctx.spawn(batch.into_actor(self).map(|ended, writer, ctx| {
            writer.queue.finished();
            if let Ok(Err(away)) = ended {
                // The link has waited as long as a caller may: nobody behind should wait for that again.
                let outcome = Err(away);
                writer.queue.take().into_iter().for_each(|unit| unit.settle(&outcome));
            }
            writer.start_batch(ctx);
        }));
    }
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
        self.queue.push(unit);
        self.start_batch(ctx);
        Box::pin(answer.into_actor(self).map(|answer, _, _| answer.unwrap_or_else(|_| Err(abandoned()))))
    }
}

/// The batch ended without an answer: its task died with the unit inside.
fn abandoned() -> StoreError {
    StoreError::Unavailable(
        "the transaction ended without an answer; it may or may not have been committed".into(),
    )
}
