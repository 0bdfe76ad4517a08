//! The group-commit writer. On SQLite it writes all rows; on PostgreSQL all but those of transactions that may wait for
//! locked rows, which have connections of their own (`transact` of `database.rs`).
//!
//! [`WriterQueue`] has the waiting writes and outlives the actor. Callers put the many rows of the hot path into it
//! themselves; the actor handles [`RunUnit`] for an arbitrary unit and answers it. [`WriterConnection`], which
//! outlives the actor too, has the connection.
//!
//! While one transaction runs on the io runtime, further units and rows queue up. Together they form the next
//! transaction. A unit or row that fails is rolled back alone. Everything in the queue is written even if the actor
//! restarts meanwhile. A handler never blocks.

mod batch;
mod connection;
mod kill_step;
mod latest_commit;
mod messages;
mod queue;
mod rows;
mod state;
mod unit;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};

use crate::error::StoreError;

pub(crate) use connection::WriterConnection;
pub use kill_step::KillStep;
pub(crate) use messages::RunUnit;
pub(crate) use queue::WriterQueue;
pub(crate) use state::MOST_ROWS;
use unit::PendingUnit;
pub(crate) use unit::{UnitOutcome, UnitWork};

/// The actor of the group-commit writer. It puts units into the queue, whose task commits them; both survive its restart.
pub(crate) struct StoreWriter {
    queue: Arc<WriterQueue>,
}

impl StoreWriter {
    pub(crate) const fn new(queue: Arc<WriterQueue>) -> Self {
        Self { queue }
    }
}

impl Actor for StoreWriter {
    type Context = Context<Self>;
}

/// Queued writes are completed by a task of their own, so there is nothing to drain.
impl Supervised for StoreWriter {}

impl<T: Send + 'static> Handler<RunUnit<T>> for StoreWriter {
    type Result = ResponseActFuture<Self, Result<T, StoreError>>;

    fn handle(&mut self, message: RunUnit<T>, _: &mut Context<Self>) -> Self::Result {
        let (unit, answer) = PendingUnit::boxed(message.work);
        self.queue.push_unit(unit);
        Box::pin(
            answer
                .into_actor(self)
                .map(|answer, _, _| answer.unwrap_or_else(|_| Err(abandoned_batch_error()))),
        )
    }
}

/// Returns the error of a write whose batch ended without an answer, because its task died.
pub(crate) fn abandoned_batch_error() -> StoreError {
    StoreError::Unanswered("the transaction ended without an answer".into())
}
