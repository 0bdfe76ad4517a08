//! The actor of one object store.
//!
//! Owns the connections to it. Messages in: [`HeadObject`], [`ReadObject`] and [`WriteObject`], read-only, so that calls
//! run at the same time and end with their callers. A restart opens new connections; nothing else is lost with it.
//! Signing needs no actor: it is done with the settings alone.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_outbound::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use svc_outbound::{
    FetchError, Method, Outbound, OutboundResponse, PeerClient, PeerRequest, RequestBody, SetupError, Url,
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

/// Reads an object of at most so many bytes.
#[derive(Message)]
#[rtype(result = "Result<OutboundResponse, FetchError>")]
pub(crate) struct ReadObject {
    pub(crate) key: String,
    pub(crate) max_bytes: usize,
}

/// Writes an object.
#[derive(Message)]
#[rtype(result = "Result<OutboundResponse, FetchError>")]
pub(crate) struct WriteObject {
    pub(crate) key: String,
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Vec<u8>,
}

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
        self.request(Method::HEAD, url)
    }

    /// A request of a signed URL that is to have a short answer.
    fn request(&self, method: Method, url: Url) -> PeerRequest {
        PeerRequest {
            method,
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

impl ReadHandler<ReadObject> for StorageActor {
    fn read(&self, ReadObject { key, max_bytes }: ReadObject) -> ReadReply<<ReadObject as Message>::Result> {
        let request = self.settings.request(Method::GET, self.settings.object_to_read(&key));
        let (peer, request) = (self.peer.clone(), PeerRequest { cap: max_bytes, ..request });
        ReadReply::later(async move { peer.send(request).await })
    }
}

impl ReadHandler<WriteObject> for StorageActor {
    fn read(&self, object: WriteObject) -> ReadReply<<WriteObject as Message>::Result> {
        let WriteObject { key, content_type, body } = object;
        let signed_type = content_type.to_str().unwrap_or_default();
        let mut request =
            self.settings.request(Method::PUT, self.settings.object_to_write(&key, signed_type));
        request.headers.insert(CONTENT_TYPE, content_type);
        request.body = Some(RequestBody { content_type: "application/octet-stream", bytes: body.into() });
        let peer = self.peer.clone();
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
