//! Changes of the configuration: loaded here, and made known to the other processes. Orders to cancel arrive the same way.
//!
//! A change of this process is registered before it is committed and loaded by its author. The watcher of the epoch
//! loads those of other processes, and those whose author could not.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use svc_cluster::epoch::{ChangedEntities, ConfigApplier, EpochHandle, LocalChanges};
use svc_connectors::{ConnectorScope, Connectors};
use svc_cron::CronHandle;
use svc_registry::{Registry, ReloadError, ReloadReport, ReloadScope};
use svc_traces::Traces;

use crate::assembly::consumers::ConsumerLoader;
use crate::assembly::plugins::PluginLoader;

/// The watcher of the epoch, and the register of this process's own changes.
pub struct Propagation {
    /// The watcher.
    pub epoch: EpochHandle,
    pub(crate) local: LocalChanges,
}

/// The parts of the service that load stored definitions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DefinitionLoader {
    pub(crate) connectors: Connectors,
    pub(crate) consumers: ConsumerLoader,
    pub(crate) plugins: PluginLoader,
    pub(crate) registry: Registry,
}

impl DefinitionLoader {
    /// Loads definitions; a load of everything includes the connectors, the consumers and the plugins.
    pub(crate) async fn load(&self, scope: ReloadScope) -> Result<ReloadReport, ReloadError> {
        let (consumers, connectors) = match scope {
            ReloadScope::All => {
                // Before the workflows that call them.
                self.plugins.load().await.map_err(|error| ReloadError::Storage(error.into()))?;
                (self.consumers.load().await, self.connectors.reload(ConnectorScope::All).await)
            }
            ReloadScope::Changed { .. } => (Ok(()), Ok(())),
        };
        let report = self.registry.reload(scope).await?;
        self.connectors
            .retain_channels(|channel| self.registry.snapshot().channel_by_name(channel).is_some());
        consumers.map_err(|error| ReloadError::Storage(error.into()))?;
        connectors.map_err(|error| ReloadError::Unavailable(error.to_string()))?;
        Ok(report)
    }

    async fn load_changed(&self, changed: ChangedEntities) -> Result<(), String> {
        if changed.everything {
            return self.load(ReloadScope::All).await.map(drop).map_err(|error| error.to_string());
        }
        if changed.consumers {
            self.consumers.load().await.map_err(|error| error.to_string())?;
        }
        let connectors = match changed.all_connectors {
            true => vec![ConnectorScope::All],
            false => changed.connectors.into_iter().map(ConnectorScope::One).collect(),
        };
        for scope in connectors {
            self.connectors.reload(scope).await.map_err(|error| error.to_string())?;
        }
        let (workflows, channels): (Vec<_>, Vec<_>) =
            (changed.workflows.into_iter().collect(), changed.channels.into_iter().collect());
        if workflows.is_empty() && channels.is_empty() && !changed.pauses {
            return Ok(());
        }
        // Every load reads the pauses anew.
        let scope = ReloadScope::Changed { workflows, channels };
        self.load(scope).await.map(drop).map_err(|error| error.to_string())
    }
}

/// The parts of the service that what other processes write concerns.
struct NodeParts {
    loader: DefinitionLoader,
    traces: Traces,
    cron: Option<CronHandle>,
}

impl ConfigApplier for NodeParts {
    fn apply(&self, changed: ChangedEntities) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.loader.load_changed(changed))
    }

    fn reset_breaker(&self, key: &str) {
        self.loader.connectors.reset_breaker(key);
    }

    fn reset_all_breakers(&self) {
        let connectors = &self.loader.connectors;
        for (key, _) in connectors.breakers().into_iter().flatten() {
            connectors.reset_breaker(&key);
        }
    }

    fn look_for_cancels(&self) {
        self.traces.look_for_cancels();
        if let Some(cron) = &self.cron {
            cron.look_for_cancels();
        }
    }
}

/// Returns what the watcher applies changes to.
pub(crate) fn applier(
    loader: DefinitionLoader,
    traces: &Traces,
    cron: Option<&CronHandle>,
) -> Arc<dyn ConfigApplier> {
    Arc::new(NodeParts { loader, traces: traces.clone(), cron: cron.cloned() })
}
