//! The actor of one MongoDB deployment.
//!
//! Owns the client, opened at the first call. Message in: [`Run`], read-only, so that operations run side by side and end
//! with their callers. A restart opens a new client; nothing else is lost with it. It never sends an operation twice
//! but where the driver does: the connection string says so (`retryWrites`), and the server makes one of the two.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use bson::Document;
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::client::{Connected, open};
use super::error::MongoError;
use super::operation::{Operation, Outcome};
use super::settings::MongoSettings;
use crate::drivers::{Driver, Kind, OpenPools, Slot, Spot};

/// Run one operation of a collection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Outcome, MongoError>")]
pub(crate) struct Run {
    pub(crate) database: String,
    pub(crate) collection: String,
    pub(crate) operation: Operation,
    /// Most bytes of the documents that are answered.
    pub(crate) max_bytes: usize,
}

/// The actor.
pub(crate) struct MongoActor {
    settings: Arc<MongoSettings>,
    outbound: Outbound,
    client: Slot<Connected>,
}

impl MongoActor {
    fn factory(
        outbound: Outbound,
        settings: Arc<MongoSettings>,
        pools: OpenPools,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let (settings, outbound) = (Arc::clone(&settings), outbound.clone());
            std::future::ready(Ok(Self { settings, outbound, client: pools.slot() }))
        }
    }
}

impl Actor for MongoActor {
    type Context = Context<Self>;
}

impl Supervised for MongoActor {}

impl ReadHandler<Run> for MongoActor {
    fn read(&self, run: Run) -> ReadReply<<Run as Message>::Result> {
        let (settings, outbound) = (Arc::clone(&self.settings), self.outbound.clone());
        let client = self.client.clone();
        ReadReply::later(async move {
            let connected = client.get(async || open(&settings, &outbound).await).await?;
            connected.check()?;
            let database = connected.client.database(&run.database);
            let collection = database.collection::<Document>(&run.collection);
            let limit = settings.query_timeout;
            let operation = run.operation.run(&collection, limit, run.max_bytes);
            let outcome = timeout(limit, operation).await.unwrap_or(Err(MongoError::Deadline(limit)));
            // A server that was refused meanwhile is the reason of a failure.
            if outcome.is_err() {
                connected.check()?;
            }
            outcome
        })
    }
}

/// The way to a deployment: its settings, and the actor that asks.
pub(crate) struct MongoDriver {
    pub(crate) settings: Arc<MongoSettings>,
    pub(crate) address: Address<MongoActor>,
}

impl MongoDriver {
    pub(crate) async fn start(settings: &Arc<MongoSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let outbound = spot.with.outbound.clone();
        let factory = MongoActor::factory(outbound, Arc::clone(settings), spot.pools.clone());
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for MongoDriver {
    const NEEDED: &'static str = "a MongoDB database";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Mongo(mongo) => Some(mongo),
            _ => None,
        }
    }
}
