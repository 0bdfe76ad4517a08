//! The settings of an Elasticsearch cluster, ready for use.

use std::time::Duration;

use svc_model::config::connector::{
    DialectConfig, EsConfig, HttpConfig, HttpOperations, OperationSwitches, RetryConfig,
};

use crate::drivers::http::HttpSettings;

/// The settings of an Elasticsearch cluster.
pub(crate) struct EsSettings {
    /// URL and credentials, as of any HTTP API.
    pub(crate) http: HttpSettings,
    /// Time limit of one request; `None` for the limit of all HTTP calls.
    pub(crate) timeout: Option<Duration>,
    pub(crate) operations: OperationSwitches,
    pub(crate) dialect: DialectConfig,
}

impl EsSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &EsConfig) -> Result<Self, String> {
        let http = HttpConfig {
            url: config.url.clone(),
            headers: Vec::new(),
            query_params: Vec::new(),
            auth: config.auth.clone(),
            retry: RetryConfig { max_retries: 0, retry_delay_ms: 0 },
            retry_non_idempotent: false,
            max_response_size: config.max_response_size,
            allow_private_urls: config.allow_private_urls,
            operations: HttpOperations::default(),
            method: None,
            sign: None,
            allow_urls: Vec::new(),
            max_concurrent_per_host: 1,
        };
        Ok(Self {
            http: HttpSettings::new(&http)?,
            timeout: config.request_timeout_ms.map(Duration::from_millis),
            operations: config.operations.clone(),
            dialect: config.dialect.clone(),
        })
    }
}
