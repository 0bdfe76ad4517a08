//! The handle that hands out sources of tokens.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Address, ChildSpec, Placement, SpawnError, Tree};
use slog::Logger;
use svc_model::ErrorReason;
use svc_model::config::connector::OAuth2;
use svc_outbound::{ClientOptions, Outbound, SetupError, Url};
use svc_store::Store;
use tokio::time::Instant;

use crate::tokens::fetcher::Fetcher;
use crate::tokens::metrics::TokenMetrics;
use crate::tokens::shared::{REQUEST_LIMIT, TokenContext};
use crate::tokens::slot::{TokenDirectory, TokenSlot, TokenTerms};
use crate::tokens::source::TokenSource;
use crate::tokens::state::TokenStatus;

/// Fetches that can be asked for at one time: a few for each connector.
const MAILBOX: usize = 16_384;
/// The time that a running fetch gets at a restart: its request, and storing the response.
const DRAIN: Duration = Duration::from_secs(20);

/// The settings of the crate.
#[derive(Clone)]
pub struct Settings {
    /// The store of refresh tokens.
    pub store: Store,
    /// Path of the store's node.
    pub needs: String,
    /// The factory of HTTP clients.
    pub outbound: Outbound,
    /// The name of this process among those on the same database.
    pub holder: String,
    /// Counts a failure in `svc_errors_total`.
    pub errors: Arc<dyn Fn(ErrorReason) + Send + Sync>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("holder", &self.holder).finish_non_exhaustive()
    }
}

/// A failed start of the token service.
#[derive(Debug, thiserror::Error)]
pub enum TokensStartError {
    /// A client cannot be set up.
    #[error(transparent)]
    Client(#[from] SetupError),
    /// The actor could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// The tokens of all connectors. Cheap to clone; survives restarts of its actor.
#[derive(Clone)]
pub struct Tokens {
    directory: Arc<TokenDirectory>,
    fetcher: Address<Fetcher>,
    metrics: TokenMetrics,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.fetcher).finish()
    }
}

impl Tokens {
    /// Adds the actor to a tree, at `path`. The runtime of `at` drives the connections, so it must last as
    /// long as the actor.
    ///
    /// # Errors
    /// [`TokensStartError::Client`] if no client can be set up, [`TokensStartError::Spawn`] if the path is
    /// taken or the placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        settings: Settings,
        metrics: TokenMetrics,
        log: Logger,
    ) -> Result<Self, TokensStartError> {
        let Settings { store, needs, outbound, holder, errors } = settings;
        let client = |allow_private| outbound.client(ClientOptions { allow_private, timeout: REQUEST_LIMIT });
        let (public, private) = (client(false)?, client(true)?);
        let states = store.token_states();
        let counted = metrics.clone();
        let context =
            Arc::new(TokenContext { states, public, private, holder, metrics: counted, errors, log });
        let spec = ChildSpec::new().mailbox(MAILBOX).drain_deadline(DRAIN).needs([needs]);
        let factory = move |_| {
            let fetcher = Fetcher::new(Arc::clone(&context));
            std::future::ready(Ok::<_, actix_supervision::StartError>(fetcher))
        };
        let fetcher = tree.spawn(path, spec, at, factory).await?;
        Ok(Self { directory: Arc::default(), fetcher, metrics })
    }

    /// Returns the source of a connector's tokens, without sending a message. `url` is its token endpoint,
    /// which may have a private address if `allow_private` is set.
    pub fn source(&self, connector: &str, oauth: &OAuth2, url: &Url, allow_private: bool) -> TokenSource {
        let terms = TokenTerms { oauth: oauth.clone(), url: url.clone(), allow_private };
        let slot = self.directory.get_or_insert(
            connector,
            |slot| slot.terms == terms,
            || TokenSlot::new(connector, terms.clone()),
        );
        TokenSource { slot, fetcher: self.fetcher.clone() }
    }

    /// Returns the token of a connector as it is on this node; `None` for one that uses none.
    pub fn status(&self, connector: &str) -> Option<TokenStatus> {
        let slot = self.directory.find(connector)?;
        Some(slot.state().status(Instant::now()))
    }

    /// Lets a connector that comes by this name later begin anew, in the metrics too.
    pub fn forget(&self, connector: &str) {
        self.directory.forget(connector);
        self.metrics.forget(connector);
    }
}
