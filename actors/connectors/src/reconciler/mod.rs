//! The actor that keeps the running connectors in line with the stored ones.
//!
//! Messages in: [`ReloadConnectors`], of which several may read and one publishes at a time, and
//! [`ProbeConnector`]. The actor alone publishes into [`ReconcilerShared`], which survives its restart. A
//! crash loses the reloads in progress and no connector; actors that those reloads had started are retired by
//! the next instance. Calls never pass through this actor.

mod shared;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, Message, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};
use svc_store::StoredConnector;

use crate::error::ConnectorReloadError;
use crate::inspection;
use crate::probe::ConnectorProbe;
use crate::scope::ConnectorScope;

pub(crate) use shared::{RECONCILER, ReconcilerShared};

/// Asks to bring the running connectors in line with the stored ones. Answered when the new actors serve.
#[derive(Message)]
#[rtype(result = "Result<(), ConnectorReloadError>")]
pub(crate) struct ReloadConnectors(pub(crate) ConnectorScope);

/// Asks to try out a connector apart from its running instance.
#[derive(Message)]
#[rtype(result = "ConnectorProbe")]
pub(crate) struct ProbeConnector(pub(crate) StoredConnector);

/// The actor that keeps the running connectors in line with the stored ones.
pub(crate) struct Reconciler {
    shared: Arc<ReconcilerShared>,
}

impl Reconciler {
    pub(crate) fn new(shared: Arc<ReconcilerShared>) -> Self {
        Self { shared }
    }

    /// Retires actors in the background: a slow drain delays no reload.
    fn retire(&self, paths: Vec<String>, ctx: &mut Context<Self>) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { shared.retire(&paths).await }.into_actor(self));
    }
}

impl Actor for Reconciler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let orphans = async move { shared.orphans().await };
        ctx.spawn(orphans.into_actor(self).map(|orphans, reconciler, ctx| reconciler.retire(orphans, ctx)));
    }
}

impl Supervised for Reconciler {}

impl Handler<ReloadConnectors> for Reconciler {
    type Result = ResponseActFuture<Self, Result<(), ConnectorReloadError>>;

    fn handle(&mut self, ReloadConnectors(scope): ReloadConnectors, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        let reload = async move { shared.reload(&scope).await };
        Box::pin(
            reload
                .into_actor(self)
                .map(|outcome, reconciler, ctx| outcome.map(|retired| reconciler.retire(retired, ctx))),
        )
    }
}

impl Handler<ProbeConnector> for Reconciler {
    type Result = ResponseActFuture<Self, ConnectorProbe>;

    fn handle(&mut self, ProbeConnector(row): ProbeConnector, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { inspection::probe(&row, shared.settings()).await }.into_actor(self))
    }
}
