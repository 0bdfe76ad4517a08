//! Components that are compiled and called.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use slog::{Logger, info, warn};
use svc_engine::Function;
use svc_plugins::{ComponentSlot, PluginLimits, PluginManifest, PluginRuntime, plugin_functions};
use tokio::runtime::Handle;

use super::PluginMetrics;
use crate::config::PluginsSection;

/// The components by their digests.
pub(in crate::assembly) struct CompiledComponents {
    limits: PluginLimits,
    /// Started for the first plugin: a service without any has no thread and no memory for them.
    runtime: OnceLock<Result<PluginRuntime, String>>,
    slots: Mutex<HashMap<String, Arc<ComponentSlot>>>,
    /// Held while a component is compiled: one at a time leaves the other processors to the service.
    turn: Arc<Mutex<()>>,
    metrics: PluginMetrics,
    io: Handle,
    log: Logger,
}

impl CompiledComponents {
    pub(in crate::assembly) fn new(
        section: &PluginsSection,
        metrics: PluginMetrics,
        io: Handle,
        log: Logger,
    ) -> Self {
        let limits = PluginLimits {
            memory_bytes: section.memory_mib << 20,
            timeout: Duration::from_millis(section.timeout_ms),
            max_request_bytes: section.max_request_bytes,
            max_response_bytes: section.max_response_bytes,
            max_concurrent_calls: section.max_concurrent_calls,
            max_instances: section.max_instances,
            max_component_bytes: section.max_component_bytes,
        };
        let (runtime, slots, turn) = (OnceLock::new(), Mutex::default(), Arc::default());
        Self { limits, runtime, slots, turn, metrics, io, log }
    }

    /// Returns the functions of a plugin whose component is known.
    pub(in crate::assembly) fn functions(
        &self,
        manifest: &PluginManifest,
        digest: &str,
    ) -> Option<Vec<Arc<dyn Function>>> {
        let slot = self.slots.lock().get(digest).cloned()?;
        let runtime = self.runtime.get()?.as_ref().ok()?;
        Some(plugin_functions(runtime, manifest, digest, &slot))
    }

    /// Begins to compile a component, and returns the functions that it will have.
    ///
    /// # Errors
    /// The runtime cannot start on this machine.
    pub(in crate::assembly) fn compile(
        &self,
        manifest: &PluginManifest,
        digest: &str,
        component: Vec<u8>,
    ) -> Result<Vec<Arc<dyn Function>>, String> {
        let start = || {
            let observer = Arc::new(self.metrics.clone());
            PluginRuntime::start_observed(self.limits, observer).map_err(|error| error.to_string())
        };
        let runtime = self.runtime.get_or_init(start).clone()?;
        let slot = ComponentSlot::compiling();
        let functions = plugin_functions(&runtime, manifest, digest, &slot);
        self.slots.lock().insert(digest.to_owned(), Arc::clone(&slot));
        let (turn, log, digest) = (Arc::clone(&self.turn), self.log.clone(), digest.to_owned());
        self.io.spawn_blocking(move || {
            let _turn = turn.lock();
            slot.compile(&runtime, &component);
            match slot.outcome() {
                Some(Err(reason)) => {
                    warn!(log, "the component of a plugin does not compile"; "digest" => digest, "reason" => reason);
                }
                _ => info!(log, "the component of a plugin is compiled"; "digest" => digest),
            }
        });
        Ok(functions)
    }

    /// Forgets components that no plugin has any more. Workflows that still call one keep it.
    pub(in crate::assembly) fn retain(&self, is_used: impl Fn(&str) -> bool) {
        self.slots.lock().retain(|digest, _| is_used(digest));
    }

    /// Returns the outcome of a compilation; `None` while it goes on.
    pub(in crate::assembly) fn outcome(&self, digest: &str) -> Option<Result<(), String>> {
        let slots = self.slots.lock();
        let outcome = slots.get(digest)?.outcome()?;
        Some(outcome.as_ref().map(|_| ()).map_err(Clone::clone))
    }

    /// Returns `true` while a component is compiled or waits for its turn.
    pub(in crate::assembly) fn is_compiling(&self) -> bool {
        self.slots.lock().values().any(|slot| slot.outcome().is_none())
    }
}
