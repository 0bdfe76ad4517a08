//! The actor that opens and closes the queue.
//!
//! Submissions are accepted from its start to its end. It also takes over the unfinished work of nodes without a lease,
//! claims the work that waited in the database, and carries out orders to cancel. It handles no messages. The queued jobs are in [`QueueShared`] and
//! survive its restart; they are never more than the queue has room for.

mod adoption;
mod capacity;
mod delay_queue;
mod job_queue;
mod recovery;
mod shared;

use std::sync::Arc;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;

pub(crate) use adoption::{Adoption, RetryLimits};
pub(crate) use capacity::{QueueCapacity, QueueRejection, QueueSlot};
pub(crate) use job_queue::{JobQueue, QueuedJob};
pub(crate) use shared::QueueShared;

/// The actor that opens and closes the queue.
pub(crate) struct QueueActor(pub(crate) Arc<QueueShared>);

impl Actor for QueueActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.0.waiting.slots.set_open(true);
        self.0.adoption.ensure_running();
        self.0.claimer.ensure_running();
        let cancels = Arc::clone(&self.0.cancels);
        ctx.spawn(async move { cancels.run().await }.into_actor(self));
    }
}

impl Supervised for QueueActor {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.waiting.slots.set_open(false);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for QueueActor {
    fn drop(&mut self) {
        self.0.waiting.slots.set_open(false);
    }
}
