//! The state that outlives an instance of the reconciler, and the reload over it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_supervision::{ChildSpec, ExhaustedAction, Placement, RestartPolicy, SpawnError, Tree};
use arc_swap::Guard;
use futures_util::StreamExt;
use futures_util::future::join_all;
use slog::{Logger, info, warn};
use svc_store::StoredConnector;
use tokio::sync::Mutex;

use crate::directory::ConnectorDirectory;
use crate::driver::SpawnContext;
use crate::drivers::pool::OpenPools;
use crate::error::{ConnectorReloadError, LoadError, LoadStage};
use crate::load::{self, ResolvedConnector};
use crate::scope::ConnectorScope;
use crate::settings::Settings;
use crate::table::{ConnectorEntry, ConnectorState, ConnectorTable, LoadedConnector};

/// Name of the reconciler's node in the group.
pub(crate) const RECONCILER: &str = "reconciler";
/// Time in which a connector that was changed or removed may finish its calls.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Most calls of one connector in flight.
const MAILBOX: usize = 4096;
/// Most connectors loaded at the same time: a secret store may be slow.
const MAX_CONCURRENT_LOADS: usize = 16;

/// The result of loading a row.
type LoadResult = Result<ResolvedConnector, LoadError>;

/// The state that outlives an instance of the reconciler.
pub(crate) struct ReconcilerShared {
    directory: ConnectorDirectory,
    /// Held by the reload that publishes.
    publication: Mutex<()>,
    /// Number of reloads begun.
    reloads: AtomicU64,
    tree: Tree,
    group: String,
    placement: Placement,
    settings: Settings,
    pools: OpenPools,
    log: Logger,
}

impl ReconcilerShared {
    pub(crate) fn new(
        directory: ConnectorDirectory,
        tree: Tree,
        group: String,
        placement: Placement,
        settings: Settings,
        log: Logger,
    ) -> Self {
        let pools = OpenPools::new(settings.max_pools);
        Self {
            directory,
            publication: Mutex::new(()),
            reloads: AtomicU64::new(0),
            tree,
            group,
            placement,
            settings,
            pools,
            log,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn table(&self) -> Guard<Arc<ConnectorTable>> {
        self.directory.table()
    }

    /// Brings the running connectors in line with the stored ones. Returns the paths of the actors to retire.
    ///
    /// Secrets are read before this reload waits for its turn to publish: a secret store may be slow, and
    /// must not delay reloads that do not need it. A later reload may overtake this one; what that one has
    /// published stays.
    pub(crate) async fn reload(&self, scope: &ConnectorScope) -> Result<Vec<String>, ConnectorReloadError> {
        let number = self.reloads.fetch_add(1, Ordering::Relaxed);
        let id = match scope {
            ConnectorScope::All => None,
            ConnectorScope::One(id) => Some(id.as_str()),
        };
        let connectors = self.settings.store.connectors();
        let read = self.read(connectors.list_stored(id).await?).await;
        let _publication = self.publication.lock().await;
        // A connector that was removed meanwhile does not come back.
        let rows = connectors.list_stored(id).await?;
        let before = Arc::clone(&self.table());
        let mut next = (*before).clone();
        let stored: HashSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let looked_at = |entry: &ConnectorEntry| id.is_none_or(|id| *entry.id == *id);
        for gone in before.entries().filter(|entry| looked_at(entry) && !stored.contains(&*entry.id)) {
            next.remove(&gone.id);
            self.settings.tokens.forget(&gone.name);
            self.directory.calls().forget(&gone.name);
        }
        let due = read.into_iter().filter(|(row, _)| {
            let overtaken = before.by_id(&row.id).is_some_and(|entry| entry.reload > number);
            stored.contains(row.id.as_str()) && !overtaken
        });
        for (row, loaded) in due {
            let previous = match scope {
                ConnectorScope::All => before.by_id(&row.id).map(|entry| &entry.state),
                ConnectorScope::One(_) => None,
            };
            let state = self.state(&row, loaded, previous).await;
            next.put(ConnectorEntry { id: row.id.into(), name: row.name.into(), state, reload: number });
        }
        Ok(self.publish(&before, next))
    }

    /// Returns the paths of actors that a crashed reload had started and not published.
    pub(crate) async fn orphans(&self) -> Vec<String> {
        let _publication = self.publication.lock().await;
        let table = self.table();
        let used: HashSet<&str> = table.entries().filter_map(|entry| path(entry)).collect();
        let below = format!("{}/", self.group);
        let reconciler = format!("{below}{RECONCILER}");
        let nodes = self.tree.snapshot().nodes.into_iter().map(|node| node.path.as_str().to_owned());
        let ours = nodes.filter(|path| path.starts_with(&below) && *path != reconciler);
        ours.filter(|path| !used.contains(path.as_str())).collect()
    }

    /// Drains actors that the table no longer names. One that is gone already is skipped.
    pub(crate) async fn retire(&self, paths: &[String]) {
        join_all(paths.iter().map(|path| self.tree.retire(path, DRAIN_TIMEOUT))).await;
    }

    /// Loads rows; the result is `None` for a connector that is switched off.
    async fn read(&self, rows: Vec<StoredConnector>) -> Vec<(StoredConnector, Option<LoadResult>)> {
        let loads = futures_util::stream::iter(rows).map(async |row| {
            let loaded = match row.enabled {
                true => Some(load::load(&row, &self.settings).await),
                false => None,
            };
            (row, loaded)
        });
        loads.buffer_unordered(MAX_CONCURRENT_LOADS).collect().await
    }

    /// Returns the new state of a row from its load. `before` is the running connector that may go on with
    /// the same settings.
    async fn state(
        &self,
        row: &StoredConnector,
        loaded: Option<LoadResult>,
        before: Option<&ConnectorState>,
    ) -> ConnectorState {
        let state = match (loaded, before) {
            (None, _) => ConnectorState::Disabled,
            (Some(Ok(resolved)), Some(ConnectorState::Loaded(before)))
                if before.digest == resolved.digest =>
            {
                ConnectorState::Loaded(Arc::clone(before))
            }
            (Some(Ok(resolved)), _) => match self.start(row, resolved).await {
                Ok(loaded) => ConnectorState::Loaded(Arc::new(loaded)),
                Err(error) => ConnectorState::Failed(LoadError::new(LoadStage::Deserialize, error)),
            },
            (Some(Err(error)), _) => ConnectorState::Failed(error),
        };
        if let ConnectorState::Failed(error) = &state {
            warn!(self.log, "connector load failed"; "connector" => &row.name,
                "stage" => error.stage.name(), "reason" => &error.reason);
        }
        state
    }

    /// Starts the actor of a connector, next to an older one if there is one.
    async fn start(
        &self,
        row: &StoredConnector,
        resolved: ResolvedConnector,
    ) -> Result<LoadedConnector, SpawnError> {
        let ResolvedConnector { settings, digest } = resolved;
        let StoredConnector { id, name, .. } = row;
        let mut path = format!("{}/{id}", self.group);
        for next in 2_u64.. {
            let context = SpawnContext {
                tree: &self.tree,
                path: &path,
                name,
                spec: ChildSpec::new()
                    .mailbox(MAILBOX)
                    .drain_deadline(DRAIN_TIMEOUT)
                    .policy(restart_policy()),
                placement: self.placement.clone(),
                settings: &self.settings,
                pools: &self.pools,
                log: &self.log,
            };
            match Arc::clone(&settings).spawn(context).await {
                Err(SpawnError::Duplicate { .. }) => path = format!("{}/{id}~{next}", self.group),
                Err(error) => return Err(error),
                Ok(driver) => return Ok(LoadedConnector { path, digest, settings, driver }),
            }
        }
        Err(SpawnError::Duplicate { path })
    }

    /// Publishes the new table. Returns the paths of the actors that it no longer names.
    fn publish(&self, before: &ConnectorTable, next: ConnectorTable) -> Vec<String> {
        let used: HashSet<&str> = next.entries().filter_map(|entry| path(entry)).collect();
        let retired: Vec<String> = before
            .entries()
            .filter_map(|entry| path(entry))
            .filter(|path| !used.contains(path))
            .map(str::to_owned)
            .collect();
        drop(used);
        let changed: Vec<_> = before
            .entries()
            .filter(|entry| !next.by_id(&entry.id).is_some_and(|next| is_same_connector(entry, next)))
            .map(|entry| Arc::clone(&entry.name))
            .collect();
        let (loaded, failed) = next.entries().fold((0, 0), |(loaded, failed), entry| match entry.state {
            ConnectorState::Loaded(_) => (loaded + 1, failed),
            ConnectorState::Failed(_) => (loaded, failed + 1),
            ConnectorState::Disabled => (loaded, failed),
        });
        self.directory.publish(next);
        for name in changed {
            self.directory.breakers().forget_connector(&name);
        }
        let table = self.table();
        // A connector may have been renamed.
        for left in before.entries().filter(|entry| table.by_name(&entry.name).is_none()) {
            self.settings.tokens.forget(&left.name);
            self.directory.calls().forget(&left.name);
        }
        self.directory.metrics().retain_connectors(|name| table.by_name(name).is_some());
        info!(self.log, "connectors loaded"; "loaded" => loaded, "failed" => failed, "retired" => retired.len());
        retired
    }
}

/// Quarantines a connector that keeps crashing; the others go on serving.
fn restart_policy() -> RestartPolicy {
    RestartPolicy { exhausted: ExhaustedAction::Quarantine, ..RestartPolicy::default() }
}

/// Returns `true` if both entries are in use under one name with the same settings and secrets.
fn is_same_connector(before: &ConnectorEntry, next: &ConnectorEntry) -> bool {
    match (&before.state, &next.state) {
        (ConnectorState::Loaded(before), ConnectorState::Loaded(next)) => before.digest == next.digest,
        _ => false,
    }
}

fn path(entry: &ConnectorEntry) -> Option<&str> {
    match &entry.state {
        ConnectorState::Loaded(loaded) => Some(&loaded.path),
        _ => None,
    }
}
