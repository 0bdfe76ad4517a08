//! The reference of the `config` of connectors, for the schemas and the masks: the declarations of its blocks.

use super::auth::{BasicKeys, BearerKeys, HeaderKeys};
use super::cache::{self, CacheKeys};
use super::db::DbConfig;
use super::es::EsConfig;
use super::fields::{DATA_OPERATIONS, DialectConfig};
use super::http::{HttpConfig, HttpOperations, RetryConfig};
use super::kafka::{self, KafkaAuthKeys, KafkaConfig};
use super::oauth2::OAuth2Keys;
use super::smtp::{self, SmtpConfig};
use super::storage::{self, StorageConfig};
use crate::config::key_reference::{BlockReference, KeyReference, block};
use crate::entity::ConnectorType;

/// The reference of one connector type.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorReference {
    /// The connector type.
    pub kind: ConnectorType,
    /// The blocks; the first is the config itself, which takes unknown keys with a warning. The others refuse them.
    pub blocks: &'static [BlockReference],
}

/// Describes one form of a block.
const fn form(form: &'static str, keys: &'static [KeyReference]) -> BlockReference {
    BlockReference { path: "auth", form, keys }
}

const BEARER: BlockReference = form(BearerKeys::FORM, BearerKeys::KEYS);
const BASIC: BlockReference = form(BasicKeys::FORM, BasicKeys::KEYS);
const API_KEY: BlockReference = form(HeaderKeys::FORM, HeaderKeys::KEYS);
const OPERATIONS: BlockReference = block("operations", DATA_OPERATIONS);
const DIALECT: BlockReference = block("dialect", DialectConfig::KEYS);

/// All connector types.
pub static CONNECTORS: [ConnectorReference; ConnectorType::ALL.len()] = [
    ConnectorReference {
        kind: ConnectorType::Http,
        blocks: &[
            block("", HttpConfig::KEYS),
            BEARER,
            BASIC,
            API_KEY,
            form(OAuth2Keys::FORM, OAuth2Keys::KEYS),
            block("retry", RetryConfig::KEYS),
            block("operations", HttpOperations::KEYS),
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Es,
        blocks: &[block("", EsConfig::KEYS), BEARER, BASIC, API_KEY, OPERATIONS, DIALECT],
    },
    ConnectorReference { kind: ConnectorType::Db, blocks: &[block("", DbConfig::KEYS), OPERATIONS, DIALECT] },
    ConnectorReference {
        kind: ConnectorType::Cache,
        blocks: &[block("", CacheKeys::KEYS), block("operations", cache::OPERATIONS)],
    },
    ConnectorReference {
        kind: ConnectorType::Kafka,
        blocks: &[
            block("", KafkaConfig::KEYS),
            block("auth", KafkaAuthKeys::KEYS),
            block("operations", kafka::OPERATIONS),
        ],
    },
    ConnectorReference {
        kind: ConnectorType::Smtp,
        blocks: &[block("", SmtpConfig::KEYS), form(r#"{"type": "none"}"#, smtp::NO_AUTH), BASIC],
    },
    ConnectorReference {
        kind: ConnectorType::Storage,
        blocks: &[block("", StorageConfig::KEYS), block("operations", storage::OPERATIONS)],
    },
];
