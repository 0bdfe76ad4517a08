//! The handle of the connectors.

use std::fmt;
use std::sync::Arc;

use actix_supervision::{Address, ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use serde_json::Value;
use slog::Logger;
use svc_credentials::tokens::TokenStatus;
use svc_store::StoredConnector;

use crate::breaker::{BreakerState, ConnectorBreaker, HostBreaker};
use crate::call_log::RecordedCall;
use crate::directory::ConnectorDirectory;
use crate::drivers::http::HttpDriver;
use crate::error::{ConnectorReloadError, LoadError};
use crate::functions::NO_CHANNEL;
use crate::inspection::{self, UnresolvedText};
use crate::metrics::ConnectorMetrics;
use crate::probe::ConnectorProbe;
use crate::reconciler::{ProbeConnector, RECONCILER, Reconciler, ReconcilerShared, ReloadConnectors};
use crate::scope::ConnectorScope;
use crate::settings::Settings;
use crate::table::{ConnectorState, LoadStatus};

/// The connectors of a service. Cheap to clone; survives restarts of every actor.
#[derive(Clone)]
pub struct Connectors {
    shared: Arc<ReconcilerShared>,
    reconciler: Address<Reconciler>,
    directory: ConnectorDirectory,
}

impl Connectors {
    /// Adds the group and its reconciler to a tree, at `path`. Nothing is loaded before the first
    /// [`reload`](Self::reload). The runtime of `at` drives the connections, so it must last as long as the
    /// group.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken, or the placement is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        settings: Settings,
        metrics: ConnectorMetrics,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        tree.add_group(path, GroupSpec::new()).await?;
        let directory = ConnectorDirectory::new(settings.breakers, metrics);
        let needs = settings.needs.clone();
        let shared = Arc::new(ReconcilerShared::new(
            directory.clone(),
            tree.clone(),
            path.to_owned(),
            at.clone(),
            settings,
            log,
        ));
        let spec = ChildSpec::new().needs([needs]);
        let for_reconciler = Arc::clone(&shared);
        let factory = move |_| {
            let reconciler = Reconciler::new(Arc::clone(&for_reconciler));
            std::future::ready(Ok::<_, actix_supervision::StartError>(reconciler))
        };
        let reconciler = tree.spawn(&format!("{path}/{RECONCILER}"), spec, at, factory).await?;
        Ok(Self { shared, reconciler, directory })
    }

    /// Brings the running connectors in line with the stored ones. The failed load of a connector is no
    /// error.
    ///
    /// # Errors
    /// [`ConnectorReloadError`] if nothing changed.
    pub async fn reload(&self, scope: ConnectorScope) -> Result<(), ConnectorReloadError> {
        let call = self.reconciler.call(ReloadConnectors(scope)).await;
        call.unwrap_or_else(|error| Err(ConnectorReloadError::Unavailable(error.to_string())))
    }

    /// Returns the load status of every connector, ordered by name.
    pub fn statuses(&self) -> Vec<LoadStatus> {
        let table = self.directory.table();
        let mut statuses: Vec<_> = table.entries().map(|entry| LoadStatus::from(&**entry)).collect();
        statuses.sort_by(|one, other| one.name.cmp(&other.name));
        statuses
    }

    /// Returns the load status of a connector; `None` for one that no load has seen.
    pub fn status(&self, id: &str) -> Option<LoadStatus> {
        self.directory.table().by_id(id).map(|entry| LoadStatus::from(&**entry))
    }

    /// Returns true if a connector is not in use because the secret store could not be read.
    pub fn lacks_secrets(&self, name: &str) -> bool {
        let table = self.directory.table();
        let state = table.by_name(name).map(|entry| &entry.state);
        matches!(state, Some(ConnectorState::Failed(error)) if error.is_unread)
    }

    /// Returns the connectors in use, as task functions see them.
    pub fn directory(&self) -> &ConnectorDirectory {
        &self.directory
    }

    /// Tries out a stored connector, loaded anew, whether it is in use or not.
    ///
    /// # Errors
    /// [`ConnectorReloadError::Unavailable`] if the reconciler does not answer.
    pub async fn probe(&self, row: StoredConnector) -> Result<ConnectorProbe, ConnectorReloadError> {
        self.reconciler
            .call(ProbeConnector(row))
            .await
            .map_err(|error| ConnectorReloadError::Unavailable(error.to_string()))
    }

    /// Returns the texts of a config whose placeholders or references have no value now.
    pub async fn unresolved_texts(&self, config: &Value) -> Vec<UnresolvedText> {
        let settings = self.shared.settings();
        inspection::unresolved_texts(config, &settings.environment, &settings.secrets).await
    }

    /// Returns the reason why a connector of this type and config would not load in this process now.
    pub async fn unusable(&self, connector_type: &str, config: &Value) -> Option<LoadError> {
        inspection::unusable(connector_type, config, self.shared.settings()).await
    }

    /// The breakers by their keys, `{channel}:{connector}`; `None` if there are none.
    pub fn breakers(&self) -> Option<Vec<(String, BreakerState)>> {
        self.directory.breakers().list()
    }

    /// Returns the breakers of a connector; none if breakers are off.
    pub fn breakers_of(&self, connector: &str) -> Vec<ConnectorBreaker> {
        self.directory.breakers().list_for_connector(connector)
    }

    /// Returns the breakers of hosts whose addresses messages compute, but for the closed ones, by connector and host.
    pub fn failing_hosts(&self) -> Vec<HostBreaker> {
        let mut failing = Vec::new();
        for entry in self.directory.table().entries() {
            let ConnectorState::Loaded(loaded) = &entry.state else { continue };
            if let Some(driver) = loaded.driver::<HttpDriver>() {
                failing.extend(driver.hosts.list_failing());
            }
        }
        failing.sort_by(|one, other| (&one.connector, &one.host).cmp(&(&other.connector, &other.host)));
        failing
    }

    /// Returns the last calls of a connector on this node, the newest first.
    pub fn last_calls(&self, connector: &str) -> Vec<RecordedCall> {
        self.directory.calls().list(connector)
    }

    /// Returns the token of a connector on this node; `None` for one that uses none.
    pub fn token_status(&self, connector: &str) -> Option<TokenStatus> {
        self.shared.settings().tokens.status(connector)
    }

    /// Returns the path of the actor of a connector; `None` for one that is not in use.
    pub fn actor_path(&self, id: &str) -> Option<String> {
        match &self.directory.table().by_id(id)?.state {
            ConnectorState::Loaded(loaded) => Some(loaded.path.clone()),
            ConnectorState::Failed(_) | ConnectorState::Disabled => None,
        }
    }

    /// Closes a breaker; `false` if there is none of that key.
    pub fn reset_breaker(&self, key: &str) -> bool {
        self.directory.breakers().reset(key)
    }

    /// Drops the breakers and the metrics of channels that are not served any more. Those of runs without a channel
    /// stay.
    pub fn retain_channels(&self, serves: impl Fn(&str) -> bool) {
        let is_kept = |channel: &str| channel == NO_CHANNEL || serves(channel);
        self.directory.breakers().retain_channels(is_kept);
        self.directory.metrics().retain_channels(is_kept);
    }
}

impl fmt::Debug for Connectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connectors").field("statuses", &self.statuses()).finish_non_exhaustive()
    }
}
