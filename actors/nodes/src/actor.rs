//! The keeper of a node's lease.
//!
//! Owns the rhythm of its renewals; no messages. The lease itself outlives each instance. When it is ordered to end it
//! ends the lease, so that others need not wait for it to run out; everything that runs in the name of the node is
//! drained before. It never tells anyone that a lease is lost: who depends on it reads its own clock.

use std::sync::Arc;

use actix::{Actor, AsyncContext, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use tokio::time::sleep_until;

use crate::shared::NodeShared;

/// The actor.
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
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.release().await })
    }
}
