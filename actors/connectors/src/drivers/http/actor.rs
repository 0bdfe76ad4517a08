//! The actor of one HTTP API.
//!
//! Owns the connections to the API, and the source of its tokens if it wants any. Message in: [`Exchange`],
//! read-only, so that calls run concurrently and end with their callers. A restart opens new connections;
//! nothing else is lost.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_credentials::tokens::TokenSource;
use svc_outbound::{Outbound, PeerRequest, Url};

use super::client::{AuthorizedClient, AuthorizedResponse, ExchangeError};
use super::probe::probe;
use super::settings::HttpSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Sends a request to the API once.
#[derive(Message)]
#[rtype(result = "Result<AuthorizedResponse, ExchangeError>")]
pub(crate) struct Exchange(pub(crate) PeerRequest);

/// The actor of an HTTP API.
pub(crate) struct HttpActor {
    client: AuthorizedClient,
}

impl HttpActor {
    /// Makes the actor of the API at a URL, which alone may be at a private address; `tokens` if it wants
    /// any.
    pub(crate) fn to_address(
        outbound: Outbound,
        home: Url,
        allow_private: bool,
        tokens: Option<TokenSource>,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let client = AuthorizedClient::new(&outbound, &home, allow_private, tokens.clone());
            let client = client.map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(client.map(|client| Self { client }))
        }
    }
}

impl Actor for HttpActor {
    type Context = Context<Self>;
}

impl Supervised for HttpActor {}

impl ReadHandler<Exchange> for HttpActor {
    fn read(&self, Exchange(request): Exchange) -> ReadReply<<Exchange as Message>::Result> {
        let client = self.client.clone();
        ReadReply::later(async move { client.send(request).await })
    }
}

/// The client to an HTTP API: its settings, and the actor that asks.
pub(crate) struct HttpDriver {
    pub(crate) settings: Arc<HttpSettings>,
    pub(crate) address: Address<HttpActor>,
}

impl HttpDriver {
    async fn start(settings: &Arc<HttpSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let tokens = settings.token_source(context.name, &context.settings.tokens);
        let (home, allow_private) = (settings.base.clone(), settings.allow_private);
        let factory = HttpActor::to_address(context.settings.outbound.clone(), home, allow_private, tokens);
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for HttpDriver {
    const REQUIREMENT: &'static str = "of type http";
}

impl DriverSettings for HttpSettings {
    type Driver = HttpDriver;

    async fn probe(&self, name: &str, settings: &Settings) -> ConnectorProbe {
        probe(name, self, settings).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<HttpDriver, SpawnError> {
        HttpDriver::start(&self, context).await
    }
}
