//! The entrance of the queue.
//!
//! Owns whether it is open: from its start to its end submissions are taken. Takes over, beside them, what nodes without
//! a lease have left unfinished. No messages. A restart goes on; the jobs in line are not its own and survive it. It
//! never holds more jobs than the line has room for.

mod adoption;
mod recovery;
mod slots;
mod state;
mod waiting;

use std::sync::Arc;

use actix::Actor;
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;

pub(crate) use adoption::{Adoption, Bounds};
pub(crate) use slots::{Shed, Slot, Slots};
pub(crate) use waiting::{Queued, Waiting};

/// What every instance shares.
pub(crate) struct Entrance {
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) adoption: Arc<Adoption>,
}

/// The actor.
pub(crate) struct Queue(pub(crate) Arc<Entrance>);

impl Actor for Queue {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.0.waiting.slots.set_open(true);
        self.0.adoption.go_on();
    }
}

impl Supervised for Queue {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.waiting.slots.set_open(false);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.0.waiting.slots.set_open(false);
    }
}
