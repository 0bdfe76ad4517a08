//! The actor of one MongoDB deployment.
//!
//! Owns the client, opened at the first call. Message in: [`RunOperation`], read-only, so that operations run
//! side by side and end with their callers. A client whose server says that it is the wrong one is given up. A
//! restart opens a new client; nothing else is lost with it. It never sends an operation twice unless the driver
//! does: the connection string says so (`retryWrites`), and the server makes one of the two.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use bson::Document;
use svc_model::config::connector::DatabaseKind;
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::client::{Connected, open};
use super::error::MongoError;
use super::operation::{CollectionOperation, OperationResult};
use super::probe::probe;
use super::settings::MongoSettings;
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::drivers::pool::{OpenPools, PoolSlot};
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Runs one operation of a collection.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<OperationResult, MongoError>")]
pub(crate) struct RunOperation {
    pub(crate) database: String,
    pub(crate) collection: String,
    pub(crate) operation: CollectionOperation,
    /// Most bytes of the documents that are answered.
    pub(crate) max_bytes: usize,
}

/// The actor of a MongoDB deployment.
pub(crate) struct MongoActor {
    settings: Arc<MongoSettings>,
    outbound: Outbound,
    client: PoolSlot<Connected>,
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

impl ReadHandler<RunOperation> for MongoActor {
    fn read(&self, run: RunOperation) -> ReadReply<<RunOperation as Message>::Result> {
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
            if matches!(outcome, Err(MongoError::NotPrimary(_))) {
                client.give_up();
            }
            outcome
        })
    }
}

/// The driver of a MongoDB deployment: its settings and the address of its actor.
pub(crate) struct MongoDriver {
    pub(crate) settings: Arc<MongoSettings>,
    pub(crate) address: Address<MongoActor>,
}

impl MongoDriver {
    async fn start(settings: &Arc<MongoSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let outbound = context.settings.outbound.clone();
        let factory = MongoActor::factory(outbound, Arc::clone(settings), context.pools.clone());
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for MongoDriver {
    const REQUIREMENT: &'static str = "a MongoDB database";
}

impl DriverSettings for MongoSettings {
    type Driver = MongoDriver;

    async fn probe(&self, _: &str, settings: &Settings) -> ConnectorProbe {
        probe(self, &settings.outbound).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<MongoDriver, SpawnError> {
        MongoDriver::start(&self, context).await
    }

    fn database(&self) -> Option<DatabaseKind> {
        Some(DatabaseKind::Mongo)
    }
}
