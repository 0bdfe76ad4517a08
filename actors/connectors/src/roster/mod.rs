//! The actor that keeps the running connectors in line with the stored ones.
//!
//! Messages in: [`Reload`], of which several may read and one publishes, and [`Ask`]. It owns nothing: what it publishes lies in
//! [`Shared`], which outlives it, so a crash loses the reloads that ran and no connector; what those had started in vain is ended.
//! It never carries a call out.

mod work;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, Message, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, Supervised};
use svc_store::StoredConnector;

use crate::handle::ReloadError;
use crate::probe::{self, Probe};

pub(crate) use work::{ROSTER, Shared};

/// Which connectors to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them; whose settings are what they were goes on.
    All,
    /// The one of this id, which somebody has written: begins anew, even with the settings it had.
    One(String),
}

/// Bring what runs in line with what is stored. Answered when the new actors serve.
#[derive(Message)]
#[rtype(result = "Result<(), ReloadError>")]
pub(crate) struct Reload(pub(crate) Scope);

/// Try a connector out, beside whatever runs of it.
#[derive(Message)]
#[rtype(result = "Probe")]
pub(crate) struct Ask(pub(crate) StoredConnector);

/// The actor.
pub(crate) struct Roster {
    shared: Arc<Shared>,
}

impl Roster {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// A slow drain holds no reload up.
    fn retire(&self, paths: Vec<String>, ctx: &mut Context<Self>) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { shared.retire(&paths).await }.into_actor(self));
    }
}

impl Actor for Roster {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let orphans = async move { shared.orphans().await };
        ctx.spawn(orphans.into_actor(self).map(|orphans, roster, ctx| roster.retire(orphans, ctx)));
    }
}

impl Supervised for Roster {}

impl Handler<Reload> for Roster {
    type Result = ResponseActFuture<Self, Result<(), ReloadError>>;

    fn handle(&mut self, Reload(scope): Reload, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        let reload = async move { shared.reload(&scope).await };
        Box::pin(
            reload
                .into_actor(self)
                .map(|outcome, roster, ctx| outcome.map(|retired| roster.retire(retired, ctx))),
        )
    }
}

impl Handler<Ask> for Roster {
    type Result = ResponseActFuture<Self, Probe>;

    fn handle(&mut self, Ask(row): Ask, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { probe::probe(&row, shared.settings()).await }.into_actor(self))
    }
}
