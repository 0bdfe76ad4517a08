//! The actor of one SQL database.
//!
//! Owns its pool of connections, opened at the first call. Message in: [`RunStatements`], read-only, so that
//! calls run concurrently and end with their callers. A pool whose server says that it is the wrong one is given
//! up. A restart opens new connections; nothing else is lost with it.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};
use svc_model::config::connector::DatabaseKind;

use super::error::SqlError;
use super::messages::RunStatements;
use super::pool::SqlPool;
use super::probe::probe;
use super::settings::{PoolContext, SqlSettings};
use crate::driver::{Driver, DriverSettings, SpawnContext};
use crate::drivers::pool::{OpenPools, PoolSlot};
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// The actor of a SQL database.
pub(crate) struct SqlActor {
    settings: Arc<SqlSettings>,
    context: PoolContext,
    pool: PoolSlot<SqlPool>,
}

impl SqlActor {
    fn factory(
        settings: Arc<SqlSettings>,
        context: PoolContext,
        pools: OpenPools,
    ) -> impl Fn(StartContext) -> std::future::Ready<Result<Self, StartError>> + Send + Sync + 'static {
        move |_| {
            let (settings, context) = (Arc::clone(&settings), context.clone());
            std::future::ready(Ok(Self { settings, context, pool: pools.slot() }))
        }
    }
}

impl Actor for SqlActor {
    type Context = Context<Self>;
}

impl Supervised for SqlActor {}

impl ReadHandler<RunStatements> for SqlActor {
    fn read(&self, run: RunStatements) -> ReadReply<<RunStatements as Message>::Result> {
        let (settings, context, slot) = (Arc::clone(&self.settings), self.context.clone(), self.pool.clone());
        ReadReply::later(async move {
            let pool = slot.get(async || SqlPool::open(&settings, &context)).await?;
            let outcome = pool.run(run).await;
            if matches!(outcome, Err(SqlError::NotPrimary(_))) {
                slot.give_up();
            }
            outcome
        })
    }
}

/// The driver of a SQL database: its settings and the address of its actor.
pub(crate) struct SqlDriver {
    pub(crate) settings: Arc<SqlSettings>,
    pub(crate) address: Address<SqlActor>,
}

impl SqlDriver {
    async fn start(settings: &Arc<SqlSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let pool_context = PoolContext::new(context.name, context.settings, context.log);
        let factory = SqlActor::factory(Arc::clone(settings), pool_context, context.pools.clone());
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for SqlDriver {
    const REQUIREMENT: &'static str = "a SQL database";
}

impl DriverSettings for SqlSettings {
    type Driver = SqlDriver;

    async fn probe(&self, name: &str, settings: &Settings) -> ConnectorProbe {
        probe(name, self, settings).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<SqlDriver, SpawnError> {
        SqlDriver::start(&self, context).await
    }

    fn database(&self) -> Option<DatabaseKind> {
        Some(self.kind())
    }
}
