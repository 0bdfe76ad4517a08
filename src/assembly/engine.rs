//! The engine, with the functions that workflows may name.

use std::sync::Arc;

use serde_json::Value;
use slog::Logger;
use svc_auth::KeySets;
use svc_channels::CacheNamespaces;
use svc_channels::call::{self, DirectoryHandle};
use svc_connectors::Connectors;
use svc_engine::catalogue::FunctionSource;
use svc_engine::{Engine, EngineBuilder, Function};
use svc_secrets::Keyring;
use svc_webhooks::WebhookHandle;

use crate::assembly::parts::connectors::call_settings;
use crate::assembly::settings::{call_limits, engine_limits, vars};
use crate::config::Config;
use crate::error::ServiceStartError;

/// Builds the engine without functions, which need services that start later.
pub(crate) async fn make_builder(
    config: &Config,
    keyring: &Keyring,
    log: &Logger,
) -> Result<EngineBuilder, ServiceStartError> {
    let readings = keyring.read_declared().await;
    let mut secrets: Vec<(&str, Value)> = Vec::new();
    let mut failed = Vec::new();
    for (name, value) in keyring.declared_values(&readings) {
        match value {
            Ok(secret) => secrets.push((name, secret.expose().into())),
            Err(error) => failed.push(format!("secret {name}: {error}")),
        }
    }
    if !failed.is_empty() {
        return Err(ServiceStartError::Config(failed.join("; ")));
    }
    Ok(Engine::builder()
        .vars(vars(config))
        .secrets(secrets)
        .limits(engine_limits(config))
        .logger(log.clone())
        .version(crate::VERSION))
}

/// The functions that workflows may name, by their origin.
pub(crate) struct Functions<'s> {
    pub(crate) config: &'s Config,
    pub(crate) connectors: &'s Connectors,
    pub(crate) webhooks: WebhookHandle,
    pub(crate) key_sets: Arc<dyn KeySets>,
    /// The namespaces of cached answers.
    pub(crate) namespaces: CacheNamespaces,
    /// Those of the embedding application.
    pub(crate) functions: Vec<Arc<dyn Function>>,
}

impl Functions<'_> {
    /// Builds the engine. Calls between channels find their channels once the registry has bound `calls`.
    ///
    /// # Errors
    /// [`ServiceStartError::Config`] for a function of the application that cannot be registered.
    pub(crate) fn register(
        self,
        engine: EngineBuilder,
        calls: &DirectoryHandle,
    ) -> Result<Arc<Engine>, ServiceStartError> {
        let engine = svc_functions::register(engine, self.key_sets, Arc::new(self.namespaces));
        let engine =
            svc_connectors::register(engine, self.connectors.directory(), call_settings(self.config));
        let engine = call::register(engine, calls.clone(), call_limits(self.config));
        let engine = svc_webhooks::register(engine, self.webhooks);
        Ok(Arc::new(register_plugins(engine, self.functions)?.build()))
    }
}

/// Registers the functions of the embedding application.
///
/// # Errors
/// [`ServiceStartError::Config`] for a function whose entry has another source than `plugin`, or the name of
/// another function.
fn register_plugins(
    mut engine: EngineBuilder,
    functions: Vec<Arc<dyn Function>>,
) -> Result<EngineBuilder, ServiceStartError> {
    for function in functions {
        let entry = function.entry();
        if entry.source != FunctionSource::Plugin {
            let reason =
                format!("the function \"{}\" of the application is not declared a plugin", entry.name);
            return Err(ServiceStartError::Config(reason));
        }
        if let Some(name) = entry.names().find(|name| engine.has_function(name)) {
            let reason =
                format!("the function \"{name}\" of the application has the name of another function");
            return Err(ServiceStartError::Config(reason));
        }
        engine = engine.function(function);
    }
    Ok(engine)
}
