//! The `config` of an Elasticsearch connector.

use super::auth::{API_KEY, BASIC, BEARER, HttpAuth};
use super::fields::{DIALECT, DialectConfig, OPERATIONS, OperationSwitches, http_url};
use crate::config::block::ConfigBlock;
use crate::config::declare::{KeyValue, block, positive};
use crate::config::key_reference::{BlockReference, block};
use crate::field::FieldError;

block! {
    reports all;
    /// Settings of an Elasticsearch connector. Without a timeout, the general limit of HTTP calls applies.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EsConfig {
        /// base URL, http or https
        pub url: String => "https://api.example", by(http_url);
        /// credentials that are sent
        pub auth: Option<HttpAuth> => {"type": "bearer", "token": "env://API_TOKEN"}, by(auth);
        /// milliseconds for one request
        pub request_timeout_ms: Option<u64> => 5000, by(positive);
        /// bytes of a response at most
        pub max_response_size: u64 = 10485760 => 1048576, by(positive);
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// operations that tasks may use
        pub operations: OperationSwitches = _ => {};
        /// restrictions of the portable dialect on this system
        pub dialect: DialectConfig = _ => {};
    }
}

impl EsConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] =
        &[block("", Self::KEYS), BEARER, BASIC, API_KEY, OPERATIONS, DIALECT];
}

/// Reads the credentials; `oauth2` is refused.
fn auth(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<HttpAuth>, FieldError> {
    match HttpAuth::read(block, name)? {
        Some(HttpAuth::OAuth2(_)) => Err(block.invalid("auth.type", "use one of bearer, basic, apikey")),
        auth => Ok(auth),
    }
}
