//! The actor that watches the epoch.
//!
//! It asks, listens and loads in futures of its own context; it handles no messages. Its state outlives each instance.
//! A load that is in progress when the instance ends is dropped, and done again by the next one.

use std::sync::Arc;

use actix::{Actor, AsyncContext, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;

use crate::epoch::shared::EpochShared;

/// The actor that watches the epoch.
pub(crate) struct EpochWatcher {
    shared: Arc<EpochShared>,
    watches: Vec<SpawnHandle>,
}

impl EpochWatcher {
    pub(crate) const fn new(shared: Arc<EpochShared>) -> Self {
        Self { shared, watches: Vec::new() }
    }
}

impl Actor for EpochWatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (watching, listening) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let watch = ctx.spawn(async move { watching.watch().await }.into_actor(self));
        let listen = ctx.spawn(async move { listening.listen().await }.into_actor(self));
        self.watches = vec![watch, listen];
    }
}

impl Supervised for EpochWatcher {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        for watch in self.watches.drain(..) {
            ctx.cancel_future(watch);
        }
        Box::pin(std::future::ready(()))
    }
}
