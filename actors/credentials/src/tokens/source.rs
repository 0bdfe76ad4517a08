//! The source of tokens that a connector has.

use std::fmt;
use std::sync::Arc;

use actix_supervision::Address;
use tokio::time::Instant;

use crate::tokens::error::TokenError;
use crate::tokens::fetcher::{Fetch, Fetcher};
use crate::tokens::slot::SharedTokenSlot;
use crate::tokens::state::AccessToken;

/// The source of one connector's tokens. Cheap to clone.
#[derive(Clone)]
pub struct TokenSource {
    pub(crate) slot: Arc<SharedTokenSlot>,
    pub(crate) fetcher: Address<Fetcher>,
}

/// By the connector: everything else may be secret.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenSource").field(&self.slot.connector).finish()
    }
}

impl TokenSource {
    /// Returns a token that is valid now, and obtains one if necessary. Dropping the future cancels no fetch.
    ///
    /// # Errors
    /// A [`TokenError`] if none can be obtained.
    pub async fn token(&self) -> Result<Arc<AccessToken>, TokenError> {
        let state = self.slot.state();
        if let Some(known) = state.valid_result(Instant::now(), self.slot.margin()) {
            return known;
        }
        let landings = state.landings();
        // One caller at a time asks the actor, so that those of one connector never fill its mailbox.
        let request_token = async || {
            let fetch = Fetch { slot: Arc::clone(&self.slot), seen: landings };
            self.fetcher.ask(fetch).await.unwrap_or_else(|error| {
                let reason = format!("its tokens cannot be obtained now: {error}");
                Err(TokenError::unavailable(&self.slot.connector, reason))
            })
        };
        self.slot.single_flight(|| self.slot.result_since(landings), request_token).await
    }

    /// Drops a token that the API refused; one that has replaced it meanwhile stays.
    pub fn reject(&self, sent: &Arc<AccessToken>) {
        self.slot.reject(sent);
    }

    /// Returns the host of the token endpoint.
    pub fn host(&self) -> &str {
        self.slot.terms.url.host_str().unwrap_or_default()
    }
}
