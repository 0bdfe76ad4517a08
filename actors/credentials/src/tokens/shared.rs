//! The context that all fetches share, and one request.

use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, info, warn};
use svc_model::ErrorReason;
use svc_outbound::{AddressError, FetchError, OutboundClient};
use svc_secrets::redact;
use svc_store::TokenStates;

use crate::tokens::error::TokenError;
use crate::tokens::metrics::{RequestOutcome, TokenMetrics};
use crate::tokens::request::{TokenRequest, secrets};
use crate::tokens::response::{self, GrantedToken, TokenRefusal};
use crate::tokens::slot::TokenSlot;

/// The time limit of a request to a token endpoint.
pub(crate) const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// Maximum length of a response, in bytes.
const CAP: usize = 64 * 1024;
/// Characters of a description that the log shows.
const SHOWN: usize = 256;

/// The context that all fetches share.
pub(crate) struct TokenContext {
    pub(crate) states: TokenStates,
    /// For token endpoints at public addresses alone.
    pub(crate) public: OutboundClient,
    /// For token endpoints at any address.
    pub(crate) private: OutboundClient,
    /// The name of this process in the leases of the database.
    pub(crate) holder: String,
    pub(crate) metrics: TokenMetrics,
    /// Counts a failure in `svc_errors_total`.
    pub(crate) errors: Arc<dyn Fn(ErrorReason) + Send + Sync>,
    pub(crate) log: Logger,
}

impl TokenContext {
    /// Asks the token endpoint once.
    pub(crate) async fn obtain(
        &self,
        slot: &TokenSlot,
        refresh_token: Option<&str>,
    ) -> Result<GrantedToken, TokenError> {
        let terms = &slot.terms;
        let TokenRequest { headers, form } = TokenRequest::new(&terms.oauth, refresh_token);
        let client = if terms.allow_private { &self.private } else { &self.public };
        let connector = &slot.connector;
        let answer = match client.post_form(&terms.url, headers, form, CAP).await {
            Ok(answer) => answer,
            Err(why) => {
                self.metrics.record_request(connector, RequestOutcome::TransportError);
                warn!(self.log, "a token endpoint cannot be asked"; "connector" => &**connector, "reason" => %why);
                return Err(match why {
                    FetchError::Address(why @ AddressError::Unresolved { .. }) => {
                        TokenError::unavailable(connector, format!("the token endpoint: {why}"))
                    }
                    FetchError::Address(refused) => TokenError::Forbidden(refused),
                    other => TokenError::unavailable(connector, format!("the token endpoint: {other}")),
                });
            }
        };
        match response::read(&answer, slot.seed().is_some()) {
            Ok(granted) => {
                self.metrics.record_request(connector, RequestOutcome::Ok);
                info!(self.log, "a token was obtained"; "connector" => &**connector,
                    "seconds" => granted.lifetime.as_secs());
                Ok(granted)
            }
            Err(TokenRefusal::Rejected { reason, description }) => {
                self.metrics.record_request(connector, RequestOutcome::Rejected);
                let sent = secrets(&terms.oauth, refresh_token);
                // An endpoint may repeat what it was sent.
                let hide = |text: String| redact(text, sent.iter().map(String::as_str));
                let (reason, description) = (hide(reason), description.map(hide).unwrap_or_default());
                let description: String = description.chars().take(SHOWN).collect();
                warn!(self.log, "a token was refused"; "connector" => &**connector, "reason" => &reason,
                    "description" => description);
                Err(TokenError::rejected(connector, reason))
            }
            Err(TokenRefusal::Unusable(reason)) => {
                self.metrics.record_request(connector, RequestOutcome::TransportError);
                warn!(self.log, "a token endpoint gave no token"; "connector" => &**connector, "reason" => &reason);
                let connector = Arc::clone(connector);
                Err(TokenError::Unavailable { connector, reason, retry_after: answer.retry_after() })
            }
        }
    }
}
