//! The metrics of the guards of channels.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use svc_auth::RefusalReason;

use super::ChannelLabels;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScopeLabels {
    scope: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CredentialLabels {
    mode: &'static str,
    reason: &'static str,
}

/// The leg of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInLeg {
    /// The browser is sent to the provider.
    Authorize,
    /// The provider has sent it back.
    Callback,
}

impl SignInLeg {
    const fn name(self) -> &'static str {
        match self {
            Self::Authorize => "authorize",
            Self::Callback => "callback",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignInLabels {
    channel: String,
    provider: String,
    leg: &'static str,
    outcome: &'static str,
}

/// Scopes of the platform's own rate limits. A channel of such a name shares the series and does not take it
/// along.
const PLATFORM_SCOPES: [&str; 3] = ["admin", "data", "operational"];

/// The kind of credential by which a channel authenticates its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CredentialKind {
    ApiKey,
    Signature,
    Token,
}

impl CredentialKind {
    /// The word for it in metrics and logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Signature => "hmac",
            Self::Token => "jwt",
        }
    }
}

/// Families of the guards; part of [`ChannelMetrics`](super::ChannelMetrics).
#[derive(Clone, Debug, Default)]
pub(super) struct GuardMetrics {
    rate_limited: Family<ScopeLabels, Counter>,
    keys_unavailable: Family<ChannelLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    credentials: Family<CredentialLabels, Counter>,
    hits: Family<ChannelLabels, Counter>,
    misses: Family<ChannelLabels, Counter>,
    coalesced: Family<ChannelLabels, Counter>,
    dropped_members: Family<ChannelLabels, Counter>,
    sign_ins: Family<SignInLabels, Counter>,
    /// The series of sign-ins, which go with their channel.
    signed_in: Arc<Mutex<HashSet<SignInLabels>>>,
}

impl GuardMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        for (name, help, family) in [
            ("rate_limit_key_unavailable", "Requests whose rate key has no value", &self.keys_unavailable),
            ("response_cache_hits", "Requests answered from the response cache", &self.hits),
            ("response_cache_misses", "Requests the response cache had no answer for", &self.misses),
            ("response_cache_coalesced", "Requests answered by the run of an equal one", &self.coalesced),
            (
                "envelope_members_dropped",
                "Bodies that lost members because they were taken for envelopes",
                &self.dropped_members,
            ),
        ] {
            registry.register(name, help, family.clone());
        }
        registry.register("rate_limit_rejections", "Requests over a rate limit", self.rate_limited.clone());
        registry.register("oauth_login", "Legs of sign-ins by outcome", self.sign_ins.clone());
        registry.register("jwt_rejections", "Refused tokens by reason", self.tokens.clone());
        registry.register(
            "channel_auth_rejections",
            "Refused API keys and signatures, claims and origins by reason",
            self.credentials.clone(),
        );
    }

    pub(super) fn rate_limited(&self, scope: &str) {
        self.rate_limited.get_or_create(&ScopeLabels { scope: scope.to_owned() }).inc();
    }

    pub(super) fn key_unavailable(&self, channel: &str) {
        self.keys_unavailable.get_or_create(&labels(channel)).inc();
    }

    pub(super) fn record_refusal(&self, credential: CredentialKind, reason: RefusalReason) {
        let reason = reason.name();
        match credential {
            CredentialKind::Token => self.tokens.get_or_create(&TokenLabels { reason }).inc(),
            other => self.credentials.get_or_create(&CredentialLabels { mode: other.name(), reason }).inc(),
        };
    }

    pub(super) fn forbidden(&self, mode: &'static str, reason: &'static str) {
        self.credentials.get_or_create(&CredentialLabels { mode, reason }).inc();
    }

    pub(super) fn count_sign_in(&self, channel: &str, provider: &str, leg: SignInLeg, outcome: &'static str) {
        let (channel, provider) = (channel.to_owned(), provider.to_owned());
        let labels = SignInLabels { channel, provider, leg: leg.name(), outcome };
        self.sign_ins.get_or_create(&labels).inc();
        self.signed_in.lock().insert(labels);
    }

    pub(super) fn looked_up(&self, channel: &str, found: bool) {
        let family = if found { &self.hits } else { &self.misses };
        family.get_or_create(&labels(channel)).inc();
    }

    pub(super) fn coalesced(&self, channel: &str) {
        self.coalesced.get_or_create(&labels(channel)).inc();
    }

    pub(super) fn members_dropped(&self, channel: &str) {
        self.dropped_members.get_or_create(&labels(channel)).inc();
    }

    pub(super) fn forget(&self, channel: &str) {
        if !PLATFORM_SCOPES.contains(&channel) {
            self.rate_limited.remove(&ScopeLabels { scope: channel.to_owned() });
        }
        self.signed_in.lock().retain(|labels| {
            let is_kept = labels.channel != channel;
            if !is_kept {
                self.sign_ins.remove(labels);
            }
            is_kept
        });
        let caches = [&self.hits, &self.misses, &self.coalesced];
        for family in [&self.keys_unavailable, &self.dropped_members].into_iter().chain(caches) {
            family.remove(&labels(channel));
        }
    }
}

fn labels(channel: &str) -> ChannelLabels {
    ChannelLabels { channel: channel.to_owned() }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn removed_channel_removes_only_its_own_series() {
        let (metrics, mut registry) = (GuardMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        for scope in ["admin", "data", "operational", "orders"] {
            metrics.rate_limited(scope);
            metrics.forget(scope);
        }
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        for (scope, counted) in [("admin", true), ("data", true), ("operational", true), ("orders", false)] {
            let series = format!("rate_limit_rejections_total{{scope=\"{scope}\"}} 1");
            assert_eq!(page.contains(&series), counted, "{scope}: {page}");
        }
    }
}
