//! The settings of an object store, ready for use.

use std::time::Duration;

use rusty_s3::{Bucket, BucketError, Credentials, UrlStyle};
use svc_model::config::connector::{OperationSwitches, StorageConfig};
use svc_outbound::check_url;

/// The settings of an object store.
pub(crate) struct StorageSettings {
    pub(super) bucket: Bucket,
    pub(super) credentials: Credentials,
    pub(super) allow_private: bool,
    /// Time limit of one request.
    pub(super) timeout: Duration,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
}

impl StorageSettings {
    /// Makes the settings of a config whose placeholders and references are replaced.
    ///
    /// # Errors
    /// A text that names the unusable field without its value.
    pub(crate) fn new(config: &StorageConfig) -> Result<Self, String> {
        let endpoint = check_url(&config.endpoint, config.allow_private_urls)
            .map_err(|error| format!("connector.config.endpoint: {error}"))?;
        let style = if config.force_path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let bucket = Bucket::new(endpoint, style, config.bucket.clone(), config.region.clone());
        let bucket = bucket.map_err(|error| match error {
            BucketError::UnsupportedScheme | BucketError::MissingHost => {
                "connector.config.endpoint: use an http or https URL".to_owned()
            }
            BucketError::ParseError(_) => {
                "connector.config.bucket: it cannot stand before the endpoint's host; set force_path_style"
                    .to_owned()
            }
        })?;
        let (key, secret) = (config.access_key.expose(), config.secret_key.expose());
        let credentials = match config.session_token.as_ref().map(|token| token.expose()) {
            Some(token) if !token.is_empty() => Credentials::new_with_token(key, secret, token),
            _ => Credentials::new(key, secret),
        };
        Ok(Self {
            bucket,
            credentials,
            allow_private: config.allow_private_urls,
            timeout: Duration::from_millis(config.timeout_ms),
            operations: config.operations.clone(),
        })
    }
}
