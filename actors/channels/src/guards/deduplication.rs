//! Deliveries that came before.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use svc_connectors::{CacheError, SharedCache};
use svc_model::config::{self, BackendError};
use svc_model::{ServiceError, id::new_ordered_id};

use super::claims::{self, Claims};
use super::shared::Shared;
use crate::request::DataRequest;
use crate::toolbox::Toolbox;

/// Seconds after which a caller may try again whose key could not be checked.
const RETRY_AFTER: u32 = 5;

/// Refuses an idempotency key that was seen within the window.
pub(crate) struct Deduplication {
    /// Lower case.
    header: String,
    window_secs: u64,
    capacity: u64,
    shared: Shared,
    on_backend_error: BackendError,
    /// Of this process; made with the first key.
    claims: Arc<OnceLock<Claims>>,
}

/// A key won, wherever that is kept. Dropping it keeps the claim.
pub(crate) enum Claim {
    Own(claims::Claim),
    Shared { cache: SharedCache, key: String, owner: String },
}

impl Deduplication {
    pub(super) fn build(
        channel: &str,
        block: &config::Deduplication,
        tools: &Toolbox,
        previous: Option<&Self>,
    ) -> Self {
        let header = block.header.to_ascii_lowercase();
        let before = previous
            .filter(|previous| previous.header == header && previous.window_secs == block.window_secs);
        Self {
            header,
            window_secs: block.window_secs,
            capacity: tools.memory_entries,
            shared: Shared::new(channel, block.connector.as_deref(), "idempotency keys", tools),
            on_backend_error: block.on_backend_error,
            claims: before.map(|previous| Arc::clone(&previous.claims)).unwrap_or_default(),
        }
    }

    /// The idempotency key of a request; without one nothing is checked.
    pub(super) fn key(&self, request: &DataRequest) -> Option<String> {
        request.header(&self.header).map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
    }

    /// Claims a key for the rest of the window; `None` where that cannot be told and the channel lets messages pass then.
    ///
    /// # Errors
    /// The key is taken, or it is not known whether it is and the channel wants to know.
    pub(super) async fn claim(
        &self,
        channel: &str,
        key: &str,
        tools: &Toolbox,
    ) -> Result<Option<Claim>, ServiceError> {
        let name = format!("dedup:{channel}:{key}");
        let cache = match self.shared.cache(channel, tools) {
            Ok(cache) => cache,
            Err(why) => return self.unknown(channel, &why, tools).map(|()| None),
        };
        let won = match cache {
            Some(cache) => {
                let owner = new_ordered_id().to_string();
                let won = cache.claim(name.clone(), owner.clone(), self.window_secs).await;
                let claim = Claim::Shared { cache, key: name, owner };
                match won {
                    Ok(won) => won.then_some(claim),
                    Err(why) => {
                        // It may be claimed all the same.
                        if let Err(refusal) = self.unknown(channel, &why, tools) {
                            claim.release(tools).await;
                            return Err(refusal);
                        }
                        Some(claim)
                    }
                }
            }
            None => {
                let window = Duration::from_secs(self.window_secs);
                self.claims.get_or_init(|| Claims::new(window, self.capacity)).claim(&name).map(Claim::Own)
            }
        };
        let duplicate =
            || ServiceError::conflict(format!("Duplicate request: idempotency key '{key}' already seen"));
        won.map(Some).ok_or_else(duplicate)
    }

    /// What becomes of a message whose key could not be checked.
    fn unknown(&self, channel: &str, why: &CacheError, tools: &Toolbox) -> Result<(), ServiceError> {
        tools.metrics.error("dedup_backend");
        slog::warn!(tools.log, "an idempotency key could not be checked"; "channel" => channel, "reason" => %why);
        match self.on_backend_error {
            BackendError::Allow => Ok(()),
            BackendError::Deny => {
                let refusal = ServiceError::unavailable("Idempotency keys cannot be checked at the moment");
                Err(refusal.with_retry_after(RETRY_AFTER))
            }
        }
    }
}

impl Claim {
    /// Gives the key back for a request that was not let in.
    pub(crate) async fn release(self, tools: &Toolbox) {
        match self {
            Self::Own(claim) => claim.release(),
            Self::Shared { cache, key, owner } => {
                if let Err(why) = cache.release(key, owner).await {
                    slog::warn!(tools.log, "an idempotency key is not given back, it ends by itself";
                        "reason" => %why);
                }
            }
        }
    }
}
