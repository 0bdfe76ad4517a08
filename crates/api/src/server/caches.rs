//! The cached answers of channels.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The namespaces whose cached answers become stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheInvalidationRequest {
    /// The namespaces, 64 at most.
    pub namespaces: Vec<String>,
}

/// The cached answers that became stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvalidatedCaches {
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// Number of caches that keep answers of them; the memory of the node counts as one.
    pub stores: usize,
}
