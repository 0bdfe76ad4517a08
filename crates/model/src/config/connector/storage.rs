//! The `config` of an object store connector.

use super::fields::{OperationSwitches, http_url, open_choice, operation, secret_text, text};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{block, choice, positive};
use crate::config::key_reference::{BlockReference, KeyReference, block};
use crate::field::FieldError;

choice! {
    /// The protocol of an object store.
    enum StorageProtocol {
        /// S3.
        S3 = "s3",
    }
}

block! {
    reports all;
    /// Settings of an object store connector, which uses the S3 protocol.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StorageConfig {
        /// the protocol
        _protocol as "provider": StorageProtocol = "s3" => "s3", by(open_choice);
        /// URL of the store, http or https
        pub endpoint: String => "https://s3.example", by(http_url);
        /// the region of the bucket
        pub region: String => "eu-central-1", by(text);
        /// the bucket
        pub bucket: String => "invoices", by(text);
        /// the access key id
        pub access_key: SecretText => "env://S3_ACCESS_KEY", by(secret_text), secret();
        /// the secret access key
        pub secret_key: SecretText => "env://S3_SECRET_KEY", by(secret_text), secret();
        /// of temporary credentials
        pub session_token: Option<SecretText> => "env://S3_SESSION", secret();
        /// the bucket is in the path, not in the host
        pub force_path_style: bool = false => true;
        /// the host may have a private address
        pub allow_private_urls: bool = false => true;
        /// milliseconds for each step
        pub timeout_ms: u64 = 10000 => 5000, by(positive);
        /// operations that tasks may use
        pub operations: OperationSwitches = _ => {}, by(operations);
    }
}

const OPERATIONS: &[KeyReference] = &[
    operation("presign_get", "tasks may sign URLs for reads"),
    operation("presign_put", "tasks may sign URLs for writes"),
    operation("head", "tasks may ask about objects"),
    operation("read", "tasks may read objects"),
    operation("write", "tasks may write objects"),
];

impl StorageConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] =
        &[block("", Self::KEYS), block("operations", OPERATIONS)];
}

fn operations(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<OperationSwitches>, FieldError> {
    OperationSwitches::read_declared(block, name, OPERATIONS)
}
