//! The plugins of the database, as this node serves them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use slog::{Logger, warn};
use svc_api::{FailedPlugin, PluginsHealth};
use svc_engine::{Engine, Function};
use svc_plugins::{PluginManifest, component_digest, unusable_functions};
use svc_store::{PluginVersion, Plugins, Store, StoreError};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::assembly::components::{Components, PluginMetrics};
use crate::config::Config;
use crate::package_trust::PackageTrust;

/// Loads the active plugins of the database into the engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PluginLoader {
    shared: Arc<LoaderShared>,
}

struct LoaderShared {
    stored: Plugins,
    engine: Arc<Engine>,
    trust: PackageTrust,
    components: Components,
    /// The active plugins of the last load: the id of each and the digest of its component.
    active: Mutex<Vec<(String, String)>>,
    /// The reasons for which active plugins cannot be used, by their ids.
    problems: Mutex<HashMap<String, String>>,
    /// Held during a load, so that of two loads the later one has the last word.
    turn: tokio::sync::Mutex<()>,
    /// The instant from which on components that are still compiled no longer keep the node from being ready.
    ready_by: Instant,
    was_ready: AtomicBool,
    log: Logger,
}

/// The state of the component of an active plugin on this node.
pub(crate) enum PluginLoad {
    Compiling,
    Ready,
    Failed(String),
}

impl PluginLoader {
    /// Makes the loader of the functions of `engine`. Components are compiled on blocking threads of `io`.
    ///
    /// # Errors
    /// A key of the settings that is none.
    pub(crate) fn new(
        config: &Config,
        store: &Store,
        engine: Arc<Engine>,
        metrics: PluginMetrics,
        io: Handle,
        log: &Logger,
    ) -> Result<Self, String> {
        let section = &config.plugins;
        let shared = LoaderShared {
            stored: store.plugins(),
            engine,
            trust: PackageTrust::read_for_plugins(&section.trust)?,
            components: Components::new(section, metrics, io, log.clone()),
            active: Mutex::default(),
            problems: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            ready_by: Instant::now() + section.ready_timeout(),
            was_ready: AtomicBool::new(false),
            log: log.clone(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Loads all active plugins. Those that cannot be used quarantine the workflows that call them, and are logged.
    /// Workflows that call a plugin have to be compiled again afterwards.
    ///
    /// # Errors
    /// The database failed; the previous plugins serve on.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        let _turn = self.shared.turn.lock().await;
        let active = self.shared.stored.active().await?;
        let mut functions = Vec::new();
        let mut problems = HashMap::new();
        for plugin in &active {
            match PluginManifest::parse(&plugin.manifest, "manifest") {
                Ok(manifest) => functions.extend(self.load_one(plugin, &manifest, &mut problems).await?),
                Err(errors) => {
                    let reason = errors.first().map(ToString::to_string).unwrap_or_default();
                    problems.insert(plugin.id.clone(), reason);
                }
            }
        }
        for (id, reason) in &problems {
            warn!(self.shared.log, "a plugin is not loaded"; "plugin" => id, "reason" => reason);
        }
        *self.shared.problems.lock() = problems;
        let loaded = active.iter().map(|plugin| (plugin.id.clone(), plugin.digest.clone()));
        *self.shared.active.lock() = loaded.collect();
        self.shared.components.retain(|digest| active.iter().any(|plugin| plugin.digest == digest));
        self.shared.engine.replace_plugins(functions);
        Ok(())
    }

    /// Returns the functions of one plugin, and begins to compile a component that is not known yet.
    async fn load_one(
        &self,
        plugin: &PluginVersion,
        manifest: &PluginManifest,
        problems: &mut HashMap<String, String>,
    ) -> Result<Vec<Arc<dyn Function>>, StoreError> {
        let components = &self.shared.components;
        let known = components.functions(manifest, &plugin.digest);
        if let Some(functions) = known {
            return Ok(functions);
        }
        let component = self.shared.stored.component(&plugin.digest).await?;
        let begun = self
            .check(plugin, component)
            .and_then(|component| components.compile(manifest, &plugin.digest, component));
        Ok(begun.unwrap_or_else(|reason| {
            let functions = unusable_functions(manifest, &plugin.digest, &reason);
            problems.insert(plugin.id.clone(), reason);
            functions
        }))
    }

    /// Returns the bytes of a stored component that is whole and trusted.
    fn check(&self, plugin: &PluginVersion, component: Option<String>) -> Result<Vec<u8>, String> {
        let component = component.ok_or_else(|| "its component is not stored".to_owned())?;
        let component =
            STANDARD.decode(component).map_err(|_| "its stored component is no base64".to_owned())?;
        if component_digest(&component) != plugin.digest {
            return Err("its stored component has another digest".to_owned());
        }
        self.check_trust(&component, plugin.signature.as_deref())?;
        Ok(component)
    }

    /// Checks the signature of a component.
    ///
    /// # Errors
    /// The reason why the component is not trusted.
    pub(crate) fn check_trust(&self, component: &[u8], signature: Option<&str>) -> Result<(), String> {
        self.shared.trust.check(component, signature)
    }

    /// Returns the state of an active plugin.
    pub(crate) fn state(&self, id: &str, digest: &str) -> PluginLoad {
        if let Some(reason) = self.shared.problems.lock().get(id) {
            return PluginLoad::Failed(reason.clone());
        }
        match self.shared.components.outcome(digest) {
            None => PluginLoad::Compiling,
            Some(Ok(())) => PluginLoad::Ready,
            Some(Err(reason)) => PluginLoad::Failed(reason),
        }
    }

    /// Returns the states of the active plugins by their ids; `None` without any.
    pub(crate) fn health(&self) -> Option<PluginsHealth> {
        let active = self.shared.active.lock().clone();
        let mut health = PluginsHealth::default();
        for (id, digest) in &active {
            match self.state(id, digest) {
                PluginLoad::Ready => health.ready.push(id.clone()),
                PluginLoad::Compiling => health.compiling.push(id.clone()),
                PluginLoad::Failed(reason) => {
                    health.failed.push(FailedPlugin { plugin_id: id.clone(), reason });
                }
            }
        }
        (!active.is_empty()).then_some(health)
    }

    /// Returns `true` unless the components of the start are still compiled and their time has not passed.
    pub(crate) fn is_ready(&self) -> bool {
        let shared = &self.shared;
        let is_ready = shared.was_ready.load(Ordering::Relaxed)
            || !shared.components.is_compiling()
            || Instant::now() >= shared.ready_by;
        if is_ready {
            shared.was_ready.store(true, Ordering::Relaxed);
        }
        is_ready
    }
}
