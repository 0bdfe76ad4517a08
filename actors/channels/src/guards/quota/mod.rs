//! Quotas: requests of a key within a minute, hour, day or month, over all nodes.
//!
//! A node reserves a few requests of a key at a time from a store, which counts them at once, and admits requests from its
//! reservation. So no window has more than its limit, whatever ends; a killed node takes its reservations with it.

mod call_quotas;
mod consumer_check;
mod consumer_quotas;
mod quota_store;
mod reservations;
mod unused_calls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::Expression;
use svc_model::config::{QuotaConfig, QuotaTerms};
use svc_model::{Code, ErrorReason, ServiceError, canonical_json};

pub use self::call_quotas::CallQuotas;
pub(super) use self::consumer_check::check_consumer;
pub use self::quota_store::{QuotaKey, QuotaStore, ReservedCalls};
use self::reservations::Reservations;
use super::expression;
use super::passage::{GuardRefusal, RefusalKind, UNCHECKED};
use super::rate::RateSubject;
use super::shared_keys::{digest_key, limit_key_length};
use crate::log_rate_limit::LogRateLimit;
use crate::metadata;
use crate::services::ChannelServices;

/// Seconds after which a caller may try again whose quota could not be checked.
const RETRY_AFTER: u32 = 5;
/// Seconds after which a caller may try again whose request had no key, as every 429 says.
const NO_KEY_RETRY_AFTER: u32 = 1;

/// The quota of a channel.
pub(crate) struct CallQuotaGuard {
    block: QuotaConfig,
    channel_id: Arc<str>,
    /// Names the key; the principal or the address without one.
    key: Option<Expression>,
    /// The header of the channel's own credential, lower case.
    credential: Option<String>,
    reservations: Arc<Reservations>,
    failures: LogRateLimit,
}

impl CallQuotaGuard {
    /// Builds the guard. Its reservations are taken over from `previous` if its settings are the same. `credential` names
    /// the header of the channel's own credential.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub(super) fn build(
        channel_id: &str,
        block: &QuotaConfig,
        credential: Option<&str>,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let logic = block.key_logic.as_ref();
        let key = logic.map(|logic| expression::compile("quota.key_logic", logic, services)).transpose()?;
        let store = services.quotas.store.as_ref();
        let store = store.ok_or("quota: this service has no database that counts for it")?;
        let reservations = match previous.filter(|previous| previous.block == *block) {
            Some(previous) => Arc::clone(&previous.reservations),
            None => {
                let unused = services.quotas.unused.clone();
                let new = Reservations::new(Arc::clone(store), block.terms(), unused);
                let new = Arc::new(new.with_channel(channel_id));
                services.quotas.add(&new);
                new
            }
        };
        let failures = LogRateLimit::default();
        let (channel_id, credential) = (channel_id.into(), credential.map(str::to_owned));
        Ok(Self { block: block.clone(), channel_id, key, credential, reservations, failures })
    }

    /// Returns the bounds.
    pub(crate) fn terms(&self) -> QuotaTerms {
        self.block.terms()
    }

    /// Admits a request of a caller, whose `auth` is what the workflow sees of it.
    ///
    /// # Errors
    /// The quota is used up, the request has no key, or the store did not answer.
    pub(super) async fn check(
        &self,
        channel: &str,
        caller: RateSubject<'_>,
        auth: &Value,
        services: &ChannelServices,
    ) -> Result<(), GuardRefusal> {
        let Some(key) = self.key(channel, caller, auth, services) else { return Err(Self::no_key()) };
        let key = QuotaKey { channel_id: Arc::clone(&self.channel_id), key: limit_key_length(&key) };
        match self.reservations.take(key).await {
            Ok(None) => Ok(()),
            Ok(Some(window_left)) => Err(over_quota(window_left)),
            Err(error) => Err(unchecked_quota(channel, &error, &self.failures, services)),
        }
    }

    /// Returns `true` if the request has a key. Counts nothing.
    pub(super) fn has_key(
        &self,
        channel: &str,
        caller: RateSubject<'_>,
        auth: &Value,
        services: &ChannelServices,
    ) -> bool {
        self.key(channel, caller, auth, services).is_some()
    }

    /// Makes the refusal of a request without a key: in one key for all strangers could use up each other's quota.
    pub(super) fn no_key() -> GuardRefusal {
        let refusal =
            ServiceError::new(Code::QuotaExceeded, "The request has no key that a quota could count");
        RefusalKind::Final.with("no_key", refusal.with_retry_after(NO_KEY_RETRY_AFTER))
    }

    fn key(
        &self,
        channel: &str,
        caller: RateSubject<'_>,
        auth: &Value,
        services: &ChannelServices,
    ) -> Option<String> {
        let Some(logic) = &self.key else {
            let principal = auth.get("principal").and_then(Value::as_str).map(str::to_owned);
            return principal.or(caller.network).or_else(|| caller.address.map(Into::into));
        };
        let (address, channel) = (caller.address.map_or(Value::Null, Value::from), Value::from(channel));
        let headers = visible_headers(caller.headers, self.credential.as_deref());
        let roots = [("client_ip", &address), ("channel", &channel), ("headers", &headers), ("auth", auth)];
        match services.engine.evaluate(logic, &roots).ok()? {
            Value::Null => None,
            Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()),
            // Equal values are one key, in whatever order their members come.
            other => Some(canonical_json(&other)),
        }
    }
}

/// Makes the refusal of a request over its quota.
fn over_quota(window_left: Duration) -> GuardRefusal {
    let seconds = window_left.as_secs() + u64::from(window_left.subsec_nanos() > 0);
    let refusal = ServiceError::from_code(Code::QuotaExceeded);
    let refusal = refusal.with_retry_after(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX));
    RefusalKind::Deferred.with("over_quota", refusal)
}

/// Makes the refusal of a request whose quota could not be checked. It is counted and logged.
fn unchecked_quota(
    channel: &str,
    reason: &dyn fmt::Display,
    failures: &LogRateLimit,
    services: &ChannelServices,
) -> GuardRefusal {
    services.metrics.count_error(ErrorReason::RateLimitBackend);
    if let Some(suppressed) = failures.allow_line() {
        slog::warn!(services.log, "a quota could not be checked";
            "channel" => channel, "reason" => %reason, "suppressed" => suppressed);
    }
    let refusal = ServiceError::unavailable("Quotas cannot be checked at the moment");
    RefusalKind::Deferred.with(UNCHECKED, refusal.with_retry_after(RETRY_AFTER))
}

/// Returns the headers that a key can be made of: all of the request. Keys are stored and shown, so that those which carry
/// credentials are there by their digests.
fn visible_headers(headers: &[(String, Vec<u8>)], credential: Option<&str>) -> Value {
    let mut visible = Map::new();
    for (name, value) in headers {
        if let Some(text) = metadata::header_text(value) {
            let text = match metadata::carries_credential(name, credential) {
                true => digest_key(value),
                false => text.to_owned(),
            };
            metadata::add_header(&mut visible, name.clone(), text);
        }
    }
    Value::Object(visible)
}
