//! The deduplication guard.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::Expression;
use svc_model::config::{self, BackendError, DuplicatePolicy};
use svc_model::{ErrorReason, ServiceError, canonical_json, id::new_ordered_id};

use super::expression;
use super::idempotency_key::IdempotencyKey;
use super::idempotency_keys::{IdempotencyKeys, KeyClaim};
use super::late_release::LateReleases;
use super::passage::{GuardRefusal, RefusalKind, UNCHECKED};
use super::replay::{ClaimAttempt, ReplayClaim, ReplayGuard, ReplayTurn, digest_body};
use super::shared_cache::SharedCacheRef;
use crate::digest::Digest;
use crate::record::TopicRecord;
use crate::request::DataRequest;
use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, SharedCache};

/// Seconds after which a caller may try again whose key could not be checked.
const RETRY_AFTER: u32 = 5;

/// Owner of a key whose message is accounted for.
const SETTLED: &str = "settled";

/// Refuses an idempotency key that was seen within the window.
pub(crate) struct DeduplicationGuard {
    source: KeySource,
    window_secs: u64,
    capacity: u64,
    shared: SharedCacheRef,
    on_backend_error: BackendError,
    /// A key belongs to the principal of its caller.
    per_principal: bool,
    on_duplicate: DuplicatePolicy,
    /// Set if repeats of requests get the answer of the first run.
    replay: Option<Box<ReplayGuard>>,
    late_releases: LateReleases,
    /// The keys of this process; created with the first key.
    keys: Arc<OnceLock<IdempotencyKeys>>,
}

/// The part of a message that holds its idempotency key.
enum KeySource {
    /// The header of that name, lower case.
    Header(String),
    /// An expression over payload and metadata, as written and as compiled.
    Logic { written: Value, compiled: Expression },
}

impl KeySource {
    fn build(block: &config::DeduplicationConfig, services: &ChannelServices) -> Result<Self, String> {
        match &block.key_logic {
            None => Ok(Self::Header(block.header.as_deref().unwrap_or_default().to_ascii_lowercase())),
            Some(logic) => {
                let compiled = expression::compile("deduplication.key_logic", logic, services)?;
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

/// A claimed key, in this process or in a shared cache. Dropping it keeps the claim.
pub(crate) enum IdempotencyClaim {
    Local(KeyClaim),
    Shared {
        cache: Arc<dyn SharedCache>,
        key: String,
        owner: String,
        window_secs: u64,
    },
    /// A key whose answer is kept.
    Replay(ReplayClaim),
}

impl DeduplicationGuard {
    pub(super) fn build(
        channel: &str,
        block: &config::DeduplicationConfig,
        timeout_ms: Option<u64>,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let source = KeySource::build(block, services)?;
        let shared = SharedCacheRef::new(channel, block.connector.as_deref(), "idempotency keys", services)
            .map_err(|reason| format!("deduplication: {reason}"))?;
        let before = previous
            .filter(|previous| previous.source.is_same(&source) && previous.window_secs == block.window_secs);
        let replayed = before.and_then(|previous| previous.replay.as_deref());
        let replay = ReplayGuard::build(block, timeout_ms, services, replayed)?;
        Ok(Self {
            source,
            window_secs: block.window_secs,
            capacity: services.memory_entries,
            shared,
            on_backend_error: block.on_backend_error,
            per_principal: block.per_principal.unwrap_or(true),
            on_duplicate: block.on_duplicate,
            replay: replay.map(Box::new),
            late_releases: LateReleases::default(),
            keys: before.map(|previous| Arc::clone(&previous.keys)).unwrap_or_default(),
        })
    }

    /// Returns the idempotency key that a header of the request carries.
    pub(super) fn sent_key(&self, request: &DataRequest) -> Option<String> {
        let KeySource::Header(header) = &self.source else { return None };
        request.header(header).map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned)
    }

    /// Returns the idempotency key that a header of the record carries, or else the key of the record. A record key that is no
    /// text counts by its digest.
    pub(super) fn record_key(&self, record: &TopicRecord) -> Option<IdempotencyKey> {
        let KeySource::Header(header) = &self.source else { return None };
        let sent = record.header(header).map(str::trim).filter(|key| !key.is_empty());
        sent.map(|sent| IdempotencyKey::new(sent, None))
            .or_else(|| record.key.as_deref().filter(|key| !key.is_empty()).map(IdempotencyKey::from_bytes))
    }

    /// Returns the idempotency key of a request of a principal, as [`Self::computed_key`] does.
    ///
    /// # Errors
    /// As [`Self::computed_key`].
    pub(super) fn request_key(
        &self,
        sent: Option<&str>,
        principal: Option<Digest>,
        payload: &Value,
        metadata: Map<String, Value>,
        services: &ChannelServices,
    ) -> Result<(Option<IdempotencyKey>, Map<String, Value>), ServiceError> {
        let principal = principal.filter(|_| self.per_principal);
        let sent = sent.map(|sent| IdempotencyKey::new(sent, principal));
        self.computed_key(sent, principal, payload, metadata, services)
    }

    /// Returns the idempotency key of a message, with its metadata: the one that was `sent`, or the one that the
    /// expression makes. Without a key nothing is checked; null and blank text are none.
    ///
    /// # Errors
    /// 400 when the expression fails: to let the message pass unchecked is not what it was written for.
    pub(super) fn computed_key(
        &self,
        sent: Option<IdempotencyKey>,
        principal: Option<Digest>,
        payload: &Value,
        metadata: Map<String, Value>,
        services: &ChannelServices,
    ) -> Result<(Option<IdempotencyKey>, Map<String, Value>), ServiceError> {
        let KeySource::Logic { compiled, .. } = &self.source else { return Ok((sent, metadata)) };
        let (key, metadata) =
            expression::over_message(payload, metadata, |roots| services.engine.evaluate(compiled, roots));
        let refused = |_| ServiceError::validation("The idempotency key of the request cannot be computed");
        let text = match key.map_err(refused)? {
            Value::Null => None,
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            // Equal values are one key, in whatever order their members come.
            other => Some(canonical_json(&other)),
        };
        Ok((text.map(|text| IdempotencyKey::new(&text, principal)), metadata))
    }

    /// Returns `true` if a repeat is answered as accepted. The key of a message that was answered with an error is then
    /// released; otherwise that message would never run.
    pub(super) fn accepts_repeats(&self) -> bool {
        self.on_duplicate == DuplicatePolicy::Accept
    }

    /// Returns `true` if a repeat of a request gets the answer of the first run.
    pub(super) fn replays_answers(&self) -> bool {
        self.replay.is_some()
    }

    /// Claims a key whose answer is kept, or finds the answer of the first run; `None` for a request that passes
    /// unchecked.
    ///
    /// # Errors
    /// The first run goes on, was that of another body or left no answer; or the store did not answer and the channel
    /// wants to know.
    pub(super) async fn take_turn(
        &self,
        channel: &str,
        key: &IdempotencyKey,
        body: &[u8],
        services: &ChannelServices,
    ) -> Result<Option<ReplayTurn>, GuardRefusal> {
        let Some(replay) = &self.replay else { return Ok(None) };
        let unchecked = |refusal| RefusalKind::Deferred.with(UNCHECKED, refusal);
        let store = match replay.store(&self.shared, channel, services) {
            Ok(store) => store,
            Err(error) => {
                let handled = self.handle_unchecked_key(channel, &error, services);
                return handled.map(|()| None).map_err(unchecked);
            }
        };
        match replay.claim(store, key.store_name(channel), digest_body(body), services).await {
            ClaimAttempt::Turn(turn) => Ok(Some(turn)),
            ClaimAttempt::Refused(refusal) => Err(refusal),
            ClaimAttempt::Unknown(error, claim) => {
                if let Err(refusal) = self.handle_unchecked_key(channel, &error, services) {
                    if matches!(error, CacheError::Unconfirmed(_)) {
                        claim.release_later(services);
                    }
                    return Err(unchecked(refusal));
                }
                // The store may have the claim, or be there again when the run has ended.
                Ok(Some(ReplayTurn::Run(claim)))
            }
        }
    }

    /// Claims a key for the rest of the window; `None` if that is unknown and the channel lets messages pass then.
    /// `owner` names a message that may be delivered again: its own claim does not refuse it.
    ///
    /// # Errors
    /// The key is taken, or it is not known whether it is and the channel wants to know.
    pub(super) async fn claim(
        &self,
        channel: &str,
        key: &IdempotencyKey,
        owner: Option<&str>,
        services: &ChannelServices,
    ) -> Result<Option<IdempotencyClaim>, ServiceError> {
        let name = key.store_name(channel);
        let cache = match self.shared.cache(channel, services) {
            Ok(cache) => cache,
            Err(error) => return self.handle_unchecked_key(channel, &error, services).map(|()| None),
        };
        let won = match cache {
            Some(cache) => {
                let is_named = owner.is_some();
                let owner = owner.map_or_else(|| new_ordered_id().to_string(), str::to_owned);
                let window_secs = self.window_secs;
                match cache.claim(name.clone(), owner.clone(), window_secs).await {
                    Ok(false) => None,
                    Ok(true) => Some(IdempotencyClaim::Shared { cache, key: name, owner, window_secs }),
                    Err(error) => {
                        if let Err(refusal) = self.handle_unchecked_key(channel, &error, services) {
                            // A key that is claimed nevertheless refuses no other delivery of a named owner.
                            if !is_named && matches!(error, CacheError::Unconfirmed(_)) {
                                let (life, log) = (Duration::from_secs(window_secs), services.log.clone());
                                self.late_releases.release(cache, name, owner, life, log);
                            }
                            return Err(refusal);
                        }
                        Some(IdempotencyClaim::Shared { cache, key: name, owner, window_secs })
                    }
                }
            }
            None => {
                let create = || {
                    services.local_caches.add(&self.keys);
                    IdempotencyKeys::new(Duration::from_secs(self.window_secs), self.capacity)
                };
                self.keys.get_or_init(create).claim(&name, owner).map(IdempotencyClaim::Local)
            }
        };
        let text = key.text();
        let duplicate =
            || ServiceError::conflict(format!("Duplicate request: idempotency key '{text}' already seen"));
        won.map(Some).ok_or_else(duplicate)
    }

    /// Admits or refuses a message whose key could not be checked, as the channel says.
    fn handle_unchecked_key(
        &self,
        channel: &str,
        error: &CacheError,
        services: &ChannelServices,
    ) -> Result<(), ServiceError> {
        services.metrics.count_error(ErrorReason::DedupBackend);
        self.shared.log_failure("an idempotency key could not be checked", channel, error, services);
        match self.on_backend_error {
            BackendError::Allow => Ok(()),
            BackendError::Deny => {
                let refusal = ServiceError::unavailable("Idempotency keys cannot be checked at the moment");
                Err(refusal.with_retry_after(RETRY_AFTER))
            }
        }
    }
}

impl IdempotencyClaim {
    /// Gives the key back for a request that was not admitted.
    pub(crate) async fn release(self, services: &ChannelServices) {
        match self {
            Self::Local(claim) => claim.release(),
            Self::Replay(claim) => claim.release(services).await,
            Self::Shared { cache, key, owner, .. } => {
                if let Err(error) = cache.release(key, owner).await {
                    slog::warn!(services.log, "an idempotency key is not given back, it ends by itself";
                        "reason" => %error);
                }
            }
        }
    }

    /// Settles the key for a whole window from now: the message is accounted for, and its redelivery is a duplicate too.
    pub(crate) async fn confirm(self, services: &ChannelServices) {
        match self {
            Self::Local(claim) => claim.confirm(),
            // Its answer settles it.
            Self::Replay(_) => {}
            Self::Shared { cache, key, owner, window_secs } => {
                let settled = cache.transfer(key.clone(), owner, SETTLED.to_owned(), window_secs).await;
                let settled = match settled {
                    // The claim expired while the message ran.
                    Ok(false) => cache.claim(key, SETTLED.to_owned(), window_secs).await,
                    settled => settled,
                };
                if let Err(error) = settled {
                    slog::warn!(services.log, "an idempotency key is not settled, its claim goes on";
                        "reason" => %error);
                }
            }
        }
    }
}
