//! The actor that opens and closes the queue.
//!
//! Submissions are accepted from its start to its end. It also takes over the unfinished work of nodes without a lease,
//! and claims the work that waited in the database. It handles no messages. The queued jobs are in [`QueueShared`] and
//! survive its restart; they are never more than the queue has room for.

mod adoption;
mod capacity;
mod delay_queue;
mod job_queue;
mod recovery;
mod shared;

use std::sync::Arc;

use actix::Actor;
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

    fn started(&mut self, _: &mut Self::Context) {
        self.0.waiting.slots.set_open(true);
        self.0.adoption.ensure_running();
        self.0.claimer.ensure_running();
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
