//! The components of plugins: compiled on blocking threads, each once for its digest. A build without the feature
//! `plugins` compiles none, and its plugins cannot be used.

mod metrics;
#[cfg(feature = "plugins")]
mod runtime;
#[cfg(not(feature = "plugins"))]
mod without;

pub(crate) use metrics::PluginMetrics;
#[cfg(feature = "plugins")]
pub(super) use runtime::CompiledComponents as Components;
#[cfg(not(feature = "plugins"))]
pub(super) use without::UncompiledComponents as Components;
