//! The cache of a connector, for what a channel keeps for every process and is no task: claims on idempotency keys, answers
//! to be reused.
//!
//! Calls go through the breaker of channel and connector and a message to the connector's actor, and are counted, as those of
//! tasks.

use std::sync::Arc;

use actix::Message;
use actix_supervision::ReadHandler;
use svc_channels::{CacheError, CacheFuture, CacheUnavailable, ConnectorAccess, SharedCache};
use svc_engine::{ErrorCode, TaskError};

use crate::directory::ConnectorDirectory;
use crate::drivers::cache::{
    CacheActor, CacheDriver, ClaimCacheKey, IncrementCounter, ReadEntry, ReleaseCacheKey, TransferCacheKey,
    WriteEntry,
};
use crate::drivers::failure::CallFailure;
use crate::error::NotLoaded;
use crate::functions::{Caller, call_driver, call_with_breaker, check_operation, driver_of};
use crate::handle::Connectors;

/// A cache in a server that other processes reach too. Cheap to clone.
#[derive(Clone, Debug)]
struct ConnectorCache {
    connectors: ConnectorDirectory,
    caller: Caller,
    connector: Arc<str>,
}

impl ConnectorAccess for Connectors {
    fn shared_cache(&self, connector: &str, channel: &str) -> Result<Arc<dyn SharedCache>, CacheUnavailable> {
        let loaded = self.directory().find(connector).map_err(|error| match error {
            NotLoaded::Unknown(_) => not_shared(error.into()),
            NotLoaded::Disabled(_) | NotLoaded::Failed(..) => {
                CacheUnavailable::NotLoaded(cache_error(error.into()))
            }
        })?;
        let settings = &driver_of::<CacheDriver>(connector, &loaded).map_err(not_shared)?.settings;
        for operation in ["read", "write"] {
            check_operation(&settings.operations, operation, connector).map_err(not_shared)?;
        }
        if !settings.is_shared() {
            let reason = format!("connector '{connector}' keeps its entries in the memory of a process");
            return Err(CacheUnavailable::NotShared(CacheError::NotDone(reason)));
        }
        Ok(Arc::new(ConnectorCache {
            connectors: self.directory().clone(),
            caller: Caller::of_guard(channel.into()),
            connector: connector.into(),
        }))
    }

    fn lacks_secrets(&self, connector: &str) -> bool {
        self.lacks_secrets(connector)
    }
}

fn cache_error(error: TaskError) -> CacheError {
    match error.code {
        ErrorCode::Io | ErrorCode::Timeout => CacheError::Unconfirmed(error.message),
        _ => CacheError::NotDone(error.message),
    }
}

fn not_shared(error: TaskError) -> CacheUnavailable {
    CacheUnavailable::NotShared(cache_error(error))
}

impl SharedCache for ConnectorCache {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        Box::pin(self.call(ReadEntry(key)))
    }

    fn write(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, ()> {
        Box::pin(self.call(WriteEntry { key, text, ttl_secs: Some(ttl_secs) }))
    }

    fn claim(&self, key: String, owner: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        Box::pin(self.call(ClaimCacheKey { key, owner, ttl_secs }))
    }

    fn transfer(
        &self,
        key: String,
        owner: String,
        successor: String,
        ttl_secs: u64,
    ) -> CacheFuture<'_, bool> {
        Box::pin(self.call(TransferCacheKey { key, owner, successor, ttl_secs }))
    }

    fn release(&self, key: String, owner: String) -> CacheFuture<'_, ()> {
        Box::pin(self.call(ReleaseCacheKey { key, owner }))
    }

    fn increment(&self, key: String) -> CacheFuture<'_, u64> {
        Box::pin(self.call(IncrementCounter(key)))
    }
}

impl ConnectorCache {
    async fn call<M, T>(&self, message: M) -> Result<T, CacheError>
    where
        M: Message<Result = Result<T, CallFailure>> + Clone + Send + 'static,
        T: Send + 'static,
        CacheActor: ReadHandler<M>,
    {
        let connector = &*self.connector;
        let message = |driver: &CacheDriver| Ok((driver.address.clone(), message.clone()));
        let call = async {
            let (_, answer) = call_driver(&self.connectors, connector, message).await?;
            answer.map_err(|failure| failure.to_task_error(connector))
        };
        call_with_breaker(&self.connectors, &self.caller, connector, call).await.map_err(cache_error)
    }
}
