//! The config blocks of guards: rate limits, backpressure, caching, deduplication and tracing.

use serde_json::Value;

use super::block::ConfigBlock;
use super::declare::{KeyValue, block, choice, positive};
use super::recorded_path::split_recorded_path;
use crate::field::{FieldCode, FieldError};
use crate::http::token::is_token;

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

choice! {
    /// The behaviour while a shared store is unavailable.
    pub enum BackendError {
        /// The request passes unchecked.
        Allow = "allow",
        /// The request is refused with 503.
        Deny = "deny",
    }
}

/// Declares a rate limit with its key expression.
macro_rules! rate_limit {
    ($(#[$about:meta])* pub struct $name:ident { $($key_logic:tt)+ }) => {
        block! {
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                /// requests a second for each bucket, at least 1
                pub requests_per_second: u64 => 10, by(positive);
                /// requests at once; half of a second's and one more by default
                pub burst: u64 = _ => 20, by(burst);
                $($key_logic)+
                /// headers that `key_logic` reads beyond the known ones
                pub key_headers: Vec<String> = _ => ["x-device"], by(key_headers);
                /// channels that name the same group, with the same rate, share their buckets
                pub group: Option<String> => "partners", by(group);
                /// what happens while the shared store is away
                pub on_backend_error: BackendError = "allow" => "deny";
            }
        }
    };
}

rate_limit! {
    /// The `rate_limit` block. Without `key_logic`, a call from another channel has the bucket of that channel.
    pub struct RateLimitConfig {
        /// the bucket, over `{client_ip, channel, headers}`; the address of the caller by default
        pub key_logic: Option<Value> => {"var": "headers.x-tenant-id"};
    }
}

rate_limit! {
    /// The `principal_rate_limit` block.
    pub struct PrincipalRateLimitConfig {
        /// the bucket, over `{client_ip, channel, headers, auth}`
        pub key_logic: Value => {"var": "auth.claims.sub"}, by(principal);
    }
}

block! {
    /// The `backpressure` block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BackpressureConfig {
        /// runs at once in one process; no request waits
        pub max_concurrent_per_node: u64 => 5, by(positive);
    }
}

block! {
    /// The `queue` block. Without `key_logic` and `max_concurrent` the work of the channel takes no shares.
    #[derive(Clone, Debug, PartialEq)]
    pub struct QueueConfig: Default {
        /// the key that has a share, over `{data, metadata}` when the work is accepted; keys that wait take turns, and
        /// null has no share of its own
        pub key_logic: Option<Value> => {"var": "data.tenant"};
        /// accepted work of one key that runs at once, over all nodes; needs `key_logic`
        pub max_concurrent_per_key: Option<u64> => 2, by(concurrent_per_key);
        /// accepted work of the channel that runs at once, over all nodes
        pub max_concurrent: Option<u64> => 20, by(positive);
        /// a submission begins at once, while its row is written; needs `trace_queue.early_start` of the service
        pub early_start: bool = true => false;
        /// accepted work of the channel that may wait in the database
        pub max_waiting: u64 = 100000 => 5000, by(positive);
    }
}

impl QueueConfig {
    /// Returns true if the accepted work of the channel takes shares.
    pub const fn has_shares(&self) -> bool {
        self.key_logic.is_some() || self.max_concurrent.is_some()
    }
}

block! {
    /// The `cache` block.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ResponseCacheConfig {
        /// answers are reused
        pub enabled: bool => true;
        /// how long an answer is kept
        pub ttl_secs: u64 = 300 => 60, by(positive);
        /// paths of the payload that make the key; the whole payload by default
        pub cache_key_fields: Option<Vec<String>> => ["id"], by(cache_key_fields);
        /// over `{data, metadata}`, after the claims of a token are there; its result takes the place of the payload in
        /// the key and wins over `cache_key_fields`, and null is not cached
        pub key_logic: Option<Value> => {"var": "metadata.headers.accept-language"};
        /// equal requests that find no answer at the same time on a node wait for the run of the first
        pub coalesce_misses: bool = false => true;
        /// names of groups of answers that `cache_invalidate` makes stale together, 8 at most
        pub namespaces: Vec<String> = _ => ["catalogue"], by(namespaces);
        /// each caller has answers of its own; a channel with `auth` has to say it
        pub per_principal: Option<bool> => true;
        /// statuses of answers that are kept; those below 400 by default
        pub statuses: Option<Vec<u16>> => [200, 404];
        /// a `cache` connector of Redis that keeps it for all processes
        pub connector: Option<String> => "redis";
    }
}

impl ResponseCacheConfig {
    /// Returns true if responses with this status are cached.
    pub fn keeps_status(&self, status: u16) -> bool {
        self.statuses.as_ref().map_or(status < 400, |statuses| statuses.contains(&status))
    }
}

block! {
    /// The `deduplication` block.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DeduplicationConfig {
        /// the header that carries the key; **required** without `key_logic`
        pub header: Option<String> => "idempotency-key", or("key_logic"), by(key_header);
        /// the key, over `{data, metadata}`; it wins over `header`, and null is not checked
        pub key_logic: Option<Value> => {"var": "data.event_id"};
        /// how long a key is remembered
        pub window_secs: u64 = 300 => 60, by(positive);
        /// each caller has keys of its own, by default where `auth` names callers; `false` shares them, as a
        /// channel without `auth` does
        pub per_principal: Option<bool> => false;
        /// the answer to a repeat: 409, 200 with `{"status": "duplicate"}`, or that of the first run
        pub on_duplicate: DuplicatePolicy = "refuse" => "accept";
        /// the store of the answers of `replay`; the Redis of `connector` or of the cluster by default, else the
        /// database
        pub store: Option<AnswerPlace> => "database";
        /// the longest body that `replay` keeps, in bytes
        pub max_answer_bytes: u64 = 65536 => 16384, by(positive);
        /// a `cache` connector of Redis that keeps it for all processes
        pub connector: Option<String> => "redis";
        /// what happens while the shared store is away
        pub on_backend_error: BackendError = "allow" => "deny";
    }
}

choice! {
    /// The answer to a message whose idempotency key was seen.
    pub enum DuplicatePolicy {
        /// 409.
        Refuse = "refuse",
        /// 200: the sender learns that the message arrived.
        Accept = "accept",
        /// The answer of the first run, as it was.
        Replay = "replay",
    }
}

choice! {
    /// The store of the answers that repeats get.
    pub enum AnswerPlace {
        /// The memory of this process.
        Memory = "memory",
        /// The Redis server of a connector, or that of the cluster.
        Redis = "redis",
        /// The database of the service.
        Database = "database",
    }
}

choice! {
    /// The time at which a trace is written.
    pub enum TracingMode {
        /// Before the response.
        Sync = "sync",
        /// After the response.
        Async = "async",
        /// After the response, in batches.
        Batch = "batch",
        /// Never.
        Off = "off",
    }
}

block! {
    /// The `tracing` block; an absent field takes the setting of the server.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TracingConfig: Default {
        /// when a trace is stored; `trace_storage.mode` by default
        pub mode: Option<TracingMode> => "batch";
        /// share of the runs, 0 to 1; that of `trace_storage` by default
        pub sample_rate: Option<f64> => 0.5, by(sample_rate);
        /// only runs with errors; as `trace_storage` says by default
        pub errors_only: Option<bool> => true;
        /// every task's view of the message
        pub task_details: bool = false => true;
        /// the input of a synchronous run, so that it can be run again
        pub keep_input: bool = false => true;
        /// runs that are recorded with their calls, so that another version can be tried on them; those of
        /// `trace_storage.record` by default, see [Recordings](recordings.md)
        pub record: Option<RecordConfig> => {"share": 0.05, "errors": true};
    }
}

block! {
    /// The `tracing.record` block.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RecordConfig {
        /// share of the runs, 0 to 1, drawn by the key of the run
        pub share: Option<f64> => 0.05, by(sample_rate);
        /// every failed run as well
        pub errors: bool = false => true;
        /// recordings of a day, in UTC; 50000 by default
        pub max_per_day: Option<u64> => 50000, by(positive);
        /// longest recording, in bytes; a run with a longer one is not recorded; 262144 by default
        pub max_bytes: Option<u64> => 262144, by(positive);
        /// paths below `payload`, `metadata`, `data`, `input` or `answer` whose values are never recorded
        pub drop: Vec<String> = _ => ["payload.card.number"], by(dropped_paths);
    }
}

fn dropped_paths(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(paths) = block.strings(name)? else { return Ok(None) };
    for (index, path) in paths.iter().enumerate() {
        split_recorded_path(path).map_err(|why| block.invalid(&format!("{name}[{index}]"), why))?;
    }
    Ok(Some(paths))
}

type Read<T> = Result<Option<T>, FieldError>;

/// Reads the maximum burst, at least 1; its default depends on the rate.
fn burst(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    let burst = match block.unsigned(name)? {
        Some(burst) => burst,
        None => (block.positive("requests_per_second")?.unwrap_or_default() / 2).saturating_add(1),
    };
    Ok(Some(burst.max(1)))
}

fn concurrent_per_key(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    let most = block.positive(name)?;
    if most.is_some() && block.any("key_logic").is_none() {
        return Err(block.invalid(name, "needs key_logic, which names the key"));
    }
    Ok(most)
}

fn group(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let group = block.string(name)?;
    match group.as_deref() {
        Some(text) if text.trim().is_empty() => Err(block.invalid(name, "a group needs a name")),
        Some(text) if text.chars().count() > MAX_GROUP => {
            Err(FieldError::too_long(block.field(name), MAX_GROUP, text.chars().count(), "characters"))
        }
        _ => Ok(group),
    }
}

fn principal(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Value> {
    let logic = block.any(name);
    if logic.is_none() {
        let why = "the quota needs an expression that names the principal";
        return Err(FieldError::new(block.field(name), FieldCode::Required, why));
    }
    Ok(logic)
}

/// Reads names of headers, in lower case.
fn key_headers(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(headers) = block.strings(name)? else { return Ok(None) };
    if headers.is_empty() {
        return Err(block.invalid(name, "an empty list adds nothing, omit the field"));
    }
    let mut lower: Vec<String> = Vec::with_capacity(headers.len());
    for (index, header) in headers.iter().enumerate() {
        let header = header.to_ascii_lowercase();
        let field = format!("{name}[{index}]");
        if !is_token(&header) {
            return Err(block.invalid(&field, "this is no header name"));
        }
        if lower.contains(&header) {
            return Err(block.invalid(&field, "this header is named twice"));
        }
        lower.push(header);
    }
    Ok(Some(lower))
}

fn cache_key_fields(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(fields) = block.strings(name)? else { return Ok(None) };
    if fields.is_empty() {
        return Err(block.invalid(name, "an empty list makes no key, omit the field"));
    }
    for (index, field) in fields.iter().enumerate() {
        if field.split('.').any(|segment| segment.trim().is_empty()) {
            return Err(block.invalid(&format!("{name}[{index}]"), "the path has an empty segment"));
        }
    }
    Ok(Some(fields))
}

/// Namespaces of the answers of a channel.
const MAX_NAMESPACES: usize = 8;

/// Letters of the name of a namespace.
const MAX_NAMESPACE: usize = 64;

fn namespaces(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let Some(namespaces) = block.strings(name)? else { return Ok(None) };
    if !(1..=MAX_NAMESPACES).contains(&namespaces.len()) {
        return Err(
            block.invalid(name, format!("name from 1 to {MAX_NAMESPACES} namespaces, or omit the field"))
        );
    }
    for (index, namespace) in namespaces.iter().enumerate() {
        let place = format!("{name}[{index}]");
        check_namespace(namespace, &block.field(&place))?;
        if namespaces[..index].contains(namespace) {
            return Err(block.invalid(&place, "it is listed twice"));
        }
    }
    Ok(Some(namespaces))
}

/// Checks the name of a namespace of cached answers, which is at `path`.
///
/// # Errors
/// `TOO_LONG` above 64 letters, otherwise `INVALID`.
pub fn check_namespace(name: &str, path: &str) -> Result<(), FieldError> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.:".contains(&byte);
    let length = name.chars().count();
    if length > MAX_NAMESPACE {
        return Err(FieldError::too_long(path, MAX_NAMESPACE, length, "letters"));
    }
    if name.is_empty() || !name.bytes().all(is_letter) {
        let rule = format!("a namespace has from 1 to {MAX_NAMESPACE} letters of a-z 0-9 _ - . :");
        return Err(FieldError::invalid(path, rule));
    }
    Ok(())
}

/// The statuses of answers.
impl KeyValue for Vec<u16> {
    const KIND: &'static str = "list of integers";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        let Some(numbers) = block.integers(name)? else { return Ok(None) };
        if numbers.is_empty() {
            return Err(block.invalid(name, "an empty list keeps no answer, set enabled to false instead"));
        }
        let mut statuses = Self::with_capacity(numbers.len());
        for (index, number) in numbers.into_iter().enumerate() {
            match u16::try_from(number) {
                Ok(status @ 200..=999) => statuses.push(status),
                _ => {
                    let why = "this is no status of an answer, use 200 to 999";
                    return Err(block.invalid(&format!("{name}[{index}]"), why));
                }
            }
        }
        Ok(Some(statuses))
    }
}

fn key_header(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let header = block.string(name)?;
    match &header {
        Some(header) if !is_token(header) => Err(block.invalid(name, "this is no header name")),
        None if block.any("key_logic").is_none() => {
            let why = "name the header that carries the key, or give key_logic";
            Err(FieldError::new(block.field(name), FieldCode::Required, why))
        }
        _ => Ok(header),
    }
}

fn sample_rate(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<f64> {
    match block.number(name)? {
        Some(rate) if !(0.0..=1.0).contains(&rate) => Err(block.invalid(name, "must be between 0 and 1")),
        rate => Ok(rate),
    }
}
