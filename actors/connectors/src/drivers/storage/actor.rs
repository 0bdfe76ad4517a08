//! The actor of one object store.
//!
//! Owns the connections to it. Message in: [`Head`], read-only, so that calls run side by side and end with their callers. A
//! restart opens new connections; nothing else is lost with it. Signing needs no actor: it is done with the settings alone.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_outbound::header::HeaderMap;
use svc_outbound::{
    FetchError, Method, Outbound, OutboundResponse, PeerClient, PeerRequest, SetupError, Url,
};

use super::settings::StorageSettings;
use crate::drivers::{Driver, Kind, Spot};

/// Bytes of an answer that is to have none.
const CAP: usize = 64 * 1024;

/// Ask what is known of an object.
#[derive(Message)]
#[rtype(result = "Result<OutboundResponse, FetchError>")]
pub(crate) struct Head(pub(crate) String);

/// The actor.
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

impl ReadHandler<Head> for StorageActor {
    fn read(&self, Head(key): Head) -> ReadReply<<Head as Message>::Result> {
        let (peer, request) = (self.peer.clone(), self.settings.head(self.settings.object(&key)));
        ReadReply::later(async move { peer.send(request).await })
    }
}

/// The way to an object store: its settings, which sign, and the actor that asks.
pub(crate) struct StorageDriver {
    pub(crate) settings: Arc<StorageSettings>,
    pub(crate) address: Address<StorageActor>,
}

impl StorageDriver {
    pub(crate) async fn start(settings: &Arc<StorageSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let (outbound, of_actor) = (spot.with.outbound.clone(), Arc::clone(settings));
        let factory = move |_: StartContext| {
            let peer = of_actor.peer(&outbound).map_err(|error| StartError::Transient(error.to_string()));
            std::future::ready(peer.map(|peer| StorageActor { settings: Arc::clone(&of_actor), peer }))
        };
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for StorageDriver {
    const NEEDED: &'static str = "of type storage";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Storage(storage) => Some(storage),
            _ => None,
        }
    }
}
