//! The actor of one SQL database.
//!
//! Owns its pool of connections, opened at the first call. Message in: [`Run`], read-only, so that calls run side by side and
//! end with their callers. A restart opens new connections; nothing else is lost with it.

use std::sync::Arc;

use actix::{Actor, Message};
use actix_supervision::{
    Address, Context, ReadHandler, ReadReply, SpawnError, StartContext, StartError, Supervised,
};

use super::message::Run;
use super::pool::Pool;
use super::settings::{PoolContext, SqlSettings};
use crate::drivers::{Driver, Kind, OpenPools, Slot, Spot};

/// The actor.
pub(crate) struct SqlActor {
    settings: Arc<SqlSettings>,
    context: PoolContext,
    pool: Slot<Pool>,
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

impl ReadHandler<Run> for SqlActor {
    fn read(&self, run: Run) -> ReadReply<<Run as Message>::Result> {
        let (settings, context, slot) = (Arc::clone(&self.settings), self.context.clone(), self.pool.clone());
        ReadReply::later(async move {
            let pool = slot.get(async || Pool::open(&settings, &context)).await?;
            pool.run(run).await
        })
    }
}

/// The way to a SQL database: its settings, and the actor that asks.
pub(crate) struct SqlDriver {
    pub(crate) settings: Arc<SqlSettings>,
    pub(crate) address: Address<SqlActor>,
}

impl SqlDriver {
    pub(crate) async fn start(settings: &Arc<SqlSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let context = PoolContext::new(spot.name, spot.with, spot.log);
        let factory = SqlActor::factory(Arc::clone(settings), context, spot.pools.clone());
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for SqlDriver {
    const NEEDED: &'static str = "a SQL database";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Sql(sql) => Some(sql),
            _ => None,
        }
    }
}
