//! The rate guards of a channel: for all callers, and for one principal.
//!
//! One node counts by a token bucket for each key. The nodes of a cluster count together, by the seconds of the store's
//! clock: a key may send `requests_per_second + burst` messages in each.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_engine::Expression;
use svc_model::config::{BackendError, KEY_HEADERS, PrincipalRateLimitConfig, RateLimitConfig};
use svc_model::{ClientNetworks, ErrorReason, ServiceError, canonical_json, key_part};

use super::expression;
use super::groups::{GroupKey, RateGroupKind};
use super::limiter::Limiter;
use super::passage::{GuardRefusal, RefusalKind, UNCHECKED};
use super::shared_keys::limit_key_length;
use crate::answer::rate_headers::RateState;
use crate::log_rate_limit::LogRateLimit;
use crate::metadata;
use crate::request::DataRequest;
use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, ClusterStore};

/// Seconds after which a caller may try again whose rate could not be checked.
const RETRY_AFTER: u32 = 5;

/// The caller that a rate counts.
pub(super) struct RateSubject<'r> {
    /// The address of a client, or the name of a calling channel.
    pub(super) address: Option<Cow<'r, str>>,
    /// The network that counts as one client, if that is not its address.
    pub(super) network: Option<String>,
    /// Names in lower case.
    pub(super) headers: &'r [(String, Vec<u8>)],
}

impl<'r> RateSubject<'r> {
    pub(super) fn from_request(request: &'r DataRequest, networks: ClientNetworks) -> Self {
        let address = request.client_ip.map(|address| address.to_string().into());
        let network = request.client_ip.filter(IpAddr::is_ipv6).map(|ip| networks.network_of(ip).to_string());
        Self { address, network, headers: &request.headers }
    }

    /// Makes the subject of a caller that is not counted by an address of the network.
    pub(super) fn named(name: &'r str, headers: &'r [(String, Vec<u8>)]) -> Self {
        Self { address: Some(name.into()), network: None, headers }
    }
}

/// A rate for each key.
pub(crate) struct RateGuard {
    settings: RateSettings,
    /// Names the bucket; the caller's own without one.
    key: Option<Expression>,
    /// The buckets of this node; unused in a cluster.
    limiter: Arc<Limiter>,
    /// The counts of a cluster.
    windows: Option<RateWindows>,
    on_backend_error: BackendError,
    failures: LogRateLimit,
    /// Answers report what is left of it.
    is_reported: bool,
}

/// The messages of each key in each second, over all nodes of a cluster.
struct RateWindows {
    store: Arc<dyn ClusterStore>,
    /// Prefix of the keys.
    prefix: String,
    /// Most messages of a key in one second.
    limit: u64,
}

impl RateWindows {
    /// Counts a message, and returns the number that the second has left; `None` if it is over the limit.
    async fn admit(&self, key: &str) -> Result<Option<u64>, CacheError> {
        let key = format!("{}:{}", self.prefix, limit_key_length(key));
        Ok(self.limit.checked_sub(self.store.count_in_second(key).await?))
    }
}

/// The reason why a rate refuses a message. Callers are answered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateRefusal {
    /// The bucket is empty; time fills it again.
    OverLimit,
    /// The message has no key, now and later.
    NoKey,
    /// The store of the cluster could not count the message.
    Unchecked,
}

impl From<RateRefusal> for GuardRefusal {
    fn from(refusal: RateRefusal) -> Self {
        match refusal {
            RateRefusal::OverLimit => RefusalKind::Deferred.with("over_limit", ServiceError::rate_limited()),
            RateRefusal::NoKey => RefusalKind::Final.with("no_key", ServiceError::rate_limited()),
            RateRefusal::Unchecked => {
                let error = ServiceError::unavailable("Rate limits cannot be checked at the moment");
                RefusalKind::Deferred.with(UNCHECKED, error.with_retry_after(RETRY_AFTER))
            }
        }
    }
}

/// The settings that must stay the same for the buckets to survive a reload.
#[derive(Clone, PartialEq)]
struct RateSettings {
    rps: u64,
    burst: u64,
    key_logic: Option<Value>,
    key_headers: Vec<String>,
    kind: RateGroupKind,
    /// Name under which channels share the buckets.
    group: Option<String>,
}

impl RateGuard {
    /// The limit for anyone.
    pub(super) fn limit(
        channel: &str,
        block: &RateLimitConfig,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let settings = RateSettings {
            rps: block.requests_per_second,
            burst: block.burst,
            key_logic: block.key_logic.clone(),
            key_headers: block.key_headers.clone(),
            kind: RateGroupKind::Limit,
            group: block.group.clone(),
        };
        Self::build(channel, "rate_limit.key_logic", settings, block.on_backend_error, services, previous)
    }

    /// The quota of a principal.
    pub(super) fn quota(
        channel: &str,
        block: &PrincipalRateLimitConfig,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let settings = RateSettings {
            rps: block.requests_per_second,
            burst: block.burst,
            key_logic: Some(block.key_logic.clone()),
            key_headers: block.key_headers.clone(),
            kind: RateGroupKind::Quota,
            group: block.group.clone(),
        };
        Self::build(
            channel,
            "principal_rate_limit.key_logic",
            settings,
            block.on_backend_error,
            services,
            previous,
        )
    }

    fn build(
        channel: &str,
        name: &str,
        settings: RateSettings,
        on_backend_error: BackendError,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let key = settings.key_logic.as_ref().map(|logic| expression::compile(name, logic, services));
        let mut read = Vec::new();
        settings.key_logic.iter().for_each(|logic| headers_read(logic, &mut read));
        for header in read.into_iter().filter(|header| !settings.shows(header)) {
            slog::warn!(services.log, "expression reads a header it cannot see";
                "channel" => channel, "expression" => name, "header" => header);
        }
        let limiter = match previous.filter(|previous| previous.settings == settings) {
            Some(previous) => Arc::clone(&previous.limiter),
            None => settings.limiter(channel, services),
        };
        let windows = services.cluster.as_ref().map(|store| settings.windows(channel, Arc::clone(store)));
        Ok(Self {
            key: key.transpose()?,
            limiter,
            settings,
            windows,
            on_backend_error,
            failures: LogRateLimit::default(),
            is_reported: false,
        })
    }

    /// Takes a token of the caller's bucket, or counts the message in a cluster. A caller without a key is refused: in a
    /// shared bucket strangers could lock each other out. `state` becomes that of the rate, if answers report it.
    pub(super) async fn check(
        &self,
        channel: &str,
        caller: RateSubject<'_>,
        auth: Option<&Value>,
        services: &ChannelServices,
        state: &mut Option<RateState>,
    ) -> Result<(), RateRefusal> {
        let Some(key) = self.key(channel, caller, auth, services) else {
            services.metrics.rate_key_unavailable(channel);
            return Err(RateRefusal::NoKey);
        };
        let admitted = match &self.windows {
            None => {
                let bucket = self.limiter.take(&key);
                if self.is_reported {
                    let left = bucket.as_ref().map_or(0, |bucket| bucket.remaining_burst_capacity());
                    *state = Some(self.bucket_state(left.into()));
                }
                bucket.is_some()
            }
            Some(windows) => match windows.admit(&key).await {
                Ok(left) => {
                    let (quota, window, reset) = (windows.limit, 1, 1);
                    let counted = RateState { quota, window, left: left.unwrap_or(0), reset };
                    *state = Some(counted).filter(|_| self.is_reported);
                    left.is_some()
                }
                Err(error) => return self.handle_unchecked(channel, &error, services),
            },
        };
        if admitted {
            return Ok(());
        }
        services.metrics.count_rate_limited(channel);
        Err(RateRefusal::OverLimit)
    }

    /// Has answers report what is left of it, or not.
    pub(super) fn report(self, is_reported: bool) -> Self {
        Self { is_reported, ..self }
    }

    /// Returns the state of a bucket: its window is the time in which an empty one fills.
    fn bucket_state(&self, left: u64) -> RateState {
        let (rate, quota) = (self.settings.rps.max(1), self.settings.burst.max(1));
        let reset = quota.saturating_sub(left).div_ceil(rate);
        RateState { quota, window: quota.div_ceil(rate), left, reset }
    }

    /// Returns `true` if the rate finds a key for the caller. Counts nothing.
    pub(super) fn has_key(
        &self,
        channel: &str,
        caller: RateSubject<'_>,
        auth: Option<&Value>,
        services: &ChannelServices,
    ) -> bool {
        self.key(channel, caller, auth, services).is_some()
    }

    /// Admits or refuses a message that could not be counted, as the channel says.
    fn handle_unchecked(
        &self,
        channel: &str,
        error: &CacheError,
        services: &ChannelServices,
    ) -> Result<(), RateRefusal> {
        services.metrics.count_error(ErrorReason::RateLimitBackend);
        if let Some(suppressed) = self.failures.allow_line() {
            slog::warn!(services.log, "a rate could not be checked";
                "channel" => channel, "reason" => %error, "suppressed" => suppressed);
        }
        match self.on_backend_error {
            BackendError::Allow => Ok(()),
            BackendError::Deny => Err(RateRefusal::Unchecked),
        }
    }

    fn key<'r>(
        &self,
        channel: &str,
        caller: RateSubject<'r>,
        auth: Option<&Value>,
        services: &ChannelServices,
    ) -> Option<Cow<'r, str>> {
        let Some(logic) = &self.key else { return caller.network.map(Cow::Owned).or(caller.address) };
        let (address, channel) = (caller.address.map_or(Value::Null, Value::from), Value::from(channel));
        let headers = self.settings.visible(caller.headers);
        let roots = [("client_ip", &address), ("channel", &channel), ("headers", &headers)];
        let evaluated = match auth {
            None => services.engine.evaluate(logic, &roots),
            Some(auth) => {
                let [address, channel, headers] = roots;
                services.engine.evaluate(logic, &[address, channel, headers, ("auth", auth)])
            }
        };
        match evaluated.ok()? {
            Value::Null => None,
            Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()).map(Cow::Owned),
            // Equal values are one bucket, in whatever order their members come.
            other => Some(Cow::Owned(canonical_json(&other))),
        }
    }
}

impl RateSettings {
    fn limiter(&self, channel: &str, services: &ChannelServices) -> Arc<Limiter> {
        let Some(group) = &self.group else { return Arc::new(Limiter::new(self.rps, self.burst)) };
        let key = GroupKey { kind: self.kind, name: group.clone(), rps: self.rps, burst: self.burst };
        let (limiter, differs) = services.rate_groups.limiter(&key);
        if differs {
            slog::warn!(services.log, "channels of a rate limit group ask for different rates, so they do not share buckets";
                "channel" => channel, "group" => group);
        }
        limiter
    }

    /// Returns the counts of a cluster. Channels of a group share them if they ask for the same rate.
    fn windows(&self, channel: &str, store: Arc<dyn ClusterStore>) -> RateWindows {
        let kind = match self.kind {
            RateGroupKind::Limit => "rl",
            RateGroupKind::Quota => "rl-principal",
        };
        let prefix = match &self.group {
            None => format!("svc:{kind}:{}", key_part(channel)),
            Some(group) => {
                format!("svc:{kind}-group:{}:{}:{}", key_part(group), self.rps, self.burst)
            }
        };
        RateWindows { store, prefix, limit: self.rps.saturating_add(self.burst) }
    }

    /// Returns `true` if expressions can read a header.
    fn shows(&self, header: &str) -> bool {
        KEY_HEADERS.contains(&header) || self.key_headers.iter().any(|listed| listed == header)
    }

    fn visible(&self, headers: &[(String, Vec<u8>)]) -> Value {
        let mut visible = Map::new();
        for (name, value) in headers.iter().filter(|(name, _)| self.shows(name)) {
            if let Some(text) = metadata::header_text(value) {
                metadata::add_header(&mut visible, name.clone(), text.to_owned());
            }
        }
        Value::Object(visible)
    }
}

/// The headers an expression names in a literal path.
fn headers_read<'l>(logic: &'l Value, found: &mut Vec<&'l str>) {
    match logic {
        Value::Object(members) => members.values().for_each(|member| headers_read(member, found)),
        Value::Array(items) => {
            if let [Value::String(root), Value::String(name), ..] = items.as_slice()
                && root == "headers"
            {
                found.push(name);
            }
            items.iter().for_each(|item| headers_read(item, found));
        }
        Value::String(text) => found.extend(text.strip_prefix("headers.")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::headers_read;

    #[test]
    fn headers_are_found_wherever_a_literal_path_names_them() {
        for (logic, expected) in [
            (json!({"var": "headers.x-tenant-id"}), vec!["x-tenant-id"]),
            (json!({"or": [{"var": ["headers.a", "none"]}, {"val": ["headers", "b"]}]}), vec!["a", "b"]),
            (json!({"missing": ["headers.a", "client_ip"]}), vec!["a"]),
            (json!({"cat": [{"var": "client_ip"}, {"var": "channel"}]}), vec![]),
        ] {
            let mut found = Vec::new();
            headers_read(&logic, &mut found);
            assert_eq!(found, expected, "{logic}");
        }
    }
}
