//! The tokens that the callers of one connector share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use actix_supervision::Address;
use arc_swap::ArcSwap;
use svc_model::config::connector::{OAuth2, OAuth2Grant};
use svc_outbound::Url;
use tokio::sync::Mutex as Turn;
use tokio::time::Instant;

use crate::error::TokenError;
use crate::fetcher::{Fetch, Fetcher};
use crate::rotation::Rotation;
use crate::state::{AccessToken, ExpiringToken, State, TokenResult};

/// The slots in use, by the name of their connector. Each takes itself out when its last user leaves.
#[derive(Default)]
pub(crate) struct TokenDirectory {
    slots: Mutex<HashMap<Arc<str>, Weak<TokenSlot>>>,
}

/// The terms under which tokens are obtained.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TokenTerms {
    pub(crate) oauth: OAuth2,
    pub(crate) url: Url,
    /// True if the token endpoint may have a private address.
    pub(crate) allow_private: bool,
}

/// The tokens of one connector under one set of terms: read by everybody, changed by the actor, but for a token that the
/// API refused.
pub(crate) struct TokenSlot {
    pub(crate) connector: Arc<str>,
    pub(crate) terms: TokenTerms,
    state: ArcSwap<State>,
    /// One caller at a time asks the actor, so that those of one connector never fill its mailbox.
    turn: Turn<()>,
    /// Held by the fetch that runs, with what only fetches know.
    pub(crate) flight: Turn<Rotation>,
    directory: Arc<TokenDirectory>,
}

impl TokenDirectory {
    /// The slot of a connector, shared with all who came with the same terms.
    pub(crate) fn slot(self: &Arc<Self>, connector: &str, terms: TokenTerms) -> Arc<TokenSlot> {
        // Declared before the lock, so dropped after it: a slot takes the lock when it goes.
        let known;
        let mut slots = self.lock();
        known = slots.get(connector).and_then(Weak::upgrade);
        if let Some(slot) = known.as_ref().filter(|slot| slot.terms == terms) {
            return Arc::clone(slot);
        }
        let connector: Arc<str> = connector.into();
        let slot = Arc::new(TokenSlot {
            connector: Arc::clone(&connector),
            terms,
            state: ArcSwap::default(),
            turn: Turn::default(),
            flight: Turn::default(),
            directory: Arc::clone(self),
        });
        slots.insert(connector, Arc::downgrade(&slot));
        slot
    }

    /// Lets the next who comes for a connector find nothing.
    pub(crate) fn forget(&self, connector: &str) {
        self.lock().remove(connector);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<TokenSlot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenSlot {
    pub(crate) fn margin(&self) -> Duration {
        Duration::from_secs(self.terms.oauth.refresh_margin_secs)
    }

    /// The first refresh token, where the grant has one.
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
    pub(crate) fn settled(&self, seen: u64) -> Option<TokenResult> {
        self.state.load().settled(Instant::now(), self.margin(), seen)
    }

    /// Ends a fetch.
    pub(crate) fn land(&self, outcome: Result<ExpiringToken, TokenError>) -> TokenResult {
        let now = Instant::now();
        self.state.rcu(|state| state.landed(now, outcome.clone()));
        outcome.map(|held| held.token)
    }
}

impl Drop for TokenSlot {
    fn drop(&mut self) {
        let mut slots = self.directory.lock();
        // Another may have taken the place since.
        if slots.get(&self.connector).is_some_and(|slot| slot.strong_count() == 0) {
            slots.remove(&self.connector);
        }
    }
}

/// The source of one connector's tokens. Cheap to clone.
#[derive(Clone)]
pub struct TokenSource {
    pub(crate) slot: Arc<TokenSlot>,
    pub(crate) fetcher: Address<Fetcher>,
}

/// By the connector: everything else may be secret.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenSource").field(&self.slot.connector).finish()
    }
}

impl TokenSource {
    /// A token that may be shown now; obtained if there is none. A caller that leaves ends nothing.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn token(&self) -> Result<Arc<AccessToken>, TokenError> {
        let state = self.slot.state();
        if let Some(known) = state.known(Instant::now(), self.slot.margin()) {
            return known;
        }
        let seen = state.landings();
        let _turn = self.slot.turn.lock().await;
        if let Some(settled) = self.slot.settled(seen) {
            return settled;
        }
        let fetch = Fetch { slot: Arc::clone(&self.slot), seen };
        self.fetcher.ask(fetch).await.unwrap_or_else(|error| {
            let reason = format!("its tokens cannot be obtained now: {error}");
            Err(TokenError::unavailable(&self.slot.connector, reason))
        })
    }

    /// Drops a token that the API refused; one that has replaced it meanwhile stays.
    pub fn reject(&self, sent: &Arc<AccessToken>) {
        self.slot.state.rcu(|state| state.without(sent));
    }

    /// The host of the token endpoint.
    pub fn host(&self) -> &str {
        self.slot.terms.url.host_str().unwrap_or_default()
    }
}
