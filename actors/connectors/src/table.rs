//! The table of all connectors, by id and by name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::driver::{Driver, ResolvedSettings, RunningDriver};
use crate::error::LoadError;

/// A stored connector and the result of its last load.
#[derive(Clone)]
pub(crate) struct ConnectorEntry {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) state: ConnectorState,
    /// Number of the reload that made the entry; later reloads have higher numbers.
    pub(crate) reload: u64,
}

/// The result of the last load of a connector.
#[derive(Clone)]
pub(crate) enum ConnectorState {
    Loaded(Arc<LoadedConnector>),
    Failed(LoadError),
    Disabled,
}

/// A connector in use.
pub(crate) struct LoadedConnector {
    /// Path of its actor.
    pub(crate) path: String,
    /// Digest of the settings and secrets it was made of.
    pub(crate) digest: [u8; 32],
    pub(crate) settings: Arc<dyn ResolvedSettings>,
    pub(crate) driver: RunningDriver,
}

impl LoadedConnector {
    /// Returns the driver if it is of this type.
    pub(crate) fn driver<D: Driver>(&self) -> Option<&D> {
        self.driver.downcast_ref()
    }
}

/// Every stored connector.
#[derive(Clone, Default)]
pub(crate) struct ConnectorTable {
    by_id: HashMap<Arc<str>, Arc<ConnectorEntry>>,
    by_name: HashMap<Arc<str>, Arc<ConnectorEntry>>,
}

impl ConnectorTable {
    pub(crate) fn by_id(&self, id: &str) -> Option<&Arc<ConnectorEntry>> {
        self.by_id.get(id)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<ConnectorEntry>> {
        self.by_name.get(name)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<ConnectorEntry>> {
        self.by_id.values()
    }

    pub(crate) fn put(&mut self, entry: ConnectorEntry) {
        self.remove(&entry.id.clone());
        let entry = Arc::new(entry);
        self.by_name.insert(Arc::clone(&entry.name), Arc::clone(&entry));
        self.by_id.insert(Arc::clone(&entry.id), entry);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        let Some(gone) = self.by_id.remove(id) else { return };
        // Another connector may have taken the name since.
        if self.by_name.get(&gone.name).is_some_and(|entry| *entry.id == *id) {
            self.by_name.remove(&gone.name);
        }
    }
}

/// The result of a connector's last load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadState {
    /// In use.
    Loaded,
    /// Not in use, for this reason.
    Failed(LoadError),
    /// Switched off.
    Disabled,
}

impl LoadState {
    /// Returns the name that answers show.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Failed(_) => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// The load status of one connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStatus {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// The result of its last load.
    pub state: LoadState,
}

impl From<&ConnectorEntry> for LoadStatus {
    fn from(entry: &ConnectorEntry) -> Self {
        let state = match &entry.state {
            ConnectorState::Loaded(_) => LoadState::Loaded,
            ConnectorState::Failed(error) => LoadState::Failed(error.clone()),
            ConnectorState::Disabled => LoadState::Disabled,
        };
        Self { id: Arc::clone(&entry.id), name: Arc::clone(&entry.name), state }
    }
}
