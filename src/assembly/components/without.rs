//! The components of a build without the feature `plugins`.

use std::sync::Arc;

use slog::Logger;
use svc_engine::Function;
use svc_plugins::PluginManifest;
use tokio::runtime::Handle;

use super::PluginMetrics;
use crate::config::PluginsSection;

/// Compiles nothing.
pub(in crate::assembly) struct UncompiledComponents;

impl UncompiledComponents {
    pub(in crate::assembly) fn new(_: &PluginsSection, _: PluginMetrics, _: Handle, _: Logger) -> Self {
        Self
    }

    pub(in crate::assembly) fn functions(
        &self,
        _: &PluginManifest,
        _: &str,
    ) -> Option<Vec<Arc<dyn Function>>> {
        None
    }

    /// # Errors
    /// Always: this build runs no plugins.
    pub(in crate::assembly) fn compile(
        &self,
        _: &PluginManifest,
        _: &str,
        _: Vec<u8>,
    ) -> Result<Vec<Arc<dyn Function>>, String> {
        Err("not in this build: it was compiled without the feature 'plugins'".to_owned())
    }

    pub(in crate::assembly) fn retain(&self, _: impl Fn(&str) -> bool) {}

    pub(in crate::assembly) fn outcome(&self, _: &str) -> Option<Result<(), String>> {
        None
    }

    pub(in crate::assembly) fn is_compiling(&self) -> bool {
        false
    }
}
