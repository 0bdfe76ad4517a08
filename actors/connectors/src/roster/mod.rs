//! The actor that keeps the running connectors in line with the stored ones.
//!
//! Message in: [`Reload`], one at a time. It owns nothing: what it publishes lies in [`Shared`], which outlives it, so a crash
//! loses the reload that ran and no connector. It never carries a call out.

mod work;

use std::sync::Arc;

use actix::{Actor, Handler, Message, ResponseFuture};
use actix_supervision::{Context, Supervised};

use crate::handle::ReloadError;

pub(crate) use work::Shared;

/// Which connectors to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// The one of this id.
    One(String),
}

/// Bring what runs in line with what is stored. Answered when the new actors serve.
#[derive(Message)]
#[rtype(result = "Result<(), ReloadError>")]
pub(crate) struct Reload(pub(crate) Scope);

/// The actor.
pub(crate) struct Roster {
    shared: Arc<Shared>,
}

impl Roster {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for Roster {
    type Context = Context<Self>;
}

impl Supervised for Roster {}

impl Handler<Reload> for Roster {
    type Result = ResponseFuture<Result<(), ReloadError>>;

    fn handle(&mut self, Reload(scope): Reload, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.reload(&scope).await })
    }
}
