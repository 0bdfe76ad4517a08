//! Packages that the node applies itself, `[packages]`, and plugins, `[plugins]`: both may have to be signed.

mod plugins;

use std::path::Path;

use svc_auth::FileVerifyingKey;

use super::problem::Diagnostics;
use super::setting::section;

pub use plugins::{PluginTrustSection, PluginsSection};

section! {
    /// Packages that the node applies to its database at its start.
    pub struct PackagesSection {
        /// Files of packages, in the order in which they are applied. A relative path starts at the directory of the
        /// configuration file.
        pub apply: Vec<String> = Vec::new(),
        /// Seconds until every package must serve, the wait for another node that applies them included; after them the
        /// process ends.
        pub apply_timeout_secs: u64 = 1800,
        /// Starts with definitions of these packages that this node cannot load; otherwise they end the process.
        pub allow_degraded: bool = false,
        /// The trust in packages.
        pub trust: PackageTrustSection = PackageTrustSection::default(),
    }
}

section! {
    /// The signatures of packages.
    pub struct PackageTrustSection {
        /// Public keys (Ed25519, in PEM) of those whose packages are taken. A signature that comes with a package must
        /// be of one of them.
        pub public_keys: Vec<String> = Vec::new(),
        /// Refuses packages without a signature, at the start and in imports. An admin key can edit single definitions
        /// all the same.
        pub required: bool = false,
    }
}

impl PackagesSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        self.trust.check(diagnostics);
        diagnostics.require_within("packages.apply_timeout_secs", self.apply_timeout_secs, 1..=86_400);
        for (index, file) in self.apply.iter().enumerate() {
            if file.trim().is_empty() {
                diagnostics.refuse("packages.apply", format!("entry {} is empty", index + 1));
            } else if self.apply[..index].contains(file) {
                diagnostics.refuse("packages.apply", format!("{file:?} is named twice; keep one of them"));
            }
        }
    }

    /// Resolves relative paths against the directory of the configuration file.
    pub(crate) fn resolve(&mut self, file: &Path) {
        let Some(directory) = file.parent() else { return };
        for package in &mut self.apply {
            *package = directory.join(&*package).display().to_string();
        }
    }
}

impl PackageTrustSection {
    fn check(&self, diagnostics: &mut Diagnostics) {
        const KEYS: &str = "packages.trust.public_keys";
        for (index, pem) in self.public_keys.iter().enumerate() {
            if let Err(problem) = FileVerifyingKey::from_pem(pem) {
                diagnostics.refuse(KEYS, format!("entry {}: {problem}", index + 1));
            }
        }
        if self.required && self.public_keys.is_empty() {
            diagnostics.refuse("packages.trust.required", format!("needs a key in {KEYS}"));
        }
    }
}
