//! The handle that hands out key sets.

use std::sync::Arc;

use actix_supervision::{Address, ChildSpec, Placement, SpawnError, Tree};
use slog::Logger;
use svc_auth::{IssuerDocument, KeySet, KeySets};
use svc_outbound::{ClientOptions, Outbound, SetupError, key_set_url};

use crate::keysets::fetcher::{FETCH_LIMIT, KeySetFetcher, Refresh, Want};
use crate::keysets::set::{KeySetDirectory, KeySetSlot, SharedSet};
use crate::keysets::source::{HttpKeySetSource, KeySetSource};

/// Maximum number of key sets that can be requested at the same time; each request is one message.
const MAILBOX: usize = 16_384;

/// The settings of the cache.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The factory of HTTP clients.
    pub outbound: Outbound,
    /// Admits issuers at private addresses.
    pub allow_private: bool,
}

/// A failed start of the cache.
#[derive(Debug, thiserror::Error)]
pub enum KeySetStartError {
    /// The client cannot be set up.
    #[error(transparent)]
    Client(#[from] SetupError),
    /// The actor could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// The key sets of all issuers. Cheap to clone; survives restarts of its actor.
#[derive(Clone)]
pub struct KeySetCache {
    directory: Arc<KeySetDirectory>,
    fetcher: Address<KeySetFetcher>,
    allow_private: bool,
}

impl KeySetCache {
    /// Adds the actor to a tree, at `path`. The runtime of `at` drives the connections, so it must last as
    /// long as the actor.
    ///
    /// # Errors
    /// [`KeySetStartError::Client`] if no client can be set up, [`KeySetStartError::Spawn`] if the path is
    /// taken or the placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        settings: Settings,
        log: Logger,
    ) -> Result<Self, KeySetStartError> {
        let Settings { outbound, allow_private } = settings;
        let client = outbound.client(ClientOptions { allow_private, timeout: FETCH_LIMIT })?;
        Ok(Self::supervise_with_source(
            Arc::new(HttpKeySetSource(client)),
            tree,
            path,
            at,
            allow_private,
            log,
        )
        .await?)
    }

    /// Adds the actor at `path` over any source of key sets; [`supervise`](Self::supervise) passes the one
    /// that uses HTTP.
    pub(crate) async fn supervise_with_source(
        source: Arc<dyn KeySetSource>,
        tree: &Tree,
        path: &str,
        at: Placement,
        allow_private: bool,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        let spec = ChildSpec::new().mailbox(MAILBOX);
        let factory = move |_| {
            let fetcher = KeySetFetcher::new(Arc::clone(&source), log.clone());
            std::future::ready(Ok::<_, actix_supervision::StartError>(fetcher))
        };
        let fetcher = tree.spawn(path, spec, at, factory).await?;
        Ok(Self { directory: Arc::default(), fetcher, allow_private })
    }

    #[cfg(test)]
    pub(crate) fn sets(&self) -> usize {
        self.directory.len()
    }
}

impl KeySets for KeySetCache {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        let url = key_set_url(url, self.allow_private)?;
        let slot = self.directory.get_or_insert(url.as_str(), |_| true, || KeySetSlot::new(url.clone()));
        Ok(Arc::new(SharedSet { slot, fetcher: self.fetcher.clone() }))
    }

    fn issuer_key_set(&self, issuer: &str) -> Result<Arc<dyn KeySet>, String> {
        let url = key_set_url(&IssuerDocument::address(issuer), self.allow_private)?;
        // Another set than that of a `jwks_url` with the address of the document.
        let name = format!("issuer:{issuer}");
        let create = || KeySetSlot::discovered(url.clone(), issuer);
        let slot = self.directory.get_or_insert(&name, |_| true, create);
        // The keys are there before the first token, if the issuer answers. Otherwise the first token asks again.
        let _ = self.fetcher.cast(Refresh { slot: Arc::clone(&slot), want: Want::Fresh });
        Ok(Arc::new(SharedSet { slot, fetcher: self.fetcher.clone() }))
    }
}
