//! What everyone else holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Address, ChildSpec, GroupSpec, Placement, SpawnError, Tree};
use serde_json::Value;
use slog::Logger;
use svc_model::ServiceError;
use svc_outbound::Outbound;
use svc_secrets::Keyring;
use svc_store::{Store, StoreError, StoredConnector};
use svc_tokens::Tokens;

use crate::breaker::{BreakerSettings, BreakerState, Breakers};
use crate::drivers::Driver;
use crate::load::{LoadError, Lookup};
use crate::metrics::ConnectorMetrics;
use crate::probe::{self, Probe, Unresolved};
use crate::roster::{Ask, ROSTER, Reload, Roster, Scope, Shared};
use crate::table::{LoadStatus, Loaded, State};

/// What connectors are made with.
#[derive(Clone)]
pub struct Settings {
    /// Where they are stored.
    pub store: Store,
    /// Path of the store's node, which loads need.
    pub needs: String,
    /// Where references are read.
    pub secrets: Keyring,
    /// What placeholders are looked up in.
    pub environment: Lookup,
    /// Whose clients go out.
    pub outbound: Outbound,
    /// Where tokens for APIs come from.
    pub tokens: Tokens,
    /// When calls are held back; `None` for never.
    pub breakers: Option<BreakerSettings>,
    /// Pools of connections open at once; beyond it the least recently used is closed until it is needed again.
    pub max_pools: usize,
    /// What caches in memory may hold.
    pub memory_cache: MemoryCacheSettings,
    /// The server's own Kafka cluster; `None` where Kafka is off.
    pub kafka: Option<KafkaCluster>,
}

/// A Kafka cluster, and how this service speaks to brokers.
#[derive(Clone)]
pub struct KafkaCluster {
    /// `host:port` each, for connectors that name none of their own.
    pub brokers: Vec<String>,
    /// Properties of the client by their names, the last one of a name wins. Credentials among them go to these brokers
    /// alone; the others are for every connector.
    pub properties: Vec<(String, String)>,
}

/// Without the values of properties: there are passwords among them.
impl fmt::Debug for KafkaCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.properties.iter().map(|(name, _)| name).collect();
        f.debug_struct("KafkaCluster").field("brokers", &self.brokers).field("properties", &names).finish()
    }
}

/// What caches in memory may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCacheSettings {
    /// Entries of one connector.
    pub max_entries: usize,
    /// How often entries that have expired are removed.
    pub cleanup_interval: Duration,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("breakers", &self.breakers).finish_non_exhaustive()
    }
}

/// Why connectors are as they were before.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReloadError {
    /// What is stored could not be read.
    #[error("the stored connectors could not be read: {0}")]
    Storage(#[from] StoreError),
    /// The roster could not be asked: it restarts, or the service is ending.
    #[error("the roster of connectors is not available: {0}")]
    Unavailable(String),
}

impl From<ReloadError> for ServiceError {
    fn from(error: ReloadError) -> Self {
        match error {
            ReloadError::Storage(error) => error.into(),
            ReloadError::Unavailable(why) => Self::unavailable("The roster of connectors is restarting")
                .with_retry_after(1)
                .with_internal(why),
        }
    }
}

/// The connectors of a service. Cheap to clone; survives restarts of every actor.
#[derive(Clone)]
pub struct Connectors {
    shared: Arc<Shared>,
    roster: Address<Roster>,
    breakers: Arc<Breakers>,
    metrics: ConnectorMetrics,
}

/// Why a connector cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLoaded {
    /// Nothing has this name.
    #[error("connector '{0}' does not exist; create it, or correct its name in the task")]
    Unknown(String),
    /// It is switched off.
    #[error("connector '{0}' is disabled; set its `enabled` to true")]
    Disabled(String),
    /// Its load failed.
    #[error("connector '{0}' is not loaded: its `load_error` in GET /api/v1/admin/connectors has the reason")]
    Failed(String, String),
}

impl Connectors {
    /// Adds the group to a tree, at `path`, and its roster. Nothing is loaded before the first
    /// [`reload`](Self::reload). `at` must be a place on a runtime that drives connections.
    ///
    /// # Errors
    /// The path is taken, or the place is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        settings: Settings,
        metrics: ConnectorMetrics,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        tree.add_group(path, GroupSpec::new()).await?;
        let breakers = Arc::new(Breakers::new(settings.breakers));
        let needs = settings.needs.clone();
        let shared = Arc::new(Shared::new(tree.clone(), path.to_owned(), at.clone(), settings, log));
        let spec = ChildSpec::new().needs([needs]);
        let of_roster = Arc::clone(&shared);
        let factory = move |_| {
            let roster = Roster::new(Arc::clone(&of_roster));
            std::future::ready(Ok::<_, actix_supervision::StartError>(roster))
        };
        let roster = tree.spawn(&format!("{path}/{ROSTER}"), spec, at, factory).await?;
        Ok(Self { shared, roster, breakers, metrics })
    }

    /// Brings what runs in line with what is stored. That single connectors cannot be loaded is no error.
    ///
    /// # Errors
    /// Why nothing changed.
    pub async fn reload(&self, scope: Scope) -> Result<(), ReloadError> {
        let call = self.roster.call(Reload(scope)).await;
        call.unwrap_or_else(|error| Err(ReloadError::Unavailable(error.to_string())))
    }

    /// What the last load of each connector came to, by name.
    pub fn statuses(&self) -> Vec<LoadStatus> {
        let table = self.shared.table();
        let mut statuses: Vec<_> = table.entries().map(|entry| LoadStatus::from(&**entry)).collect();
        statuses.sort_by(|one, other| one.name.cmp(&other.name));
        statuses
    }

    /// What the last load of a connector came to; `None` for one that no load has seen.
    pub fn status(&self, id: &str) -> Option<LoadStatus> {
        self.shared.table().by_id(id).map(|entry| LoadStatus::from(&**entry))
    }

    /// Whether a connector is not in use because the secret store could not be read.
    pub fn lacks_secrets(&self, name: &str) -> bool {
        let table = self.shared.table();
        let state = table.by_name(name).map(|entry| &entry.state);
        matches!(state, Some(State::Failed(error)) if error.is_unread)
    }

    /// Whether a database connector leads to MongoDB; `None` for one that is not in use, or is no database.
    pub fn is_mongodb(&self, name: &str) -> Option<bool> {
        match self.find(name).ok()?.driver {
            Driver::Mongo(_) => Some(true),
            Driver::Sql(_) => Some(false),
            _ => None,
        }
    }

    /// Tells whether a Kafka connector names a topic for tasks that name none; `None` for one that is not in use, or of
    /// another type.
    pub fn names_topic(&self, name: &str) -> Option<bool> {
        match &self.find(name).ok()?.driver {
            Driver::Kafka(kafka) => Some(kafka.settings.topic.is_some()),
            _ => None,
        }
    }

    /// Tries a stored connector out, loaded afresh, whether it is in use or not.
    ///
    /// # Errors
    /// The roster cannot be asked.
    pub async fn probe(&self, row: StoredConnector) -> Result<Probe, ReloadError> {
        self.roster.call(Ask(row)).await.map_err(|error| ReloadError::Unavailable(error.to_string()))
    }

    /// The texts of a config whose placeholders or references have no value now.
    pub async fn unresolved(&self, config: &Value) -> Vec<Unresolved> {
        let settings = self.shared.settings();
        probe::unresolved(config, settings.lookup(), &settings.secrets).await
    }

    /// Why connectors of this type and config would not load here and now; nothing where they would.
    pub async fn unusable(&self, connector_type: &str, config: &Value) -> Option<LoadError> {
        probe::unusable(connector_type, config, self.shared.settings()).await
    }

    /// The breakers by their keys, `{channel}:{connector}`; `None` where there are none.
    pub fn breakers(&self) -> Option<Vec<(String, BreakerState)>> {
        self.breakers.list()
    }

    /// Closes a breaker; `false` if there is none of that key.
    pub fn reset_breaker(&self, key: &str) -> bool {
        self.breakers.reset(key)
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Loaded>, NotLoaded> {
        let table = self.shared.table();
        match table.by_name(name).map(|entry| &entry.state) {
            Some(State::Loaded(loaded)) => Ok(Arc::clone(loaded)),
            Some(State::Disabled) => Err(NotLoaded::Disabled(name.to_owned())),
            Some(State::Failed(error)) => Err(NotLoaded::Failed(name.to_owned(), error.to_string())),
            None => Err(NotLoaded::Unknown(name.to_owned())),
        }
    }

    pub(crate) fn guard(&self) -> &Breakers {
        &self.breakers
    }

    pub(crate) fn metrics(&self) -> &ConnectorMetrics {
        &self.metrics
    }
}

impl fmt::Debug for Connectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connectors").field("statuses", &self.statuses()).finish_non_exhaustive()
    }
}

impl Settings {
    pub(crate) fn lookup(&self) -> &Lookup {
        &self.environment
    }
}
