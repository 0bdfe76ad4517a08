//! The `config` of an http connector.

use serde_json::Value;

use super::auth::{API_KEY, BASIC, BEARER, HttpAuth, OAUTH2};
use super::fields;
use super::headers::check_header;
use super::sign::{SIGN, SigningConfig};
use super::unresolved::is_unresolved;
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{block, positive};
use crate::config::key_reference::{BlockReference, block};
use crate::field::FieldError;
use crate::mask::decode_query_name;

/// Maximum number of retries.
const MAX_RETRIES: u32 = 16;
/// Maximum number of calls of one computed address at once.
const MAX_CONCURRENT: u32 = 1000;
/// The port of https.
const HTTPS_PORT: u16 = 443;
/// The methods that a task may use.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

block! {
    reports all;
    /// Settings of an http connector. The query parameters are sorted by name.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HttpConfig {
        /// base URL, http or https
        pub url: String => "https://api.example", by(fields::http_url);
        /// sent with every call
        pub headers: Vec<(String, SecretText)> = _ =>
            {"accept": "application/json"}, kind("object of texts"), by(headers), secret();
        /// appended to every URL
        pub query_params: Vec<(String, SecretText)> = _ => {"v": 2}, by(query_params), secret();
        /// credentials that are sent
        pub auth: Option<HttpAuth> => {"type": "bearer", "token": "env://API_TOKEN"};
        /// the signature of every call
        pub sign: Option<SigningConfig> => {"preset": "standard_webhooks", "secret": "env://SIGNING_SECRET"};
        /// addresses that tasks may compute by `url_logic`: `https`, and `https:<port>` for another port than 443;
        /// they get none of `auth`, `headers` and `query_params`
        pub allow_urls: Vec<String> = _ => ["https"], by(allow_urls);
        /// calls of a computed address at once, for each host
        pub max_concurrent_per_host: u32 = 10 => 2, by(concurrency);
        /// attempts after a failure that may pass
        pub retry: RetryConfig = _ => {};
        /// POST and PATCH are retried too
        pub retry_non_idempotent: bool = false => true;
        /// without effect: the task names the method
        pub method: Option<String> => "GET";
        /// bytes of a response at most
        pub max_response_size: u64 = 10485760 => 1048576, by(positive);
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// operations that tasks may use
        pub operations: HttpOperations = _ => {};
    }
}

block! {
    /// The retries of an http connector.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RetryConfig: Default {
        /// retries after the first attempt, at most 16
        pub max_retries: u32 = 3 => 5, by(max_retries);
        /// milliseconds before the first retry; doubles
        pub retry_delay_ms: u64 = 1000 => 200;
    }
}

block! {
    /// The operations that tasks may use. Without methods, all are allowed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HttpOperations: Default {
        /// methods that tasks may use; absent, all
        pub methods: Vec<String> = _ =>
            ["GET"], kind("list of `GET`, `POST`, `PUT`, `PATCH`, `DELETE`"), by(methods);
    }
}

impl HttpConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] = &[
        block("", Self::KEYS),
        BEARER,
        BASIC,
        API_KEY,
        OAUTH2,
        SIGN,
        block("retry", RetryConfig::KEYS),
        block("operations", HttpOperations::KEYS),
    ];
}

impl HttpConfig {
    /// Returns the ports of https at which computed addresses may be; none if tasks may compute none.
    pub fn url_ports(&self) -> Vec<u16> {
        self.allow_urls.iter().filter_map(|text| https_port(text)).collect()
    }
}

/// Returns the port of an entry of `allow_urls`; `None` for a text that is none.
fn https_port(text: &str) -> Option<u16> {
    let port = match text.strip_prefix("https")? {
        "" => HTTPS_PORT,
        rest => rest.strip_prefix(':')?.parse().ok()?,
    };
    (port > 0).then_some(port)
}

type Read<T> = Result<Option<T>, FieldError>;

fn headers(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<(String, SecretText)>> {
    let mut headers = Vec::new();
    for (header, value) in block.map(name)?.into_iter().flatten() {
        let field = format!("{name}.{header}");
        let Value::String(text) = value else {
            return Err(FieldError::type_mismatch(block.field(&field), "string", value));
        };
        if let Err(why) = check_header(header, text) {
            return Err(block.invalid(&field, why));
        }
        headers.push((header.to_ascii_lowercase(), SecretText::new(text)));
    }
    Ok(Some(headers))
}

fn query_params(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<(String, SecretText)>> {
    let url = fields::http_url(block, "url").ok().flatten().unwrap_or_default();
    let params = fields::scalars(block, name, |param| {
        if names_in_query(&url).any(|known| known == param) {
            return Err("the query of url has this name already");
        }
        Ok(())
    })?;
    Ok(params.map(|mut params| {
        params.sort_by(|(one, _), (other, _)| one.cmp(other));
        params
    }))
}

fn names_in_query(url: &str) -> impl Iterator<Item = String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).map(decode_query_name)
}

fn max_retries(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u32> {
    let Some(retries) = block.unsigned(name)? else { return Ok(None) };
    match u32::try_from(retries) {
        Ok(retries @ ..=MAX_RETRIES) => Ok(Some(retries)),
        _ => Err(block.invalid(name, format!("must be {MAX_RETRIES} or less"))),
    }
}

fn methods(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let methods = block.strings(name)?.unwrap_or_default();
    let is_known = |method: &String| METHODS.contains(&method.as_str()) || is_unresolved(method);
    match methods.iter().position(|method| !is_known(method)) {
        Some(index) => {
            Err(block.invalid(&format!("{name}[{index}]"), format!("use one of {}", METHODS.join(", "))))
        }
        None => Ok(Some(methods)),
    }
}

fn allow_urls(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Vec<String>> {
    let entries = block.strings(name)?.unwrap_or_default();
    match entries.iter().position(|entry| https_port(entry).is_none() && !is_unresolved(entry)) {
        Some(index) => Err(block.invalid(
            &format!("{name}[{index}]"),
            "use https, or https:<port> for another port than 443; computed addresses are called over https alone",
        )),
        None => Ok(Some(entries)),
    }
}

fn concurrency(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u32> {
    block.integer_up_to(name, MAX_CONCURRENT)
}
