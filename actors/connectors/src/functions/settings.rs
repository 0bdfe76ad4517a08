//! Settings of the functions over connectors.

use std::time::Duration;

/// The settings of all functions over connectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSettings {
    /// Time limit of one attempt of an HTTP call whose task sets none.
    pub http_timeout: Duration,
    /// Bounds of reads.
    pub query: QuerySettings,
    /// Bounds of writes.
    pub write: WriteSettings,
}

/// Bounds of reads from databases and search engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySettings {
    /// Most rows of a result whose task sets no limit.
    pub default_limit: u64,
    /// Most rows of a result.
    pub max_limit: u64,
    /// Most rows a task may skip.
    pub max_skip: u64,
    /// Most bytes of a result, as it is held in memory. A connector may set less.
    pub max_result_bytes: u64,
}

/// Bounds of writes to databases and search engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSettings {
    /// Most rows of one write.
    pub max_rows: u64,
    /// Allows updates and deletes without a filter.
    pub allow_unfiltered: bool,
}
