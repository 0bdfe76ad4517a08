//! The worker of an assigned partition: runs its records strictly in order.
//!
//! The worker takes a record, runs it through its channel, and decides by the outcome: done, another attempt
//! after a delay, a dead letter, or fetched again. While traces are being stored the next records run; offsets
//! are reported as done in their order, each after everything that its record leaves is stored. The handle
//! outlives an instance of the actor: a new instance fetches again what the last one had begun.

#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod handle;
mod queue;
mod settling;
pub(crate) mod state;
pub(crate) mod trace_shares;
mod unreadable;
mod work;

use std::sync::Arc;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};

use crate::shared::KafkaShared;
use handle::PartitionHandle;

pub(crate) use queue::FlowControl;
pub use state::PartitionPhase;
pub(crate) use state::RetryBudget;

/// The actor. Takes no messages: its handle wakes it.
pub(crate) struct PartitionWorker {
    pub(crate) shared: Arc<KafkaShared>,
    pub(crate) handle: Arc<PartitionHandle>,
}

impl Actor for PartitionWorker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(&self.handle));
        let handled = ctx.handled_counter();
        ctx.spawn(async move { work::run_until_ended(shared, handle, handled).await }.into_actor(self));
    }
}

impl Supervised for PartitionWorker {}
