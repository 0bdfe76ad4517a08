//! The `config` of an object store connector.

use super::fields::{ConnectorFields, OperationSwitches, required_text, url};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

const TIMEOUT_MS: u64 = 10_000;

/// Settings of an object store connector, which uses the S3 protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// URL of the object store, http or https.
    pub endpoint: String,
    /// Region of the bucket.
    pub region: String,
    /// The bucket.
    pub bucket: String,
    /// Access key id.
    pub access_key: SecretText,
    /// Secret access key.
    pub secret_key: SecretText,
    /// Session token of temporary credentials.
    pub session_token: Option<SecretText>,
    /// True to address the bucket in the path instead of the host name.
    pub force_path_style: bool,
    /// True if the host may have a private address.
    pub allow_private_urls: bool,
    /// Timeout for one request, in milliseconds.
    pub timeout_ms: u64,
    /// Operations that tasks may use.
    pub operations: OperationSwitches,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<StorageConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
    fields.choice("provider", &[("s3", ())]);
    let config = StorageConfig {
        endpoint: fields.require(|block| url(block, "endpoint", &["http", "https"])),
        region: fields.require(|block| required_text(block, "region")),
        bucket: fields.require(|block| required_text(block, "bucket")),
        access_key: SecretText::new(fields.require(|block| required_text(block, "access_key"))),
        secret_key: SecretText::new(fields.require(|block| required_text(block, "secret_key"))),
        session_token: fields.read(|block| block.string("session_token")).map(SecretText::new),
        force_path_style: fields.flag("force_path_style"),
        allow_private_urls: fields.flag("allow_private_urls"),
        timeout_ms: fields.positive("timeout_ms", TIMEOUT_MS),
        operations: OperationSwitches::read(&mut fields, &["presign_get", "presign_put", "head"]),
    };
    fields.finish(config)
}
