//! Deliveries that came before.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use svc_connectors::{CacheError, SharedCache};
use svc_engine::Expression;
use svc_model::config::{self, BackendError};
use svc_model::{ServiceError, canonical_json, id::new_ordered_id};

use super::claims::{self, Claims};
use super::expression;
use super::shared::Shared;
use crate::request::DataRequest;
use crate::toolbox::ChannelServices;

/// Seconds after which a caller may try again whose key could not be checked.
const RETRY_AFTER: u32 = 5;

/// Longest key that is kept as it is, in bytes; of a longer one its SHA-256 is.
const MAX_KEY: usize = 256;

/// Refuses an idempotency key that was seen within the window.
pub(crate) struct Deduplication {
    source: KeySource,
    window_secs: u64,
    capacity: u64,
    shared: Shared,
    on_backend_error: BackendError,
    /// Of this process; made with the first key.
    claims: Arc<OnceLock<Claims>>,
}

/// The part of a message that holds its idempotency key.
enum KeySource {
    /// The header of that name, lower case.
    Header(String),
    /// An expression over payload and metadata, as written and as compiled.
    Logic { written: Value, compiled: Expression },
}

impl KeySource {
    fn build(block: &config::DeduplicationConfig, tools: &ChannelServices) -> Result<Self, String> {
        match &block.key_logic {
            None => Ok(Self::Header(block.header.as_deref().unwrap_or_default().to_ascii_lowercase())),
            Some(logic) => {
                let compiled = expression::compile("deduplication.key_logic", logic, tools)?;
                Ok(Self::Logic { written: logic.clone(), compiled })
            }
        }
    }

    /// Returns `true` for a source that gives every message the same key as `other`.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Header(one), Self::Header(other)) => one == other,
            (Self::Logic { written: one, .. }, Self::Logic { written: other, .. }) => one == other,
            _ => false,
        }
    }
}

/// A key won, wherever that is kept. Dropping it keeps the claim.
pub(crate) enum Claim {
    Own(claims::Claim),
    Shared { cache: SharedCache, key: String, owner: String },
}

impl Deduplication {
    pub(super) fn build(
        channel: &str,
        block: &config::DeduplicationConfig,
        tools: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let source = KeySource::build(block, tools)?;
        let before = previous
            .filter(|previous| previous.source.is_same(&source) && previous.window_secs == block.window_secs);
        Ok(Self {
            source,
            window_secs: block.window_secs,
            capacity: tools.memory_entries,
            shared: Shared::new(channel, block.connector.as_deref(), "idempotency keys", tools),
            on_backend_error: block.on_backend_error,
            claims: before.map(|previous| Arc::clone(&previous.claims)).unwrap_or_default(),
        })
    }

    /// Returns the idempotency key that a header of the request carries.
    pub(super) fn sent_key(&self, request: &DataRequest) -> Option<String> {
        let KeySource::Header(header) = &self.source else { return None };
        request.header(header).map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
    }

    /// Returns the idempotency key of a message, with its metadata: the one that was `sent`, or the one that the
    /// expression makes. Without a key nothing is checked; null and blank text are none.
    ///
    /// # Errors
    /// 400 when the expression fails: to let the message pass unchecked is not what it was written for.
    pub(super) fn key(
        &self,
        sent: Option<String>,
        payload: &Value,
        metadata: Map<String, Value>,
        tools: &ChannelServices,
    ) -> Result<(Option<String>, Map<String, Value>), ServiceError> {
        let KeySource::Logic { compiled, .. } = &self.source else { return Ok((sent, metadata)) };
        let (key, metadata) =
            expression::over_message(payload, metadata, |roots| tools.engine.evaluate(compiled, roots));
        let refused = |_| ServiceError::validation("The idempotency key of the request cannot be computed");
        let key = match key.map_err(refused)? {
            Value::Null => None,
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            // Equal values are one key, in whatever order their members come.
            other => Some(canonical_json(&other)),
        };
        Ok((key.map(bounded), metadata))
    }

    /// Claims a key for the rest of the window; `None` where that cannot be told and the channel lets messages pass then.
    ///
    /// # Errors
    /// The key is taken, or it is not known whether it is and the channel wants to know.
    pub(super) async fn claim(
        &self,
        channel: &str,
        key: &str,
        tools: &ChannelServices,
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
    fn unknown(&self, channel: &str, why: &CacheError, tools: &ChannelServices) -> Result<(), ServiceError> {
        tools.metrics.count_error("dedup_backend");
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
    pub(crate) async fn release(self, tools: &ChannelServices) {
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

/// Replaces a key that is too long to be kept and repeated by its digest.
fn bounded(key: String) -> String {
    if key.len() <= MAX_KEY { key } else { format!("sha256:{}", hex::encode(Sha256::digest(&key))) }
}
