//! The cache of a connector, for what a channel keeps for every process and is no task: claims on idempotency keys, answers
//! to be reused.
//!
//! Goes the way of every call: by a message to the connector's actor, through the breaker of channel and connector, counted.

use std::sync::Arc;

use actix::Message;
use actix_supervision::ReadHandler;
use svc_engine::TaskError;

use crate::drivers::cache::{CacheActor, CacheDriver, Claim, Read, Release, Write};
use crate::drivers::failure::Failure;
use crate::functions::{LONGEST_SECS, ask, gate, guarded, kind};
use crate::handle::{Connectors, NotLoaded};

/// Why a cache is not used. For operators; holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CacheError(String);

impl From<TaskError> for CacheError {
    fn from(error: TaskError) -> Self {
        Self(error.message)
    }
}

/// Why a connector gives no cache that processes share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCache {
    /// It is one, and not in use now: its load failed, or it is switched off.
    #[error("{0}")]
    Away(CacheError),
    /// It is none: there is no connector of this name, it is no cache, keeps its entries in the memory of one process, or may
    /// not be read and written.
    #[error("{0}")]
    Unfit(CacheError),
}

impl NoCache {
    fn unfit(error: impl Into<CacheError>) -> Self {
        Self::Unfit(error.into())
    }
}

/// A cache in a server that other processes reach too. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SharedCache {
    connectors: Connectors,
    channel: Arc<str>,
    connector: Arc<str>,
}

impl Connectors {
    /// The cache of a connector, for a channel.
    ///
    /// # Errors
    /// Why there is none.
    pub fn shared_cache(&self, connector: &str, channel: &str) -> Result<SharedCache, NoCache> {
        let loaded = self.find(connector).map_err(|why| match why {
            NotLoaded::Unknown(_) => NoCache::unfit(TaskError::from(why)),
            NotLoaded::Disabled(_) | NotLoaded::Failed(..) => NoCache::Away(TaskError::from(why).into()),
        })?;
        let settings = &kind::<CacheDriver>(connector, &loaded).map_err(NoCache::unfit)?.settings;
        for operation in ["read", "write"] {
            gate(&settings.operations, operation, connector).map_err(NoCache::unfit)?;
        }
        if !settings.is_shared() {
            let why = format!("connector '{connector}' keeps its entries in the memory of a process");
            return Err(NoCache::Unfit(CacheError(why)));
        }
        Ok(SharedCache { connectors: self.clone(), channel: channel.into(), connector: connector.into() })
    }
}

impl SharedCache {
    /// The text of a key.
    ///
    /// # Errors
    /// The server did not say.
    pub async fn read(&self, key: String) -> Result<Option<String>, CacheError> {
        self.ask(Read(key)).await
    }

    /// Keeps a text for so many seconds, a hundred years at most.
    ///
    /// # Errors
    /// The server did not confirm it.
    pub async fn write(&self, key: String, text: String, ttl_secs: u64) -> Result<(), CacheError> {
        self.ask(Write { key, text, ttl_secs: Some(ttl_secs.min(LONGEST_SECS)) }).await
    }

    /// Gives a key that nobody has to `owner`, for so many seconds, a hundred years at most; `false` where somebody has it.
    ///
    /// # Errors
    /// The server did not say.
    pub async fn claim(&self, key: String, owner: String, ttl_secs: u64) -> Result<bool, CacheError> {
        self.ask(Claim { key, owner, ttl_secs: ttl_secs.min(LONGEST_SECS) }).await
    }

    /// Gives a key back, if `owner` has it still.
    ///
    /// # Errors
    /// The server did not confirm it.
    pub async fn release(&self, key: String, owner: String) -> Result<(), CacheError> {
        self.ask(Release { key, owner }).await
    }

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
        Ok(guarded(&self.connectors, &self.channel, connector, call).await?)
    }
}
