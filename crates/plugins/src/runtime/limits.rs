//! The bounds of plugins.

use std::time::Duration;

use crate::manifest::ManifestLimits;

const MEBIBYTE: u64 = 1 << 20;

/// The bounds of every plugin of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginLimits {
    /// Bytes of memory of one call.
    pub memory_bytes: u64,
    /// Time of one call, from its wait for a permit to its end.
    pub timeout: Duration,
    /// Bytes of the input of one call.
    pub max_request_bytes: u64,
    /// Bytes of the result of one call.
    pub max_response_bytes: u64,
    /// Calls of one function at once; further ones wait.
    pub max_concurrent_calls: u64,
    /// Instances of all plugins at once.
    pub max_instances: u32,
    pub max_component_bytes: u64,
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 * MEBIBYTE,
            timeout: Duration::from_secs(5),
            max_request_bytes: MEBIBYTE,
            max_response_bytes: MEBIBYTE,
            max_concurrent_calls: 64,
            max_instances: 256,
            max_component_bytes: 64 * MEBIBYTE,
        }
    }
}

impl PluginLimits {
    /// Returns the bounds of one plugin: each is the lower one of the service and the manifest.
    #[must_use]
    pub fn lowered(&self, manifest: &ManifestLimits) -> Self {
        let memory = manifest.memory_mib.map(|mebibytes| mebibytes.saturating_mul(MEBIBYTE));
        let timeout = manifest.timeout_ms.map(Duration::from_millis);
        Self {
            memory_bytes: lower(self.memory_bytes, memory),
            timeout: lower(self.timeout, timeout),
            max_request_bytes: lower(self.max_request_bytes, manifest.max_request_bytes),
            max_response_bytes: lower(self.max_response_bytes, manifest.max_response_bytes),
            max_concurrent_calls: lower(self.max_concurrent_calls, manifest.max_concurrent_calls),
            ..*self
        }
    }
}

fn lower<T: Ord>(bound: T, other: Option<T>) -> T {
    match other {
        Some(other) => bound.min(other),
        None => bound,
    }
}
