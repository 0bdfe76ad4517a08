//! The actor of one HTTP API.
//!
//! Owns the connections to it. Message in: [`Exchange`], read-only, so that calls run side by side and end with their
//! callers. A restart opens new connections; nothing else is lost with it.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{Address, Context, ReadHandler, Reply, SpawnError, Start, StartError, Supervised};
use svc_outbound::{Answer, FetchError, Outbound, Peer, Request, Url};

use super::settings::HttpSettings;
use crate::drivers::{Driver, Kind, Spot};

/// Ask the API once.
#[derive(Message)]
#[rtype(result = "Result<Answer, FetchError>")]
pub(crate) struct Exchange(pub(crate) Request);

/// The actor.
pub(crate) struct HttpActor {
    peer: Peer,
}

impl HttpActor {
    /// Makes the actor of the API at a URL, which alone may be at a private address.
    pub(crate) fn at(
        outbound: Outbound,
        home: Url,
        allow_private: bool,
    ) -> impl Fn(Start) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let peer = outbound.peer(&home, allow_private);
            let peer = peer.map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(peer.map(|peer| Self { peer }))
        }
    }
}

impl Actor for HttpActor {
    type Context = Context<Self>;
}

impl Supervised for HttpActor {}

impl ReadHandler<Exchange> for HttpActor {
    fn read(&self, Exchange(request): Exchange) -> Reply<<Exchange as Message>::Result> {
        let peer = self.peer.clone();
        Reply::later(async move { peer.send(request).await })
    }
}

/// The way to an HTTP API: its settings, and the actor that asks.
pub(crate) struct HttpDriver {
    pub(crate) settings: Arc<HttpSettings>,
    pub(crate) address: Address<HttpActor>,
}

impl HttpDriver {
    pub(crate) async fn start(settings: &Arc<HttpSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let factory =
            HttpActor::at(spot.with.outbound.clone(), settings.base.clone(), settings.allow_private);
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
