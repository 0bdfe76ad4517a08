//! The response cache guard.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_model::config;

use super::cache::{CacheKey, CacheKeyBuilder, KeyPrincipal, ResponseCache};
use super::shared_cache::SharedCacheRef;
use crate::answer::response::ChannelResponse;
use crate::digest::{self, Digest, DigestBuilder};
use crate::services::ChannelServices;

/// The parts of a channel that its cached responses depend on.
pub(crate) struct CacheKeyInputs {
    /// Digest of the channel and its workflow, equal in every process.
    pub(crate) definition: Digest,
    /// Set if they are unchanged since this process last compiled them.
    pub(crate) unchanged: bool,
}

/// Answers a request with the cached response to an equal one.
pub(crate) struct ResponseCacheGuard {
    keys: CacheKeyBuilder,
    block: config::ResponseCacheConfig,
    capacity: u64,
    shared: SharedCacheRef,
    /// Prefix of the keys in a shared cache.
    prefix: String,
    /// Part of the keys in a shared cache, whose processes may serve several versions.
    definition: Digest,
    /// The responses of this process; created with the first cached response.
    answers: Arc<OnceLock<ResponseCache>>,
}

/// A response as a shared cache stores it.
#[derive(Deserialize, Serialize)]
struct CachedResponse<'k> {
    status: u16,
    headers: Cow<'k, [(String, String)]>,
    body: Cow<'k, str>,
}

impl ResponseCacheGuard {
    /// `personal` names a setting of the channel by which its workflow may distinguish callers.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a connector that cannot serve the nodes of a cluster.
    pub(super) fn build(
        channel: &str,
        block: &config::ResponseCacheConfig,
        personal: Option<&str>,
        inputs: &CacheKeyInputs,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        if let Some(setting) = personal {
            slog::warn!(services.log, "cached answers are shared by callers the workflow can tell apart";
                "channel" => channel, "setting" => setting,
                "remedy" => "set cache.per_principal, or leave cookies out of the workflow");
        }
        let previous = previous.filter(|_| inputs.unchanged);
        let shared = SharedCacheRef::new(channel, block.connector.as_deref(), "answers", services)
            .map_err(|reason| format!("response cache: {reason}"))?;
        Ok(Self {
            keys: CacheKeyBuilder::new(channel, block.cache_key_fields.as_deref()),
            block: block.clone(),
            capacity: services.memory_entries,
            shared,
            prefix: format!("cache:{channel}:"),
            definition: inputs.definition,
            answers: previous.map(|previous| Arc::clone(&previous.answers)).unwrap_or_default(),
        })
    }

    /// Returns the cache key of a request; `None` for one whose response is never cached. `principal` counts
    /// if the channel caches per principal.
    pub(super) fn key(
        &self,
        principal: Option<KeyPrincipal>,
        metadata: &Map<String, Value>,
        payload: &Value,
    ) -> Option<CacheKey> {
        let principal = match (self.block.per_principal, principal) {
            (Some(true), principal) => principal.unwrap_or(KeyPrincipal::Unknown),
            _ => KeyPrincipal::Everyone,
        };
        self.keys.key(principal, metadata, payload)
    }

    /// Looks up the response to an equal request. A cache that fails has none.
    pub(super) async fn look_up(
        &self,
        channel: &str,
        key: &CacheKey,
        services: &ChannelServices,
    ) -> Option<ChannelResponse> {
        let cached = match self.shared.cache(channel, services) {
            Ok(None) => Ok(self.answers.get().and_then(|answers| answers.get(key))),
            Ok(Some(cache)) => {
                let text = cache.read(self.name(key)).await;
                text.map(|text| text.and_then(|text| CachedResponse::answer(&text)))
            }
            Err(error) => Err(error),
        };
        cached.unwrap_or_else(|error| {
            self.shared.log_failure("a cached response could not be read", channel, &error, services);
            None
        })
    }

    /// Caches a response for the next equal request, if responses of its status are cached.
    pub(super) async fn store(
        &self,
        channel: &str,
        key: CacheKey,
        answer: &ChannelResponse,
        services: &ChannelServices,
    ) {
        if !self.block.keeps_status(answer.status) {
            return;
        }
        let outcome = match self.shared.cache(channel, services) {
            Ok(None) => {
                let create = || {
                    services.local_caches.add(&self.answers);
                    ResponseCache::new(Duration::from_secs(self.block.ttl_secs), self.capacity)
                };
                self.answers.get_or_init(create).put(key, answer);
                Ok(())
            }
            Ok(Some(cache)) => match CachedResponse::text(answer) {
                Some(text) => cache.write(self.name(&key), text, self.block.ttl_secs).await,
                None => Ok(()),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.shared.log_failure("an answer is not kept", channel, &error, services);
        }
    }

    fn name(&self, key: &CacheKey) -> String {
        let mut name = DigestBuilder::default();
        name.bytes(&self.definition);
        name.text(&key.to_string());
        format!("{}{}", self.prefix, digest::hex(name.finish()))
    }
}

impl CachedResponse<'_> {
    /// Serializes a response; `None` for one that is not text, or that is for one caller alone.
    fn text(answer: &ChannelResponse) -> Option<String> {
        if answer.sets_cookie() {
            return None;
        }
        let body = Cow::Borrowed(std::str::from_utf8(&answer.body).ok()?);
        serde_json::to_string(&CachedResponse {
            status: answer.status,
            headers: Cow::Borrowed(&answer.headers),
            body,
        })
        .ok()
    }

    /// Parses a stored response; `None` for a text that this service did not write.
    fn answer(text: &str) -> Option<ChannelResponse> {
        let CachedResponse { status, headers, body } = serde_json::from_str(text).ok()?;
        let (headers, body) = (headers.into_owned(), body.into_owned().into());
        Some(ChannelResponse { status, headers, body, is_guess: false })
    }
}
