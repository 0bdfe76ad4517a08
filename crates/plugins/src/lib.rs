//! Task functions in WebAssembly.
//!
//! A plugin is a component of the world `svc:plugin@1.0.0` ([`WIT`]) and a [`PluginManifest`], which declares its
//! functions as the catalogue does those of the service. A component imports nothing: it has no clock, no network, no
//! files and no memory of earlier calls, so each of its functions is pure.
//!
//! The feature `runtime` compiles components and calls them. Without it manifests are read and tasks are checked, and
//! a task that calls a plugin fails.

mod entries;
mod function;
mod manifest;
mod manifest_reader;
#[cfg(feature = "runtime")]
mod runtime;

pub use function::{declared_functions, unusable_functions};
pub use manifest::{InputFieldSpec, ManifestLimits, PluginFunctionSpec, PluginManifest, component_digest};
#[cfg(feature = "runtime")]
pub use runtime::{
    CompiledComponent, ComponentError, ComponentSlot, PluginCallError, PluginCallObserver, PluginLimits,
    PluginRuntime, PluginRuntimeError, plugin_functions,
};

/// The interface that components implement, as their manifests name it.
pub const ABI: &str = "svc:plugin@1.0.0";

/// The text of the interface, for the tools that make bindings of it.
pub const WIT: &str = include_str!("../wit/plugin.wit");
