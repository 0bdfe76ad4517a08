//! The packages of a node, and whether they serve.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use svc_toolkit::BootPackage;

use crate::config::PackagesSection;
use crate::error::ServiceStartError;
use crate::package_trust::PackageTrust;

/// The packages of a node, and whether they serve.
#[derive(Debug)]
pub(crate) struct BootPackages {
    /// None of them once they serve: they may have the components of plugins, which are megabytes.
    packages: Mutex<Arc<[BootPackage]>>,
    is_empty: bool,
    served: AtomicBool,
}

impl BootPackages {
    /// Reads the files of the packages, and their signatures.
    ///
    /// # Errors
    /// The first file that is no package, or is not trusted.
    pub(crate) fn read(section: &PackagesSection, trust: &PackageTrust) -> Result<Self, ServiceStartError> {
        let read = |file: &String| {
            BootPackage::read(Path::new(file), |content, signature| trust.check(content, signature))
                .map_err(|problem| ServiceStartError::Config(format!("packages.apply: {problem}")))
        };
        let packages = section.apply.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let is_empty = packages.is_empty();
        Ok(Self { packages: Mutex::new(packages.into()), is_empty, served: AtomicBool::new(is_empty) })
    }

    /// Returns `true` once all packages serve.
    pub(crate) fn are_served(&self) -> bool {
        self.served.load(Ordering::Acquire)
    }

    /// Returns the state for `/readyz`; `None` on a node without packages.
    pub(crate) fn readiness(&self) -> Option<&'static str> {
        let word = if self.are_served() { "ok" } else { "applying" };
        (!self.is_empty).then_some(word)
    }

    /// Returns the packages in the order in which they are applied, until they serve.
    pub(super) fn list(&self) -> Arc<[BootPackage]> {
        Arc::clone(&self.packages.lock())
    }

    /// Records that all packages serve, and forgets them.
    pub(super) fn mark_served(&self) {
        self.served.store(true, Ordering::Release);
        *self.packages.lock() = Arc::default();
    }
}
