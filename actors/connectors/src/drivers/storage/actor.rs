//! The actor of one object store.
//!
//! Owns the connections to it. Message in: [`HeadObject`], read-only, so that calls run side by side and end
//! with their callers. A restart opens new connections; nothing else is lost with it. Signing needs no actor:
//! it is done with the settings alone.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_outbound::header::HeaderMap;
use svc_outbound::{
    FetchError, Method, Outbound, OutboundResponse, PeerClient, PeerRequest, SetupError, Url,
};

use super::probe::probe;
use super::settings::StorageSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Bytes of an answer that is to have none.
const CAP: usize = 64 * 1024;

/// Requests the metadata of an object.
#[derive(Message)]
#[rtype(result = "Result<OutboundResponse, FetchError>")]
pub(crate) struct HeadObject(pub(crate) String);

/// The actor of an object store.
pub(crate) struct StorageActor {
    settings: Arc<StorageSettings>,
    peer: PeerClient,
}

impl StorageSettings {
    pub(super) fn peer(&self, outbound: &Outbound) -> Result<PeerClient, SetupError> {
        outbound.peer(self.bucket.base_url(), self.allow_private)
    }

    /// `HEAD` of a signed URL.
    pub(super) fn head(&self, url: Url) -> PeerRequest {
        PeerRequest {
            method: Method::HEAD,
            url,
            headers: HeaderMap::new(),
            params: Vec::new(),
            body: None,
            timeout: self.timeout,
            cap: CAP,
            follow: false,
        }
    }
}

impl Actor for StorageActor {
    type Context = Context<Self>;
}

impl Supervised for StorageActor {}

impl ReadHandler<HeadObject> for StorageActor {
    fn read(&self, HeadObject(key): HeadObject) -> ReadReply<<HeadObject as Message>::Result> {
        let (peer, request) = (self.peer.clone(), self.settings.head(self.settings.object(&key)));
        ReadReply::later(async move { peer.send(request).await })
    }
}

/// The driver of an object store: its settings and the address of its actor.
pub(crate) struct StorageDriver {
    pub(crate) settings: Arc<StorageSettings>,
    pub(crate) address: Address<StorageActor>,
}

impl StorageDriver {
    async fn start(settings: &Arc<StorageSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let (outbound, for_actor) = (context.settings.outbound.clone(), Arc::clone(settings));
        let factory = move |_: StartContext| {
            let peer = for_actor.peer(&outbound).map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(peer.map(|peer| StorageActor { settings: Arc::clone(&for_actor), peer }))
        };
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for StorageDriver {
    const REQUIREMENT: &'static str = "of type storage";
}

impl DriverSettings for StorageSettings {
    type Driver = StorageDriver;

    async fn probe(&self, _: &str, settings: &Settings) -> ConnectorProbe {
        probe(self, &settings.outbound).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<StorageDriver, SpawnError> {
        StorageDriver::start(&self, context).await
    }
}
