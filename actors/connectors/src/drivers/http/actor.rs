//! The actor of one HTTP API.
//!
//! Owns the connections to the API, those to computed addresses, and the source of its tokens if it wants any. Messages
//! in: [`Exchange`], [`OutsideExchange`], read-only, so that calls run concurrently and end with their callers. A
//! restart opens new connections; nothing else is lost.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_credentials::tokens::TokenSource;
use svc_outbound::{HttpsUrls, Outbound, PeerPool, PeerRequest, SetupError, Url};

use super::client::{AuthorizedClient, AuthorizedResponse, ExchangeError, send_outside};
use super::hosts::CalledHosts;
use super::probe::probe;
use super::settings::HttpSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Sends a request to the API once.
#[derive(Message)]
#[rtype(result = "Result<AuthorizedResponse, ExchangeError>")]
pub(crate) struct Exchange(pub(crate) PeerRequest);

/// Sends a request to a computed address once, without anything of the API's.
#[derive(Message)]
#[rtype(result = "Result<AuthorizedResponse, ExchangeError>")]
pub(crate) struct OutsideExchange {
    pub(crate) request: PeerRequest,
    /// Time for the body of the answer, if its status alone counts.
    pub(crate) patience: Option<Duration>,
}

/// The actor of an HTTP API.
pub(crate) struct HttpActor {
    client: AuthorizedClient,
    /// The client for computed addresses, if any are allowed.
    outside: Option<PeerPool>,
}

impl HttpActor {
    /// Makes the actor of the API at a URL, which may be at a private address; `tokens` if it wants any. `urls` are the
    /// computed addresses that are allowed, if any.
    pub(crate) fn to_address(
        outbound: Outbound,
        home: Url,
        allow_private: bool,
        tokens: Option<TokenSource>,
        urls: Option<HttpsUrls>,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let actor = || -> Result<Self, SetupError> {
                let client = AuthorizedClient::new(&outbound, &home, allow_private, tokens.clone())?;
                let outside = urls.clone().map(|urls| outbound.peer_pool(urls, allow_private)).transpose()?;
                Ok(Self { client, outside })
            };
            let actor = actor().map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(actor)
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

impl ReadHandler<OutsideExchange> for HttpActor {
    fn read(
        &self,
        OutsideExchange { request, patience }: OutsideExchange,
    ) -> ReadReply<<OutsideExchange as Message>::Result> {
        let outside = self.outside.clone();
        ReadReply::later(async move { send_outside(outside, request, patience).await })
    }
}

/// The client to an HTTP API: its settings, and the actor that asks.
pub(crate) struct HttpDriver {
    pub(crate) settings: Arc<HttpSettings>,
    pub(crate) address: Address<HttpActor>,
    /// The hosts of computed addresses.
    pub(crate) hosts: Arc<CalledHosts>,
}

impl HttpDriver {
    async fn start(settings: &Arc<HttpSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let tokens = settings.token_source(context.name, &context.settings.tokens);
        let (home, allow_private) = (settings.base.clone(), settings.allow_private);
        let (outbound, urls) = (context.settings.outbound.clone(), settings.urls.clone());
        let factory = HttpActor::to_address(outbound, home, allow_private, tokens, urls);
        let hosts =
            CalledHosts::new(context.name, context.settings.breakers, settings.max_concurrent_per_host);
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address, hosts: Arc::new(hosts) })
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
