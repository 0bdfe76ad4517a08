//! The `config` of a cache connector.

use super::fields::{ConnectorFields, OperationSwitches, url};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

/// The storage of cache entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheBackend {
    /// The memory of this process.
    Memory,
    /// A Redis server.
    Redis {
        /// URL of the server with scheme redis or rediss; may contain a password.
        url: SecretText,
    },
}

/// Settings of a cache connector.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheConfig {
    /// The storage of the entries.
    pub backend: CacheBackend,
    /// True if the server may have a private address.
    pub allow_private_urls: bool,
    /// Operations that tasks may use.
    pub operations: OperationSwitches,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<CacheConfig, Vec<FieldError>> {
    let mut fields = ConnectorFields::new(block);
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
    let config = CacheConfig {
        backend,
        allow_private_urls: fields.flag("allow_private_urls"),
        operations: OperationSwitches::read(&mut fields, &["read", "write"]),
    };
    fields.finish(config)
}
