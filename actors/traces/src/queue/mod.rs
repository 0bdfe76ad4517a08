//! The entrance of the queue.
//!
//! Owns whether it is open: from its start to its end submissions are taken. Takes over, beside them, what nodes
//! without a lease have left unfinished. No messages. A restart goes on; the jobs in line are not its own and survive
//! it. It never holds more jobs than the line has room for.

mod adoption;
mod capacity;
mod delay_queue;
mod job_queue;
mod recovery;

use std::sync::Arc;

use actix::Actor;
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;

pub(crate) use adoption::{Adoption, RetryLimits};
pub(crate) use capacity::{QueueCapacity, QueueRejection, QueueSlot};
pub(crate) use job_queue::{JobQueue, QueuedJob};

/// The state that all instances of the actor share.
pub(crate) struct IntakeShared {
    pub(crate) waiting: Arc<JobQueue>,
    pub(crate) adoption: Arc<Adoption>,
}

/// The actor.
pub(crate) struct JobIntake(pub(crate) Arc<IntakeShared>);

impl Actor for JobIntake {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.0.waiting.slots.set_open(true);
        self.0.adoption.go_on();
    }
}

impl Supervised for JobIntake {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.waiting.slots.set_open(false);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for JobIntake {
    fn drop(&mut self) {
        self.0.waiting.slots.set_open(false);
    }
}
