//! The reference of a channel's `config`, for the manual and the schemas: the declarations of its blocks.

use super::auth::{ApiKeyAuth, ConsumerSelectionKeys, HmacKeys, JwtAuth, JwtKey, TokenSourceKeys};
use super::key_reference::{block, form};
use super::response::ErrorBodyKeys;
use super::{
    BackpressureConfig, ChannelConfig, ChannelExample, DeduplicationConfig, IdTokenConfig, IdentityClaims,
    PrincipalRateLimitConfig, QueueConfig, QuotaConfig, RateLimitConfig, RecordConfig, RepeatedFailureConfig,
    RequestConfig, ResponseCacheConfig, ResponseConfig, ReturnToConfig, SignInConfig, SignInProvider,
    StateCookieConfig, TopicConfig, TracingConfig,
};

pub use super::key_reference::{BlockReference, KeyReference};

/// All blocks in the order of the manual.
pub static BLOCKS: [BlockReference; 30] = [
    block("", ChannelConfig::KEYS),
    form("auth", ApiKeyAuth::FORM, ApiKeyAuth::KEYS),
    form("auth", HmacKeys::FORM, HmacKeys::KEYS),
    form("auth", JwtAuth::FORM, JwtAuth::KEYS),
    block("auth.consumers", ConsumerSelectionKeys::KEYS),
    block("auth.jwt_keys[]", JwtKey::KEYS),
    block("auth.source", TokenSourceKeys::KEYS),
    block("oauth2_login", SignInConfig::KEYS),
    block("oauth2_login.providers.*", SignInProvider::KEYS),
    block("oauth2_login.id_token", IdTokenConfig::KEYS),
    block("oauth2_login.providers.*.id_token", IdTokenConfig::KEYS),
    block("oauth2_login.identity", IdentityClaims::KEYS),
    block("oauth2_login.providers.*.identity", IdentityClaims::KEYS),
    block("oauth2_login.state_cookie", StateCookieConfig::KEYS),
    block("oauth2_login.return_to", ReturnToConfig::KEYS),
    block("request", RequestConfig::KEYS),
    block("response", ResponseConfig::KEYS),
    block("response.error_bodies.*", ErrorBodyKeys::KEYS),
    block("rate_limit", RateLimitConfig::KEYS),
    block("principal_rate_limit", PrincipalRateLimitConfig::KEYS),
    block("quota", QuotaConfig::KEYS),
    block("deduplication", DeduplicationConfig::KEYS),
    block("cache", ResponseCacheConfig::KEYS),
    block("backpressure", BackpressureConfig::KEYS),
    block("queue", QueueConfig::KEYS),
    block("on_repeated_failure", RepeatedFailureConfig::KEYS),
    block("tracing", TracingConfig::KEYS),
    block("tracing.record", RecordConfig::KEYS),
    block("kafka", TopicConfig::KEYS),
    block("examples[]", ChannelExample::KEYS),
];
