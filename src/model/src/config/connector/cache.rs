//! `config` of a cache connector.

use super::fields::{ConnectorFields, OperationSwitches, url};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

/// Where entries are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheBackend {
    /// In this process.
    Memory,
    /// In a Redis server.
    Redis {
        /// Where it is, redis or rediss; may hold a password.
        url: SecretText,
    },
}

/// How a cache is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheConfig {
    /// Where entries are kept.
    pub backend: CacheBackend,
    /// Whether the host of the server may be private.
    pub allow_private_urls: bool,
    /// Operations that tasks may not use.
    pub operations: OperationSwitches,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<CacheConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::of(block);
    let redis = fields.choice("backend", &[("memory", false), ("redis", true)]);
    let absent = redis.is_none() && fields.read(|block| Ok(block.any("backend"))).is_none();
    if absent {
        let error = fields.block.missing("backend");
        fields.refuse(error);
    }
    let backend = if redis == Some(true) {
        let url = fields.require(|block| url(block, "url", &["redis", "rediss"]));
        CacheBackend::Redis { url: SecretText::new(url) }
    } else {
        fields.read(|block| block.string("url"));
        CacheBackend::Memory
    };
    let made = CacheConfig {
        backend,
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &["read", "write"]),
    };
    fields.finish(made)
}
