//! The cache of a connector, for what a channel keeps for every process and is no task: claims on idempotency keys, answers
//! to be reused.
//!
//! Goes the way of every call: by a message to the connector's actor, through the breaker of channel and connector, counted.

use std::sync::Arc;

use actix::Message;
use actix_supervision::ReadHandler;
use svc_channels::{CacheError, CacheFuture, CacheUnavailable, ConnectorAccess, SharedCache};
use svc_engine::TaskError;

use crate::drivers::cache::{CacheActor, CacheDriver, Claim, Read, Release, Write};
use crate::drivers::failure::Failure;
use crate::functions::{LONGEST_SECS, ask, gate, guarded, kind};
use crate::handle::{Connectors, NotLoaded};

/// A cache in a server that other processes reach too. Cheap to clone.
#[derive(Clone, Debug)]
struct ConnectorCache {
    connectors: Connectors,
    channel: Arc<str>,
    connector: Arc<str>,
}

impl ConnectorAccess for Connectors {
    fn shared_cache(&self, connector: &str, channel: &str) -> Result<Arc<dyn SharedCache>, CacheUnavailable> {
        let loaded = self.find(connector).map_err(|error| match error {
            NotLoaded::Unknown(_) => not_shared(error.into()),
            NotLoaded::Disabled(_) | NotLoaded::Failed(..) => {
                CacheUnavailable::NotLoaded(cache_error(error.into()))
            }
        })?;
        let settings = &kind::<CacheDriver>(connector, &loaded).map_err(not_shared)?.settings;
        for operation in ["read", "write"] {
            gate(&settings.operations, operation, connector).map_err(not_shared)?;
        }
        if !settings.is_shared() {
            let reason = format!("connector '{connector}' keeps its entries in the memory of a process");
            return Err(CacheUnavailable::NotShared(CacheError(reason)));
        }
        Ok(Arc::new(ConnectorCache {
            connectors: self.clone(),
            channel: channel.into(),
            connector: connector.into(),
        }))
    }

    fn lacks_secrets(&self, connector: &str) -> bool {
        self.lacks_secrets(connector)
    }
}

fn cache_error(error: TaskError) -> CacheError {
    CacheError(error.message)
}

fn not_shared(error: TaskError) -> CacheUnavailable {
    CacheUnavailable::NotShared(cache_error(error))
}

impl SharedCache for ConnectorCache {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        Box::pin(self.ask(Read(key)))
    }

    fn write(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, ()> {
        Box::pin(self.ask(Write { key, text, ttl_secs: Some(ttl_secs.min(LONGEST_SECS)) }))
    }

    fn claim(&self, key: String, owner: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        Box::pin(self.ask(Claim { key, owner, ttl_secs: ttl_secs.min(LONGEST_SECS) }))
    }

    fn release(&self, key: String, owner: String) -> CacheFuture<'_, ()> {
        Box::pin(self.ask(Release { key, owner }))
    }
}

impl ConnectorCache {
    async fn ask<M, T>(&self, message: M) -> Result<T, CacheError>
    where
        M: Message<Result = Result<T, Failure>> + Clone + Send + 'static,
        T: Send + 'static,
        CacheActor: ReadHandler<M>,
    {
        let connector = &*self.connector;
        let message = |driver: &CacheDriver| Ok((driver.address.clone(), message.clone()));
        let call = async {
            let (_, answer) = ask(&self.connectors, connector, message).await?;
            answer.map_err(|failure| failure.of(connector))
        };
        guarded(&self.connectors, &self.channel, connector, call).await.map_err(cache_error)
    }
}
