//! The directory of the connectors in use, as task functions see it.

use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use svc_model::config::connector::DatabaseKind;

use crate::breaker::{BreakerSettings, Breakers};
use crate::call_log::CallLog;
use crate::error::NotLoaded;
use crate::metrics::ConnectorMetrics;
use crate::table::{ConnectorState, ConnectorTable, LoadedConnector};

/// The connectors in use, their breakers and the metrics of their calls. Cheap to clone. By default there are
/// none, and every call fails.
#[derive(Clone, Default)]
pub struct ConnectorDirectory {
    table: Arc<ArcSwap<ConnectorTable>>,
    breakers: Arc<Breakers>,
    calls: Arc<CallLog>,
    metrics: ConnectorMetrics,
}

impl ConnectorDirectory {
    pub(crate) fn new(breakers: Option<BreakerSettings>, metrics: ConnectorMetrics) -> Self {
        Self {
            table: Arc::default(),
            breakers: Arc::new(Breakers::new(breakers)),
            calls: Arc::default(),
            metrics,
        }
    }

    /// Returns true if a database connector leads to MongoDB; `None` for one that is not in use, or is no
    /// database.
    pub fn is_mongodb(&self, name: &str) -> Option<bool> {
        let database = self.find(name).ok()?.settings.database()?;
        Some(database == DatabaseKind::Mongo)
    }

    /// Returns true if a Kafka connector names a topic for tasks that name none; `None` for one that is not in
    /// use, or of another type.
    pub fn names_topic(&self, name: &str) -> Option<bool> {
        self.find(name).ok()?.settings.names_topic()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<LoadedConnector>, NotLoaded> {
        let table = self.table();
        match table.by_name(name).map(|entry| &entry.state) {
            Some(ConnectorState::Loaded(loaded)) => Ok(Arc::clone(loaded)),
            Some(ConnectorState::Disabled) => Err(NotLoaded::Disabled(name.to_owned())),
            Some(ConnectorState::Failed(error)) => Err(NotLoaded::Failed(name.to_owned(), error.to_string())),
            None => Err(NotLoaded::Unknown(name.to_owned())),
        }
    }

    pub(crate) fn table(&self) -> Guard<Arc<ConnectorTable>> {
        self.table.load()
    }

    /// Replaces the table. Only the reconciler does.
    pub(crate) fn publish(&self, next: ConnectorTable) {
        self.table.store(Arc::new(next));
    }

    pub(crate) fn breakers(&self) -> &Breakers {
        &self.breakers
    }

    pub(crate) fn calls(&self) -> &CallLog {
        &self.calls
    }

    pub(crate) fn metrics(&self) -> &ConnectorMetrics {
        &self.metrics
    }
}

impl fmt::Debug for ConnectorDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table();
        let mut names: Vec<&str> = table.entries().map(|entry| &*entry.name).collect();
        names.sort_unstable();
        f.debug_struct("ConnectorDirectory").field("names", &names).finish_non_exhaustive()
    }
}
