//! `config` of an object store connector.

use super::fields::{ConnectorFields, OperationSwitches, filled, url};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

const TIMEOUT_MS: u64 = 10_000;

/// How an object store is reached. It speaks the protocol of S3.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// Where it is, http or https.
    pub endpoint: String,
    /// Region of the bucket.
    pub region: String,
    /// The bucket.
    pub bucket: String,
    /// Name of the key that signs.
    pub access_key: SecretText,
    /// The key that signs.
    pub secret_key: SecretText,
    /// Goes with a key that is valid for a time only.
    pub session_token: Option<SecretText>,
    /// Whether the bucket stands in the path instead of the host.
    pub force_path_style: bool,
    /// Whether the host may be private.
    pub allow_private_urls: bool,
    /// Milliseconds for one request.
    pub timeout_ms: u64,
    /// Operations that tasks may not use.
    pub operations: OperationSwitches,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<StorageConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::of(block);
    fields.choice("provider", &[("s3", ())]);
    let made = StorageConfig {
        endpoint: fields.require(|block| url(block, "endpoint", &["http", "https"])),
        region: fields.require(|block| filled(block, "region")),
        bucket: fields.require(|block| filled(block, "bucket")),
        access_key: SecretText::new(fields.require(|block| filled(block, "access_key"))),
        secret_key: SecretText::new(fields.require(|block| filled(block, "secret_key"))),
        session_token: fields.read(|block| block.string("session_token")).map(SecretText::new),
        force_path_style: fields.flag("force_path_style"),
        allow_private_urls: fields.flag("allow_private_urls"),
        timeout_ms: fields.positive("timeout_ms", TIMEOUT_MS),
        operations: OperationSwitches::read(&mut fields, &["presign_get", "presign_put", "head"]),
    };
    fields.finish(made)
}
