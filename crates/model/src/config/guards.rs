//! The config blocks of guards: rate limits, backpressure, caching, deduplication and tracing.

use serde_json::Value;

use super::block::ConfigBlock;
use crate::field::{FieldCode, FieldError};

/// Request headers that a rate limit key expression can always read.
pub const KEY_HEADERS: [&str; 8] = [
    "authorization",
    "x-api-key",
    "x-forwarded-for",
    "x-real-ip",
    "user-agent",
    "content-type",
    "origin",
    "x-tenant-id",
];

/// Maximum length of the name of a rate limit group, in characters.
const MAX_GROUP: usize = 128;

/// The behaviour while a shared store is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendError {
    /// The request passes unchecked.
    #[default]
    Allow,
    /// The request is refused with 503.
    Deny,
}

/// The `rate_limit` block.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitConfig {
    /// Sustained rate in requests per second, at least 1.
    pub requests_per_second: u64,
    /// Maximum burst in requests.
    pub burst: u64,
    /// Expression that names the bucket; `None` uses the address of the caller, or the name of the calling
    /// channel.
    pub key_logic: Option<Value>,
    /// Headers that the expression can read in addition to [`KEY_HEADERS`], in lower case.
    pub key_headers: Vec<String>,
    /// Group of channels that share buckets; `None` gives the channel its own.
    pub group: Option<String>,
    /// The behaviour while the shared store is unavailable.
    pub on_backend_error: BackendError,
}

/// The `principal_rate_limit` block.
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalRateLimitConfig {
    /// Sustained rate in requests per second, at least 1.
    pub requests_per_second: u64,
    /// Maximum burst in requests.
    pub burst: u64,
    /// Expression that names the bucket.
    pub key_logic: Value,
    /// Headers that the expression can read in addition to [`KEY_HEADERS`], in lower case.
    pub key_headers: Vec<String>,
    /// Group of channels that share buckets; `None` gives the channel its own.
    pub group: Option<String>,
    /// The behaviour while the shared store is unavailable.
    pub on_backend_error: BackendError,
}

/// The `backpressure` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackpressureConfig {
    /// Maximum number of concurrent runs of the channel on one node.
    pub max_concurrent_per_node: u64,
}

/// The `cache` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseCacheConfig {
    /// True to reuse responses.
    pub enabled: bool,
    /// Time to live of an entry, in seconds.
    pub ttl_secs: u64,
    /// Paths of the payload that form the key; `None` uses the whole payload.
    pub cache_key_fields: Option<Vec<String>>,
    /// Connector that stores the entries.
    pub connector: Option<String>,
    /// True to make the principal of the caller a part of the key. Required when a channel with `auth` is
    /// written.
    pub per_principal: Option<bool>,
    /// Statuses whose responses are cached; `None` caches those below 400.
    pub statuses: Option<Vec<u16>>,
}

impl ResponseCacheConfig {
    /// Returns true if responses with this status are cached.
    pub fn keeps_status(&self, status: u16) -> bool {
        self.statuses.as_ref().map_or(status < 400, |statuses| statuses.contains(&status))
    }
}

/// The `deduplication` block.
#[derive(Clone, Debug, PartialEq)]
pub struct DeduplicationConfig {
    /// Header that carries the key; present if `key_logic` is absent.
    pub header: Option<String>,
    /// Expression over payload and metadata that computes the key; takes precedence over `header`.
    pub key_logic: Option<Value>,
    /// Lifetime of a claim, in seconds.
    pub window_secs: u64,
    /// Connector that stores the claims.
    pub connector: Option<String>,
    /// The behaviour while the store is unavailable.
    pub on_backend_error: BackendError,
    /// True if a key belongs to the principal of its caller; the default on a channel with `auth`.
    pub per_principal: Option<bool>,
    /// The answer to a repeat.
    pub on_duplicate: DuplicatePolicy,
}

/// The answer to a message whose idempotency key was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// 409.
    #[default]
    Refuse,
    /// 200: the sender learns that the message arrived.
    Accept,
}

/// The time at which a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracingMode {
    /// Before the response.
    Sync,
    /// After the response.
    Async,
    /// After the response, in batches.
    Batch,
    /// Never.
    Off,
}

/// The `tracing` block; an absent field takes the setting of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracingConfig {
    /// The time at which a trace is written.
    pub mode: Option<TracingMode>,
    /// Fraction of the runs that are traced, from 0 to 1.
    pub sample_rate: Option<f64>,
    /// True to discard traces without errors.
    pub errors_only: Option<bool>,
    /// True to keep a snapshot of every task.
    pub task_details: bool,
}

pub(super) fn rate_limit(block: &mut ConfigBlock<'_>) -> Result<RateLimitConfig, FieldError> {
    let requests_per_second =
        block.positive("requests_per_second")?.ok_or_else(|| block.missing("requests_per_second"))?;
    Ok(RateLimitConfig {
        requests_per_second,
        burst: block.unsigned("burst")?.unwrap_or_else(|| (requests_per_second / 2).saturating_add(1)).max(1),
        key_logic: block.any("key_logic"),
        key_headers: key_headers(block)?,
        group: group(block)?,
        on_backend_error: on_backend_error(block)?,
    })
}

fn group(block: &mut ConfigBlock<'_>) -> Result<Option<String>, FieldError> {
    let group = block.string("group")?;
    match group.as_deref() {
        Some(name) if name.trim().is_empty() => Err(block.invalid("group", "a group needs a name")),
        Some(name) if name.chars().count() > MAX_GROUP => {
            Err(FieldError::too_long(block.field("group"), MAX_GROUP, name.chars().count(), "characters"))
        }
        _ => Ok(group),
    }
}

pub(super) fn principal_rate_limit(
    block: &mut ConfigBlock<'_>,
) -> Result<PrincipalRateLimitConfig, FieldError> {
    let limit = rate_limit(block)?;
    let Some(key_logic) = limit.key_logic else {
        return Err(FieldError::new(
            block.field("key_logic"),
            FieldCode::Required,
            "the quota needs an expression that names the principal",
        ));
    };
    Ok(PrincipalRateLimitConfig {
        requests_per_second: limit.requests_per_second,
        burst: limit.burst,
        key_logic,
        key_headers: limit.key_headers,
        group: limit.group,
        on_backend_error: limit.on_backend_error,
    })
}

fn key_headers(block: &mut ConfigBlock<'_>) -> Result<Vec<String>, FieldError> {
    let Some(names) = block.strings("key_headers")? else { return Ok(Vec::new()) };
    if names.is_empty() {
        return Err(block.invalid("key_headers", "an empty list adds nothing, omit the field"));
    }
    let mut lower: Vec<String> = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let name = name.to_ascii_lowercase();
        let field = format!("key_headers[{index}]");
        if !is_token(&name) {
            return Err(block.invalid(&field, "this is no header name"));
        }
        if lower.contains(&name) {
            return Err(block.invalid(&field, "this header is named twice"));
        }
        lower.push(name);
    }
    Ok(lower)
}

fn on_backend_error(block: &mut ConfigBlock<'_>) -> Result<BackendError, FieldError> {
    let choices = [("allow", BackendError::Allow), ("deny", BackendError::Deny)];
    Ok(block.choice("on_backend_error", &choices)?.unwrap_or_default())
}

pub(super) fn backpressure(block: &mut ConfigBlock<'_>) -> Result<BackpressureConfig, FieldError> {
    let permits = block.positive("max_concurrent_per_node")?;
    let max_concurrent_per_node = permits.ok_or_else(|| block.missing("max_concurrent_per_node"))?;
    Ok(BackpressureConfig { max_concurrent_per_node })
}

pub(super) fn cache(block: &mut ConfigBlock<'_>) -> Result<ResponseCacheConfig, FieldError> {
    let enabled = block.boolean("enabled")?.ok_or_else(|| block.missing("enabled"))?;
    let fields = block.strings("cache_key_fields")?;
    if let Some(fields) = &fields {
        if fields.is_empty() {
            return Err(block.invalid("cache_key_fields", "an empty list makes no key, omit the field"));
        }
        for (index, field) in fields.iter().enumerate() {
            if field.split('.').any(|segment| segment.trim().is_empty()) {
                return Err(
                    block.invalid(&format!("cache_key_fields[{index}]"), "the path has an empty segment")
                );
            }
        }
    }
    Ok(ResponseCacheConfig {
        enabled,
        ttl_secs: block.positive("ttl_secs")?.unwrap_or(300),
        cache_key_fields: fields,
        connector: block.string("connector")?,
        per_principal: block.boolean("per_principal")?,
        statuses: cache_statuses(block)?,
    })
}

fn cache_statuses(block: &mut ConfigBlock<'_>) -> Result<Option<Vec<u16>>, FieldError> {
    let Some(numbers) = block.integers("statuses")? else { return Ok(None) };
    if numbers.is_empty() {
        return Err(block.invalid("statuses", "an empty list keeps no answer, set enabled to false instead"));
    }
    let mut statuses = Vec::with_capacity(numbers.len());
    for (index, number) in numbers.into_iter().enumerate() {
        match u16::try_from(number) {
            Ok(status @ 200..=999) => statuses.push(status),
            _ => {
                let why = "this is no status of an answer, use 200 to 999";
                return Err(block.invalid(&format!("statuses[{index}]"), why));
            }
        }
    }
    Ok(Some(statuses))
}

const ON_DUPLICATE: [(&str, DuplicatePolicy); 2] =
    [("refuse", DuplicatePolicy::Refuse), ("accept", DuplicatePolicy::Accept)];

pub(super) fn deduplication(block: &mut ConfigBlock<'_>) -> Result<DeduplicationConfig, FieldError> {
    let (header, key_logic) = (block.string("header")?, block.any("key_logic"));
    match &header {
        Some(header) if !is_token(header) => return Err(block.invalid("header", "this is no header name")),
        None if key_logic.is_none() => {
            let why = "name the header that carries the key, or give key_logic";
            return Err(FieldError::new(block.field("header"), FieldCode::Required, why));
        }
        _ => {}
    }
    Ok(DeduplicationConfig {
        header,
        key_logic,
        window_secs: block.positive("window_secs")?.unwrap_or(300),
        connector: block.string("connector")?,
        on_backend_error: on_backend_error(block)?,
        per_principal: block.boolean("per_principal")?,
        on_duplicate: block.choice("on_duplicate", &ON_DUPLICATE)?.unwrap_or_default(),
    })
}

pub(super) fn tracing(block: &mut ConfigBlock<'_>) -> Result<TracingConfig, FieldError> {
    let modes = [
        ("sync", TracingMode::Sync),
        ("async", TracingMode::Async),
        ("batch", TracingMode::Batch),
        ("off", TracingMode::Off),
    ];
    let sample_rate = block.number("sample_rate")?;
    if sample_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
        return Err(block.invalid("sample_rate", "must be between 0 and 1"));
    }
    Ok(TracingConfig {
        mode: block.choice("mode", &modes)?,
        sample_rate,
        errors_only: block.boolean("errors_only")?,
        task_details: block.boolean("task_details")?.unwrap_or(false),
    })
}

/// Returns true for a token of RFC 9110, such as a header name or an authentication scheme.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
