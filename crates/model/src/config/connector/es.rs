//! The `config` of an Elasticsearch connector.

use super::auth::{self, HttpAuth};
use super::fields::{ConnectorFields, DialectConfig, MAX_RESPONSE_SIZE, OperationSwitches, url};
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

const OPERATIONS: [&str; 6] = ["read", "insert", "update", "delete", "upsert", "raw_write"];

/// Settings of an Elasticsearch connector.
#[derive(Clone, Debug, PartialEq)]
pub struct EsConfig {
    /// URL of the cluster, http or https.
    pub url: String,
    /// Credentials; never `oauth2`.
    pub auth: Option<HttpAuth>,
    /// Timeout for one request, in milliseconds; `None` uses the general limit of HTTP calls.
    pub request_timeout_ms: Option<u64>,
    /// Maximum size of a response, in bytes.
    pub max_response_size: u64,
    /// True if the host and port of `url` may be private.
    pub allow_private_urls: bool,
    /// Operations that tasks may use.
    pub operations: OperationSwitches,
    /// Restrictions of the portable dialect.
    pub dialect: DialectConfig,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<EsConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
    let url = fields.require(|block| url(block, "url", &["http", "https"]));
    let auth = auth::read(fields.block, &mut fields.errors);
    if matches!(auth, Some(HttpAuth::OAuth2(_))) {
        let error = fields.block.invalid("auth.type", "use one of bearer, basic, apikey");
        fields.refuse(error);
    }
    let config = EsConfig {
        url,
        auth,
        request_timeout_ms: fields.read(|block| block.positive("request_timeout_ms")),
        max_response_size: fields.positive("max_response_size", MAX_RESPONSE_SIZE),
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &OPERATIONS),
        dialect: DialectConfig::read(&mut fields),
    };
    fields.finish(config)
}
