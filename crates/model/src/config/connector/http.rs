//! The `config` of an http connector.

use serde_json::Value;

use super::auth::{self, HttpAuth};
use super::fields::{self, MAX_RESPONSE_SIZE};
use super::headers::check_header;
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::{ConfigBlock, keep_or_report};
use crate::field::FieldError;
use crate::mask::decode_query_name;

/// Maximum number of retries.
const MAX_RETRIES: u64 = 16;
/// The methods that a task may use.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Settings of an http connector.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpConfig {
    /// Base URL, http or https.
    pub url: String,
    /// Headers that are sent with every call.
    pub headers: Vec<(String, SecretText)>,
    /// Query parameters that are appended to every URL, sorted by name.
    pub query_params: Vec<(String, SecretText)>,
    /// Credentials.
    pub auth: Option<HttpAuth>,
    /// Maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// Delay before the first retry, in milliseconds; doubles with each retry.
    pub retry_delay_ms: u64,
    /// True if POST and PATCH are retried too.
    pub retry_non_idempotent: bool,
    /// Maximum size of a response, in bytes.
    pub max_response_size: u64,
    /// True if the host and port of `url` may be private.
    pub allow_private_urls: bool,
    /// Methods that tasks may use; empty allows all.
    pub methods: Vec<String>,
}

struct Retry {
    max_retries: u64,
    delay_ms: u64,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<HttpConfig, Vec<FieldError>> {
    let mut errors = Vec::new();
    let retry = keep_or_report(block.block("retry", retry), &mut errors);
    let Retry { max_retries, delay_ms } = retry.unwrap_or(Retry { max_retries: 3, delay_ms: 1000 });
    let url = keep_or_report(fields::url(block, "url", &["http", "https"]).map(Some), &mut errors)
        .unwrap_or_default();
    let query_params = keep_or_report(query_params(block, &url).map(Some), &mut errors).unwrap_or_default();
    // Accepted without effect: the task names the method.
    keep_or_report(block.string("method"), &mut errors);
    let parsed = HttpConfig {
        headers: keep_or_report(headers(block).map(Some), &mut errors).unwrap_or_default(),
        auth: auth::read(block, &mut errors),
        max_retries: u32::try_from(max_retries).unwrap_or_default(),
        retry_delay_ms: delay_ms,
        retry_non_idempotent: keep_or_report(block.boolean("retry_non_idempotent"), &mut errors)
            .unwrap_or(false),
        max_response_size: keep_or_report(block.positive("max_response_size"), &mut errors)
            .unwrap_or(MAX_RESPONSE_SIZE),
        allow_private_urls: keep_or_report(block.boolean("allow_private_urls"), &mut errors).unwrap_or(false),
        methods: keep_or_report(block.block("operations", methods), &mut errors).unwrap_or_default(),
        url,
        query_params,
    };
    if errors.is_empty() { Ok(parsed) } else { Err(errors) }
}

fn headers(block: &mut ConfigBlock<'_>) -> Result<Vec<(String, SecretText)>, FieldError> {
    let mut headers = Vec::new();
    for (name, value) in block.map("headers")?.into_iter().flatten() {
        let field = format!("headers.{name}");
        let Value::String(text) = value else {
            return Err(FieldError::type_mismatch(block.field(&field), "string", value));
        };
        if let Err(why) = check_header(name, text) {
            return Err(block.invalid(&field, why));
        }
        headers.push((name.to_ascii_lowercase(), SecretText::new(text)));
    }
    Ok(headers)
}

fn query_params(block: &mut ConfigBlock<'_>, url: &str) -> Result<Vec<(String, SecretText)>, FieldError> {
    let mut params = Vec::new();
    for (name, value) in block.map("query_params")?.into_iter().flatten() {
        let field = format!("query_params.{name}");
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            other => return Err(FieldError::type_mismatch(block.field(&field), "scalar", other)),
        };
        if names_in_query(url).any(|known| known == *name) {
            return Err(block.invalid(&field, "the query of url has this name already"));
        }
        params.push((name.clone(), SecretText::new(text)));
    }
    params.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(params)
}

fn names_in_query(url: &str) -> impl Iterator<Item = String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).map(decode_query_name)
}

fn retry(block: &mut ConfigBlock<'_>) -> Result<Retry, FieldError> {
    let max_retries = block.unsigned("max_retries")?.unwrap_or(3);
    if max_retries > MAX_RETRIES {
        return Err(block.invalid("max_retries", format!("must be {MAX_RETRIES} or less")));
    }
    Ok(Retry { max_retries, delay_ms: block.unsigned("retry_delay_ms")?.unwrap_or(1000) })
}

fn methods(block: &mut ConfigBlock<'_>) -> Result<Vec<String>, FieldError> {
    let methods = block.strings("methods")?.unwrap_or_default();
    let is_known = |method: &String| METHODS.contains(&method.as_str()) || is_unresolved(method);
    match methods.iter().position(|method| !is_known(method)) {
        Some(index) => {
            Err(block.invalid(&format!("methods[{index}]"), format!("use one of {}", METHODS.join(", "))))
        }
        None => Ok(methods),
    }
}
