//! The settings of channels and connectors, typed and strict.
//!
//! Parsing refuses every config that could not be served, whether it comes from an author or from a stored
//! row. It resolves no secret references and compiles no expressions. Reading of a block stops at its first
//! problem, but for `response`. Problems name fields, never values, because values may be secrets.

pub mod auth;
mod block;
pub mod connector;
pub(crate) mod cron;
mod declare;
mod example;
mod guards;
pub(crate) mod key_reference;
pub(crate) mod masking;
mod quota;
mod recorded_path;
pub mod reference;
mod repeated_failure;
mod request;
mod response;
mod secret;
mod sign_in;
mod template;
mod topic;
pub mod value_reference;

use serde_json::Value;

use crate::field::FieldError;
use block::ConfigBlock;
use declare::{block, positive};

pub use auth::AuthConfig;
pub use cron::{CronTransport, MisfirePolicy, RunExclusion};
pub use example::ChannelExample;
pub use guards::{
    AnswerPlace, BackendError, BackpressureConfig, DeduplicationConfig, DuplicatePolicy, KEY_HEADERS,
    PrincipalRateLimitConfig, QueueConfig, RateLimitConfig, RecordConfig, ResponseCacheConfig, TracingConfig,
    TracingMode, check_namespace,
};
pub use quota::{QuotaConfig, QuotaPeriod, QuotaSpan, QuotaTerms, QuotaWindow};
pub use recorded_path::{split_path, split_recorded_path};
pub use repeated_failure::RepeatedFailureConfig;
pub use request::{BodyMode, ContentEncoding, RecordFormat, RequestBodyFormat, RequestConfig, RequestMode};
pub use response::{ErrorBody, ErrorBodyKey, Placeholder, ResponseConfig, ResponseMode};
pub use secret::SecretText;
pub use sign_in::{
    CookieSite, IdTokenConfig, IdentityClaims, InstanceProviders, PROVIDER_PARAMETER, ReturnToConfig,
    SignInConfig, SignInKind, SignInProvider, SignInProviders, StateCookieConfig, is_reserved_parameter,
};
pub use template::{HeaderField, SigningTemplate, TemplatePart};
pub use topic::{TombstonePolicy, TopicConfig};

block! {
    reports all;
    /// The `config` of a channel.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ChannelConfig: Default {
        /// who may call
        pub auth: Option<AuthConfig> => {"mode": "api_key", "keys": ["k"]};
        /// people sign in at an identity provider, see [Sign-in](sign-in.md)
        pub oauth2_login: Option<SignInConfig> => {
            "issuer": "https://id.example", "client_id": "shop", "client_secret": "s",
            "redirect_uri": "https://shop.example/login/callback", "callback_path": "/login/callback",
            "state_secret": "0123456789abcdef0123456789abcdef"
        };
        /// how a request becomes a message
        pub request: RequestConfig = _ => {};
        /// how a result becomes an answer
        pub response: ResponseConfig = _ => {};
        /// how often anybody may call
        pub rate_limit: Option<RateLimitConfig> => {"requests_per_second": 1};
        /// how often each verified caller may call; needs `auth.mode` `jwt`
        pub principal_rate_limit: Option<PrincipalRateLimitConfig> =>
            {"requests_per_second": 1, "key_logic": {"var": "auth.claims.sub"}};
        /// how many requests of a key within a minute, hour, day or month, over all nodes
        pub quota: Option<QuotaConfig> => {"limit": 10000, "per": "day"};
        /// values of `Origin` that are let in; a request without one passes
        pub origin_allow_list: Option<Vec<String>> => ["https://shop.example"];
        /// what a message must fulfil, over `{data, metadata}`; `data` is the payload
        pub validation_logic: Option<Value> => true;
        /// refusal of repeated deliveries
        pub deduplication: Option<DeduplicationConfig> => {"header": "idempotency-key"};
        /// reuse of answers
        pub cache: Option<ResponseCacheConfig> => {"enabled": true};
        /// how many runs at once
        pub backpressure: Option<BackpressureConfig> => {"max_concurrent_per_node": 5};
        /// how much accepted work runs at once, over all nodes, and how much waits
        pub queue: QueueConfig = _ => {};
        /// the time a run may take
        pub timeout_ms: Option<u64> => 5000, by(positive);
        /// name of the channel that is told of runs which failed for good
        pub on_failure: Option<String> => "alerts", by(failure_channel);
        /// failures after which the channel pauses itself, until an operator resumes it; on a channel of the protocol
        /// `cron` or `kafka`, or with `request.mode` `accept`
        pub on_repeated_failure: Option<RepeatedFailureConfig> => {"failures": 5, "within_secs": 60};
        /// what is recorded of a run
        pub tracing: TracingConfig = _ => {};
        /// what becomes of the records of a topic
        pub kafka: TopicConfig = _ => {};
        /// messages and their answers, for the documents of callers; each matches `request.schema` and
        /// `response.schema`
        pub examples: Vec<ChannelExample> = _ => [{"name": "one order", "request": {"id": 7}}];
        /// the channel is in the documents of callers
        pub document: bool = true => false;
    }
}

fn failure_channel(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<String>, FieldError> {
    match block.string(name)? {
        Some(channel) if channel.trim().is_empty() => {
            Err(block.invalid(name, "name the channel that is told of failures"))
        }
        channel => Ok(channel),
    }
}

impl ChannelConfig {
    /// Reads a stored or received config.
    ///
    /// # Errors
    /// All problems (at least one), each with its path: every unknown key of the config, the first problem of
    /// each block, and of `response` that of each field, header name and error body.
    pub fn parse(config: &Value) -> Result<Self, Vec<FieldError>> {
        let mut root = ConfigBlock::root(config).map_err(|error| vec![error])?;
        let parsed = Self::read(&mut root);
        let mut errors = root.take_problems();
        errors.extend(root.unknown());
        let Some(mut parsed) = parsed.filter(|_| errors.is_empty()) else { return Err(errors) };
        if parsed.principal_rate_limit.is_some() && !matches!(parsed.auth, Some(AuthConfig::Jwt(_))) {
            let why = "principal_rate_limit needs auth.mode jwt";
            return Err(vec![root.invalid("principal_rate_limit", why)]);
        }
        if let Some(problem) = parsed.refuse_shared_answers(&root) {
            return Err(vec![problem]);
        }
        let is_given = |pointer| config.pointer(pointer).is_some_and(|value| !value.is_null());
        // Providers send forms, and JSON as text.
        if is_given("/auth/preset") && !is_given("/request/body") {
            parsed.request.body_format = RequestBodyFormat::Auto;
        }
        Ok(parsed)
    }

    /// Refuses the blocks by which one person would get what another one signed in for, or no answer at all.
    fn refuse_shared_answers(&self, root: &ConfigBlock<'_>) -> Option<FieldError> {
        self.oauth2_login.as_ref()?;
        let refused = [
            ("cache", self.cache.as_ref().is_some_and(|cache| cache.enabled)),
            ("deduplication", self.deduplication.is_some()),
            ("request.mode", self.request.mode == RequestMode::Accept),
        ];
        let (name, _) = refused.into_iter().find(|(_, is_set)| *is_set)?;
        Some(root.invalid(name, "a channel with oauth2_login answers each person by itself: omit this"))
    }

    /// Returns all expressions of the config.
    pub fn expressions(&self) -> Vec<GuardExpression<'_>> {
        let authorization = match &self.auth {
            Some(AuthConfig::Jwt(jwt)) => jwt.authorization_logic.as_ref(),
            _ => None,
        };
        let limit = self.rate_limit.as_ref().and_then(|limit| limit.key_logic.as_ref());
        let quota = self.principal_rate_limit.as_ref().map(|quota| &quota.key_logic);
        let counted = self.quota.as_ref().and_then(|quota| quota.key_logic.as_ref());
        let key = self.deduplication.as_ref().and_then(|deduplication| deduplication.key_logic.as_ref());
        let cache = self.cache.as_ref().and_then(|cache| cache.key_logic.as_ref());
        let caller: &[&str] = &["client_ip", "channel", "headers"];
        let principal: &[&str] = &["client_ip", "channel", "headers", "auth"];
        let message: &[&str] = &["data", "metadata"];
        [
            ("channel.config.auth", "auth.authorization_logic", authorization, &["claims"][..]),
            ("channel.config.rate_limit.key_logic", "rate_limit.key_logic", limit, caller),
            (
                "channel.config.principal_rate_limit.key_logic",
                "principal_rate_limit.key_logic",
                quota,
                principal,
            ),
            ("channel.config.quota.key_logic", "quota.key_logic", counted, principal),
            ("channel.config.deduplication.key_logic", "deduplication.key_logic", key, message),
            ("channel.config.cache.key_logic", "cache.key_logic", cache, message),
            ("channel.config.queue.key_logic", "queue.key_logic", self.queue.key_logic.as_ref(), message),
            ("channel.config.validation_logic", "validation_logic", self.validation_logic.as_ref(), message),
        ]
        .into_iter()
        .filter_map(|(path, name, logic, roots)| Some(GuardExpression { path, name, logic: logic?, roots }))
        .collect()
    }
}

/// An expression that a guard of a channel evaluates.
#[derive(Clone, Copy, Debug)]
pub struct GuardExpression<'a> {
    /// Path under which its problems are reported.
    pub path: &'static str,
    /// Its name below the config.
    pub name: &'static str,
    /// The expression.
    pub logic: &'a Value,
    /// The roots that it can read.
    pub roots: &'static [&'static str],
}

impl GuardExpression<'_> {
    /// Returns `true` if the result is a key; of any other one only the truth counts.
    pub fn is_key(&self) -> bool {
        self.name.ends_with("key_logic")
    }
}

#[cfg(test)]
mod tests;
