//! The settings of channels and connectors, typed and strict.
//!
//! Parsing refuses every config that could not be served, whether it comes from an author or from a stored
//! row. It resolves no secret references and compiles no expressions. Reading of a block stops at its first
//! problem, but for `response`. Problems name fields, never values, because values may be secrets.

pub mod auth;
mod block;
pub mod connector;
pub(crate) mod cron;
mod guards;
pub mod reference;
mod request;
mod response;
mod secret;
mod template;
mod topic;

use serde_json::Value;

use crate::field::FieldError;
use block::{ConfigBlock, keep_or_report};

pub use auth::AuthConfig;
pub use cron::{CronTransport, MisfirePolicy, RunExclusion};
pub use guards::{
    BackendError, BackpressureConfig, DeduplicationConfig, DuplicatePolicy, KEY_HEADERS,
    PrincipalRateLimitConfig, RateLimitConfig, ResponseCacheConfig, TracingConfig, TracingMode,
};
pub use request::{BodyMode, RecordFormat, RequestBodyFormat, RequestConfig, RequestMode};
pub use response::{ErrorBody, ErrorBodyKey, Placeholder, ResponseConfig, ResponseMode};
pub use secret::SecretText;
pub use template::{HeaderField, SigningTemplate, TemplatePart};
pub use topic::{TombstonePolicy, TopicConfig};

/// The `config` of a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelConfig {
    /// Authentication of the callers.
    pub auth: Option<AuthConfig>,
    /// Conversion of a request to a message.
    pub request: RequestConfig,
    /// Conversion of a result to a response.
    pub response: ResponseConfig,
    /// Rate limit before authentication.
    pub rate_limit: Option<RateLimitConfig>,
    /// Rate limit of each authenticated caller.
    pub principal_rate_limit: Option<PrincipalRateLimitConfig>,
    /// Deadline of a run, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Caching of responses.
    pub cache: Option<ResponseCacheConfig>,
    /// Accepted values of `Origin`; a request without the header passes. `None` accepts all.
    pub origin_allow_list: Option<Vec<String>>,
    /// Limit of concurrent runs.
    pub backpressure: Option<BackpressureConfig>,
    /// Detection of repeated deliveries.
    pub deduplication: Option<DeduplicationConfig>,
    /// Expression that a message must satisfy.
    pub validation_logic: Option<Value>,
    /// Name of the channel that is notified of runs that failed permanently.
    pub on_failure: Option<String>,
    /// Recording of traces.
    pub tracing: TracingConfig,
    /// Records of a topic.
    pub kafka: TopicConfig,
}

impl ChannelConfig {
    /// All keys of a config.
    pub const KEYS: [&'static str; 14] = [
        "auth",
        "request",
        "response",
        "rate_limit",
        "principal_rate_limit",
        "timeout_ms",
        "cache",
        "origin_allow_list",
        "backpressure",
        "deduplication",
        "validation_logic",
        "on_failure",
        "tracing",
        "kafka",
    ];

    /// Reads a stored or received config.
    ///
    /// # Errors
    /// All problems (at least one), each with its path: every unknown key of the config, the first problem of
    /// each block, and of `response` that of each field, header name and error body.
    pub fn parse(config: &Value) -> Result<Self, Vec<FieldError>> {
        let mut root = ConfigBlock::root(config).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let has_preset = config.pointer("/auth/preset").is_some_and(|preset| !preset.is_null());
        let body_format = if has_preset { RequestBodyFormat::Auto } else { RequestBodyFormat::default() };
        let parsed = Self {
            auth: keep_or_report(root.block("auth", auth::parse), &mut errors),
            request: keep_or_report(
                root.block("request", |block| request::parse(block, body_format)),
                &mut errors,
            )
            .unwrap_or_else(|| RequestConfig { body_format, ..RequestConfig::default() }),
            response: keep_or_report(
                root.block("response", |block| Ok(response::parse(block, &mut errors))),
                &mut errors,
            )
            .unwrap_or_default(),
            rate_limit: keep_or_report(root.block("rate_limit", guards::rate_limit), &mut errors),
            principal_rate_limit: keep_or_report(
                root.block("principal_rate_limit", guards::principal_rate_limit),
                &mut errors,
            ),
            timeout_ms: keep_or_report(root.positive("timeout_ms"), &mut errors),
            cache: keep_or_report(root.block("cache", guards::cache), &mut errors),
            origin_allow_list: keep_or_report(root.strings("origin_allow_list"), &mut errors),
            backpressure: keep_or_report(root.block("backpressure", guards::backpressure), &mut errors),
            deduplication: keep_or_report(root.block("deduplication", guards::deduplication), &mut errors),
            validation_logic: root.any("validation_logic"),
            on_failure: keep_or_report(root.string("on_failure"), &mut errors),
            tracing: keep_or_report(root.block("tracing", guards::tracing), &mut errors).unwrap_or_default(),
            kafka: keep_or_report(root.block("kafka", topic::parse), &mut errors).unwrap_or_default(),
        };
        if parsed.on_failure.as_deref().is_some_and(|name| name.trim().is_empty()) {
            errors.push(root.invalid("on_failure", "name the channel that is told of failures"));
        }
        errors.extend(root.unknown());
        let needs_jwt =
            parsed.principal_rate_limit.is_some() && !matches!(parsed.auth, Some(AuthConfig::Jwt(_)));
        if errors.is_empty() && needs_jwt {
            errors.push(root.invalid("principal_rate_limit", "principal_rate_limit needs auth.mode jwt"));
        }
        if errors.is_empty() { Ok(parsed) } else { Err(errors) }
    }

    /// Returns all expressions of the config.
    pub fn expressions(&self) -> Vec<GuardExpression<'_>> {
        let authorization = match &self.auth {
            Some(AuthConfig::Jwt(jwt)) => jwt.authorization_logic.as_ref(),
            _ => None,
        };
        let limit = self.rate_limit.as_ref().and_then(|limit| limit.key_logic.as_ref());
        let quota = self.principal_rate_limit.as_ref().map(|quota| &quota.key_logic);
        let key = self.deduplication.as_ref().and_then(|deduplication| deduplication.key_logic.as_ref());
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
            ("channel.config.deduplication.key_logic", "deduplication.key_logic", key, message),
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
