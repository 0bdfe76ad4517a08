//! The `config` of a cache connector.

use super::fields::{OperationSwitches, open_choice, operation, url};
use crate::config::SecretText;
use crate::config::block::ConfigBlock;
use crate::config::declare::{block, choice};
use crate::config::key_reference::{BlockReference, KeyReference, block};
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

choice! {
    /// The word for a storage.
    enum BackendName {
        /// The memory of this process.
        Memory = "memory",
        /// A Redis server.
        Redis = "redis",
    }
}

block! {
    reports all;
    /// Settings of a cache connector, as they are written.
    struct CacheKeys {
        /// the place of the entries
        backend: BackendName => "memory", by(open_choice);
        /// the server, for `redis`
        url: Option<String> => "redis://redis/0", by(server);
        /// the host may have a private address
        allow_private_urls: bool = false => true;
        /// operations that tasks may use
        operations: OperationSwitches = _ => {}, by(operations);
    }
}

const OPERATIONS: &[KeyReference] =
    &[operation("read", "tasks may read"), operation("write", "tasks may write")];

impl CacheConfig {
    /// The blocks of the config; the first is the config itself.
    pub(super) const BLOCKS: &'static [BlockReference] =
        &[block("", CacheKeys::KEYS), block("operations", OPERATIONS)];

    /// Reads the config and adds each problem to those of the block.
    pub(super) fn read(block: &mut ConfigBlock<'_>) -> Option<Self> {
        let CacheKeys { backend, url, allow_private_urls, operations } = CacheKeys::read(block)?;
        let backend = match backend {
            BackendName::Memory => CacheBackend::Memory,
            BackendName::Redis => CacheBackend::Redis { url: SecretText::new(url?) },
        };
        Some(Self { backend, allow_private_urls, operations })
    }
}

/// Reads the URL of the server, which `redis` needs.
fn server(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<String>, FieldError> {
    let needs_url = block.string("backend").is_ok_and(|backend| backend.as_deref() == Some("redis"));
    if needs_url { url(block, name, &["redis", "rediss"]).map(Some) } else { block.string(name) }
}

fn operations(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<OperationSwitches>, FieldError> {
    OperationSwitches::read_declared(block, name, OPERATIONS)
}
