//! The settings of channels and connectors, typed and strict.
//!
//! Parsing refuses what a channel could not be served with, whether it comes from an author or from a stored row;
//! it resolves no secret reference and compiles no expression. A block stops at its first problem. Problems name fields,
//! never values, because values may be secrets.

pub mod auth;
mod block;
pub mod connector;
mod guards;
pub mod reference;
mod request;
mod response;
mod secret;
mod template;

use serde_json::Value;

use crate::field::FieldError;
use block::ConfigBlock;

pub use auth::AuthConfig;
pub use guards::{
    BackendError, BackpressureConfig, DeduplicationConfig, KEY_HEADERS, PrincipalRateLimitConfig,
    RateLimitConfig, ResponseCacheConfig, TracingConfig, TracingMode,
};
pub use request::{BodyMode, RequestConfig};
pub use response::{ErrorBody, ErrorBodyKey, Placeholder, ResponseConfig, ResponseMode};
pub use secret::SecretText;
pub use template::{HeaderField, SigningTemplate, TemplatePart};

/// Where the config stands in a channel document.
pub(crate) const ROOT: &str = "channel.config";

/// The `config` of a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelConfig {
    /// Who may call.
    pub auth: Option<AuthConfig>,
    /// How a request becomes a message.
    pub request: RequestConfig,
    /// How a result becomes an answer.
    pub response: ResponseConfig,
    /// How often anyone may call.
    pub rate_limit: Option<RateLimitConfig>,
    /// How often one authenticated caller may call.
    pub principal_rate_limit: Option<PrincipalRateLimitConfig>,
    /// Deadline of a run, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Reuse of answers.
    pub cache: Option<ResponseCacheConfig>,
    /// Values of `Origin` that are let in.
    pub origin_allow_list: Option<Vec<String>>,
    /// How many runs at once.
    pub backpressure: Option<BackpressureConfig>,
    /// Refusal of repeated deliveries.
    pub deduplication: Option<DeduplicationConfig>,
    /// Expression a message must pass.
    pub validation_logic: Option<Value>,
    /// Name of the channel that is told of runs which failed for good.
    pub on_failure: Option<String>,
    /// What is recorded of a run.
    pub tracing: TracingConfig,
}

impl ChannelConfig {
    /// Every key a config may hold.
    pub const KEYS: [&'static str; 13] = [
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
    ];

    /// Reads a stored or sent config.
    ///
    /// # Errors
    /// At least one problem, each at its field: every unknown key of the config, and the first problem of each block.
    pub fn parse(config: &Value) -> Result<Self, Vec<FieldError>> {
        let mut root = ConfigBlock::root(config).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let parsed = Self {
            auth: kept(root.block("auth", auth::parse), &mut errors),
            request: kept(root.block("request", request::parse), &mut errors).unwrap_or_default(),
            response: kept(root.block("response", response::parse), &mut errors).unwrap_or_default(),
            rate_limit: kept(root.block("rate_limit", guards::rate_limit), &mut errors),
            principal_rate_limit: kept(
                root.block("principal_rate_limit", guards::principal_rate_limit),
                &mut errors,
            ),
            timeout_ms: kept(root.positive("timeout_ms"), &mut errors),
            cache: kept(root.block("cache", guards::cache), &mut errors),
            origin_allow_list: kept(root.strings("origin_allow_list"), &mut errors),
            backpressure: kept(root.block("backpressure", guards::backpressure), &mut errors),
            deduplication: kept(root.block("deduplication", guards::deduplication), &mut errors),
            validation_logic: root.any("validation_logic"),
            on_failure: kept(root.string("on_failure"), &mut errors),
            tracing: kept(root.block("tracing", guards::tracing), &mut errors).unwrap_or_default(),
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

    /// Every expression of the config.
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

fn kept<T>(read: Result<Option<T>, FieldError>, errors: &mut Vec<FieldError>) -> Option<T> {
    read.unwrap_or_else(|error| {
        errors.push(error);
        None
    })
}

/// An expression a guard of a channel evaluates.
#[derive(Clone, Copy, Debug)]
pub struct GuardExpression<'a> {
    /// Where its problems are reported.
    pub path: &'static str,
    /// Its name below the config.
    pub name: &'static str,
    /// The expression.
    pub logic: &'a Value,
    /// The roots it can read.
    pub roots: &'static [&'static str],
}

#[cfg(test)]
mod tests;
