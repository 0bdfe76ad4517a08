//! The actor that renews the lease of a node.
//!
//! It controls the interval of the renewals; it handles no messages. The lease itself outlives each instance.
//! At the shutdown of the tree `drain` releases the lease, so that other nodes need not wait for it to
//! expire; everything that runs under the node is drained before. A restart keeps the lease, which the next
//! instance renews at once. The actor never announces that a lease is lost: dependants compare the proof
//! with their own clock.

use std::future::ready;
use std::sync::Arc;

use actix::{Actor, AsyncContext, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use tokio::time::sleep_until;

use crate::nodes::shared::NodeShared;

/// The actor that renews the lease.
pub(crate) struct LeaseRenewer {
    shared: Arc<NodeShared>,
    renewals: Option<SpawnHandle>,
}

impl LeaseRenewer {
    pub(crate) const fn new(shared: Arc<NodeShared>) -> Self {
        Self { shared, renewals: None }
    }
}

impl Actor for LeaseRenewer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let renewals = async move {
            loop {
                let next = shared.renew_or_replace().await;
                sleep_until(next).await;
            }
        };
        self.renewals = Some(ctx.spawn(renewals.into_actor(self)));
    }
}

impl Supervised for LeaseRenewer {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        if let Some(renewals) = self.renewals.take() {
            ctx.cancel_future(renewals);
        }
        if !ctx.is_node_ending() {
            // A release is final, and the work under the lease goes on.
            return Box::pin(ready(()));
        }
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.release().await })
    }
}
