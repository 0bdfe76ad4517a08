//! The actor of one HTTP API.
//!
//! Owns the connections to it, and the source of its tokens where it wants any. Message in: [`Exchange`], read-only, so that calls run side by side and end with their
//! callers. A restart opens new connections; nothing else is lost with it.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_outbound::{Outbound, PeerRequest, Url};
use svc_tokens::TokenSource;

use super::settings::HttpSettings;
use super::way::{Answered, Unanswered, Way};
use crate::drivers::{Driver, Kind, Spot};

/// Ask the API once.
#[derive(Message)]
#[rtype(result = "Result<Answered, Unanswered>")]
pub(crate) struct Exchange(pub(crate) PeerRequest);

/// The actor.
pub(crate) struct HttpActor {
    way: Way,
}

impl HttpActor {
    /// Makes the actor of the API at a URL, which alone may be at a private address; `tokens` where it wants any.
    pub(crate) fn at(
        outbound: Outbound,
        home: Url,
        allow_private: bool,
        tokens: Option<TokenSource>,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let way = Way::new(&outbound, &home, allow_private, tokens.clone());
            let way = way.map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(way.map(|way| Self { way }))
        }
    }
}

impl Actor for HttpActor {
    type Context = Context<Self>;
}

impl Supervised for HttpActor {}

impl ReadHandler<Exchange> for HttpActor {
    fn read(&self, Exchange(request): Exchange) -> ReadReply<<Exchange as Message>::Result> {
        let way = self.way.clone();
        ReadReply::later(async move { way.send(request).await })
    }
}

/// The way to an HTTP API: its settings, and the actor that asks.
pub(crate) struct HttpDriver {
    pub(crate) settings: Arc<HttpSettings>,
    pub(crate) address: Address<HttpActor>,
}

impl HttpDriver {
    pub(crate) async fn start(settings: &Arc<HttpSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let tokens = settings.token_source(spot.name, &spot.with.tokens);
        let (home, allow_private) = (settings.base.clone(), settings.allow_private);
        let factory = HttpActor::at(spot.with.outbound.clone(), home, allow_private, tokens);
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for HttpDriver {
    const NEEDED: &'static str = "of type http";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Http(http) => Some(http),
            _ => None,
        }
    }
}
