//! The response cache guard.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use svc_engine::Expression;
use svc_model::{Timestamp, config};
use tokio::join;

use super::cache::{
    CacheFlights, CacheKey, CacheKeyBuilder, FlightTurn, KeyPrincipal, NamespaceCounters, NamespacedCache,
    ResponseCache,
};
use super::expression;
use super::shared_cache::SharedCacheRef;
use crate::answer::response::ChannelResponse;
use crate::digest::{self, Digest, DigestBuilder};
use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, SharedCache};

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
    /// Computes what takes the place of the payload in a key.
    key_logic: Option<Expression>,
    block: config::ResponseCacheConfig,
    capacity: u64,
    shared: Arc<SharedCacheRef>,
    /// The namespaces of the answers; absent if there are none.
    namespaces: Option<Arc<NamespacedCache>>,
    /// Prefix of the keys in a shared cache.
    prefix: String,
    /// Part of the keys in a shared cache, whose processes may serve several versions.
    definition: Digest,
    /// The runs under way, for which equal requests wait; absent if they do not.
    flights: Option<Arc<CacheFlights>>,
    /// The responses of this process; created with the first cached response.
    answers: Arc<OnceLock<ResponseCache>>,
}

/// The result of a lookup.
#[derive(Default)]
pub(super) struct CacheLookup {
    /// The response to an equal request.
    pub(super) answer: Option<ChannelResponse>,
    /// The counters of the namespaces, for the response that is stored; `None` without namespaces, and if they could
    /// not be read.
    pub(super) counters: Option<NamespaceCounters>,
}

/// A response as a shared cache stores it.
#[derive(Deserialize, Serialize)]
struct CachedResponse<'k> {
    status: u16,
    headers: Cow<'k, [(String, String)]>,
    body: Cow<'k, str>,
    /// The counters of its namespaces, as they were at its lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counters: Option<NamespaceCounters>,
    /// The second since 1970 in which it was stored; answers of earlier versions have none.
    #[serde(default)]
    stored_at: Option<i64>,
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
        let shared = Arc::new(shared);
        let namespaces = (!block.namespaces.is_empty()).then(|| {
            services.namespaces.join(channel, &block.namespaces, &shared, services.connectors.as_ref())
        });
        let compile = |logic| expression::compile("cache.key_logic", logic, services);
        let key_logic = block.key_logic.as_ref().map(compile).transpose()?;
        let fields = block.cache_key_fields.as_deref().filter(|_| key_logic.is_none());
        Ok(Self {
            keys: CacheKeyBuilder::new(channel, fields),
            key_logic,
            block: block.clone(),
            capacity: services.memory_entries,
            shared,
            namespaces,
            prefix: format!("cache:{channel}:"),
            definition: inputs.definition,
            flights: block.coalesce_misses.then(Arc::default),
            answers: previous.map(|previous| Arc::clone(&previous.answers)).unwrap_or_default(),
        })
    }

    /// Returns the cache key of a request; `None` for one whose response is never cached, because its caller is not
    /// known, or its key fails or is null. `principal` counts if the channel caches per principal. Gives the metadata
    /// back.
    pub(super) fn key(
        &self,
        principal: Option<KeyPrincipal>,
        payload: &Value,
        metadata: Map<String, Value>,
        services: &ChannelServices,
    ) -> (Option<CacheKey>, Map<String, Value>) {
        let principal = match (self.block.per_principal, principal) {
            (Some(true), principal) => principal.unwrap_or(KeyPrincipal::Unknown),
            _ => KeyPrincipal::Everyone,
        };
        let Some(logic) = &self.key_logic else {
            return (self.keys.key(principal, &metadata, payload), metadata);
        };
        let evaluate = |roots: &[(&str, &Value)]| services.engine.evaluate(logic, roots);
        let (computed, metadata) = expression::over_message(payload, metadata, evaluate);
        let computed = computed.ok().filter(|value| !value.is_null());
        (computed.and_then(|value| self.keys.key(principal, &metadata, &value)), metadata)
    }

    /// Joins the run of a key that is under way, or begins it; `None` if requests do not wait for one another.
    pub(super) fn join_flight(&self, key: CacheKey) -> Option<FlightTurn> {
        self.flights.as_ref().map(|flights| flights.join(key))
    }

    /// Looks up the response to an equal request. A cache that fails has none.
    pub(super) async fn look_up(
        &self,
        channel: &str,
        key: &CacheKey,
        services: &ChannelServices,
    ) -> CacheLookup {
        let found = match self.shared.cache(channel, services) {
            Ok(None) => Ok(self.look_up_here(key)),
            Ok(Some(cache)) => self.look_up_in(&*cache, key).await,
            Err(error) => Err(error),
        };
        found.unwrap_or_else(|error| {
            self.shared.log_failure("a cached response could not be read", channel, &error, services);
            CacheLookup::default()
        })
    }

    /// Looks into the memory of this process.
    fn look_up_here(&self, key: &CacheKey) -> CacheLookup {
        let counters = self.namespaces.as_ref().map(|namespaces| namespaces.local_counters());
        let cached = self.answers.get().and_then(|answers| answers.get(key, counters.as_ref()));
        let answer = cached.map(|(mut answer, age)| {
            answer.note_hit(Some(age.as_secs()));
            answer
        });
        CacheLookup { answer, counters }
    }

    /// Looks into a shared cache, and reads the counters of the namespaces at the same time.
    async fn look_up_in(&self, cache: &dyn SharedCache, key: &CacheKey) -> Result<CacheLookup, CacheError> {
        let reading = cache.read(self.name(key));
        let (text, counters) = match &self.namespaces {
            None => (reading.await?, None),
            Some(namespaces) => {
                let (text, counters) = join!(reading, namespaces.read_counters(cache));
                (text?, Some(counters?))
            }
        };
        let answer = text.and_then(|text| CachedResponse::answer(&text, counters.as_ref()));
        Ok(CacheLookup { answer, counters })
    }

    /// Caches a response for the next equal request, if responses of its status are cached.
    pub(super) async fn store(
        &self,
        channel: &str,
        key: CacheKey,
        counters: Option<NamespaceCounters>,
        answer: &ChannelResponse,
        services: &ChannelServices,
    ) {
        // An answer whose counters were not read could never become stale.
        if !self.block.keeps_status(answer.status) || self.namespaces.is_some() != counters.is_some() {
            return;
        }
        let outcome = match self.shared.cache(channel, services) {
            Ok(None) => {
                let create = || {
                    services.local_caches.add(&self.answers);
                    ResponseCache::new(Duration::from_secs(self.block.ttl_secs), self.capacity)
                };
                self.answers.get_or_init(create).put(key, answer, counters);
                Ok(())
            }
            Ok(Some(cache)) => match CachedResponse::text(answer, counters) {
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
    fn text(answer: &ChannelResponse, counters: Option<NamespaceCounters>) -> Option<String> {
        if answer.sets_cookie() {
            return None;
        }
        let body = Cow::Borrowed(std::str::from_utf8(&answer.body).ok()?);
        serde_json::to_string(&CachedResponse {
            status: answer.status,
            headers: Cow::Borrowed(&answer.headers),
            body,
            counters,
            stored_at: Some(unix_seconds()),
        })
        .ok()
    }

    /// Parses a stored response; `None` for a text that this service did not write, and for one of other counters.
    fn answer(text: &str, current: Option<&NamespaceCounters>) -> Option<ChannelResponse> {
        let CachedResponse { status, headers, body, counters, stored_at } =
            serde_json::from_str(text).ok()?;
        if counters.as_ref() != current {
            return None;
        }
        let (headers, body) = (headers.into_owned(), body.into_owned().into());
        let mut answer = ChannelResponse { status, headers, body, is_guess: false, is_envelope: false };
        // The clocks of two nodes may differ.
        answer.note_hit(stored_at.map(|at| u64::try_from(unix_seconds() - at).unwrap_or(0)));
        Some(answer)
    }
}

fn unix_seconds() -> i64 {
    Timestamp::now().naive().and_utc().timestamp()
}
