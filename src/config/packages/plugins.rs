//! Plugins: `[plugins]`.

use std::time::Duration;

use svc_auth::FileVerifyingKey;

use crate::config::problem::Diagnostics;
use crate::config::setting::section;

section! {
    /// The bounds of plugins, task functions in WebAssembly. The manifest of a plugin may lower those of its calls.
    pub struct PluginsSection {
        /// Seconds after the start for which the node is not ready while components are compiled; 0 waits for none.
        pub ready_timeout_secs: u64 = 30,
        /// Largest component in bytes. An upload may be as much longer than `server.max_admin_body_size`, in base64.
        pub max_component_bytes: u64 = 67_108_864,
        /// Mebibytes of memory that one call may use, from 1 to 4096.
        pub memory_mib: u64 = 64,
        /// Milliseconds that one call may take, the wait for its turn included.
        pub timeout_ms: u64 = 5000,
        /// Largest input of a call in bytes.
        pub max_request_bytes: u64 = 1_048_576,
        /// Largest result of a call in bytes.
        pub max_response_bytes: u64 = 1_048_576,
        /// Calls of one function at once; further ones wait.
        pub max_concurrent_calls: u64 = 64,
        /// Calls of all functions at once, from 1 to 4096; further ones wait.
        pub max_instances: u32 = 256,
        /// The trust in components.
        pub trust: PluginTrustSection = PluginTrustSection::default(),
    }
}

section! {
    /// The signatures of components.
    pub struct PluginTrustSection {
        /// Public keys (Ed25519, in PEM) of those whose components are taken. A signature that comes with a component
        /// must be of one of them.
        pub public_keys: Vec<String> = Vec::new(),
        /// Refuses components without a signature, at an upload and at every load.
        pub required: bool = false,
    }
}

impl PluginsSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("plugins.ready_timeout_secs", self.ready_timeout_secs, 0..=3600);
        diagnostics.require_within("plugins.max_component_bytes", self.max_component_bytes, 1..=1 << 30);
        diagnostics.require_within("plugins.memory_mib", self.memory_mib, 1..=4096);
        diagnostics.require_within("plugins.timeout_ms", self.timeout_ms, 1..=3_600_000);
        diagnostics.require_within("plugins.max_request_bytes", self.max_request_bytes, 1..=1 << 30);
        diagnostics.require_within("plugins.max_response_bytes", self.max_response_bytes, 1..=1 << 30);
        diagnostics.require_within("plugins.max_concurrent_calls", self.max_concurrent_calls, 1..=10_000);
        diagnostics.require_within("plugins.max_instances", self.max_instances, 1..=4096);
        self.trust.check(diagnostics);
    }

    /// Returns the time after the start for which components keep the node from being ready.
    pub(crate) fn ready_timeout(&self) -> Duration {
        Duration::from_secs(self.ready_timeout_secs)
    }
}

impl PluginTrustSection {
    fn check(&self, diagnostics: &mut Diagnostics) {
        const KEYS: &str = "plugins.trust.public_keys";
        for (index, pem) in self.public_keys.iter().enumerate() {
            if let Err(problem) = FileVerifyingKey::from_pem(pem) {
                diagnostics.refuse(KEYS, format!("entry {}: {problem}", index + 1));
            }
        }
        if self.required && self.public_keys.is_empty() {
            diagnostics.refuse("plugins.trust.required", format!("needs a key in {KEYS}"));
        }
    }
}
