//! The blocks that limit, deduplicate, cache and record.

use serde_json::Value;

use super::block::ConfigBlock;
use crate::field::{FieldCode, FieldError};

/// Request headers an expression for a rate key can always read.
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

/// Longest name of a group of rate limits, in characters.
const MAX_GROUP: usize = 128;

/// What happens when a shared store is away.
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
    /// Requests each second, at least 1.
    pub requests_per_second: u64,
    /// Requests at once.
    pub burst: u64,
    /// Expression that names the bucket; the caller's identity when absent.
    pub key_logic: Option<Value>,
    /// Headers the expression can read beyond [`KEY_HEADERS`], lower case.
    pub key_headers: Vec<String>,
    /// Name under which channels share their buckets; the channel has its own when absent.
    pub group: Option<String>,
    /// What happens when the shared store is away.
    pub on_backend_error: BackendError,
}

/// The `principal_rate_limit` block.
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalRateLimitConfig {
    /// Requests each second, at least 1.
    pub requests_per_second: u64,
    /// Requests at once.
    pub burst: u64,
    /// Expression that names the bucket.
    pub key_logic: Value,
    /// Headers the expression can read beyond [`KEY_HEADERS`], lower case.
    pub key_headers: Vec<String>,
    /// Name under which channels share their buckets; the channel has its own when absent.
    pub group: Option<String>,
    /// What happens when the shared store is away.
    pub on_backend_error: BackendError,
}

/// The `backpressure` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackpressureConfig {
    /// Runs of the channel at once on one node.
    pub max_concurrent_per_node: u64,
}

/// The `cache` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseCacheConfig {
    /// Whether answers are reused.
    pub enabled: bool,
    /// Life of an entry, in seconds.
    pub ttl_secs: u64,
    /// Paths of the payload that make the key; the whole payload when absent.
    pub cache_key_fields: Option<Vec<String>>,
    /// Connector that holds the entries.
    pub connector: Option<String>,
    /// Makes the caller's principal part of the key. A channel with `auth` has to set it when it is written.
    pub per_principal: Option<bool>,
    /// Statuses of the answers that are kept; those below 400 when absent.
    pub statuses: Option<Vec<u16>>,
}

impl ResponseCacheConfig {
    /// Returns `true` when answers of this status are kept.
    pub fn keeps_status(&self, status: u16) -> bool {
        self.statuses.as_ref().map_or(status < 400, |statuses| statuses.contains(&status))
    }
}

/// The `deduplication` block.
#[derive(Clone, Debug, PartialEq)]
pub struct DeduplicationConfig {
    /// Header that carries the key; present where `key_logic` is absent.
    pub header: Option<String>,
    /// Expression that makes the key of payload and metadata; wins over `header`.
    pub key_logic: Option<Value>,
    /// Life of a claim, in seconds.
    pub window_secs: u64,
    /// Connector that holds the claims.
    pub connector: Option<String>,
    /// What happens when the store is away.
    pub on_backend_error: BackendError,
}

/// When a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracingMode {
    /// Before the answer.
    Sync,
    /// Behind the answer.
    Async,
    /// Behind the answer, many at once.
    Batch,
    /// Never.
    Off,
}

/// The `tracing` block; an absent field is the server's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracingConfig {
    /// When a trace is written.
    pub mode: Option<TracingMode>,
    /// Share of the runs that are traced, 0 to 1.
    pub sample_rate: Option<f64>,
    /// Whether clean traces are dropped.
    pub errors_only: Option<bool>,
    /// Whether snapshots of every task are kept.
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

/// True for a token of RFC 9110, which header names and authentication schemes are.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
