//! The tokens that the callers of one connector share.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use svc_model::config::connector::{OAuth2, OAuth2Grant};
use svc_outbound::Url;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::single_flight::{SharedEntry, SharedMap};
use crate::tokens::error::TokenError;
use crate::tokens::rotation::Rotation;
use crate::tokens::state::{AccessToken, ExpiringToken, State, TokenResult};

/// The slots in use, by the name of their connector.
pub(crate) type TokenDirectory = SharedMap<TokenSlot>;

/// A slot as its users hold it.
pub(crate) type SharedTokenSlot = SharedEntry<TokenSlot>;

/// The terms under which tokens are obtained.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TokenTerms {
    pub(crate) oauth: OAuth2,
    pub(crate) url: Url,
    /// True if the token endpoint may have a private address.
    pub(crate) allow_private: bool,
}

/// The tokens of one connector under one set of terms: read by all, changed by the actor, but for a
/// token that the API refused.
pub(crate) struct TokenSlot {
    pub(crate) connector: Arc<str>,
    pub(crate) terms: TokenTerms,
    state: ArcSwap<State>,
    /// Held by the fetch that runs, with what only fetches know.
    pub(crate) flight: Mutex<Rotation>,
}

impl TokenSlot {
    pub(crate) fn new(connector: &str, terms: TokenTerms) -> Self {
        Self { connector: connector.into(), terms, state: ArcSwap::default(), flight: Mutex::default() }
    }

    pub(crate) fn margin(&self) -> Duration {
        Duration::from_secs(self.terms.oauth.refresh_margin_secs)
    }

    /// Returns the first refresh token, if the grant has one.
    pub(crate) fn seed(&self) -> Option<&str> {
        match &self.terms.oauth.grant {
            OAuth2Grant::RefreshToken { seed } => Some(seed.expose()),
            _ => None,
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// Returns the result for a caller that has waited since `seen` fetches had ended.
    pub(crate) fn result_since(&self, seen: u64) -> Option<TokenResult> {
        self.state.load().result_since(Instant::now(), self.margin(), seen)
    }

    /// Drops a token that the API refused; one that has replaced it meanwhile stays.
    pub(crate) fn reject(&self, sent: &Arc<AccessToken>) {
        self.state.rcu(|state| state.without(sent));
    }

    /// Ends a fetch.
    pub(crate) fn land(&self, outcome: Result<ExpiringToken, TokenError>) -> TokenResult {
        let now = Instant::now();
        self.state.rcu(|state| state.record_outcome(now, outcome.clone()));
        outcome.map(|held| held.token)
    }
}
