//! A reload, and what outlives the actor that does it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_supervision::{ChildSpec, ExhaustedAction, Placement, RestartPolicy, SpawnError, Tree};
use arc_swap::{ArcSwap, Guard};
use futures_util::StreamExt;
use futures_util::future::join_all;
use slog::{Logger, info, warn};
use svc_store::StoredConnector;
use tokio::sync::Mutex;

use crate::drivers::{OpenPools, Spot};
use crate::handle::{ReloadError, Settings};
use crate::load::{self, LoadError, Prepared, Stage};
use crate::roster::Scope;
use crate::table::{Entry, Loaded, State, Table};

/// The roster's own place in the group.
pub(crate) const ROSTER: &str = "roster";
/// How long a connector that was changed or removed may finish what it began.
const DRAIN: Duration = Duration::from_secs(60);
/// Calls in flight of one connector.
const MAILBOX: usize = 4096;
/// Connectors loaded at the same time: a secret store may be slow.
const AT_ONCE: usize = 16;

/// What a load of a row came to.
type Load = Result<Prepared, LoadError>;

/// What outlives an instance of the roster.
pub(crate) struct Shared {
    table: ArcSwap<Table>,
    /// Held by the reload that publishes.
    turn: Mutex<()>,
    /// How many were begun.
    reloads: AtomicU64,
    tree: Tree,
    group: String,
    at: Placement,
    settings: Settings,
    pools: OpenPools,
    log: Logger,
}

impl Shared {
    pub(crate) fn new(tree: Tree, group: String, at: Placement, settings: Settings, log: Logger) -> Self {
        let pools = OpenPools::new(settings.max_pools);
        Self {
            table: ArcSwap::default(),
            turn: Mutex::new(()),
            reloads: AtomicU64::new(0),
            tree,
            group,
            at,
            settings,
            pools,
            log,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn table(&self) -> Guard<Arc<Table>> {
        self.table.load()
    }

    /// Brings what runs in line with what is stored. Answers the actors that are to be retired.
    ///
    /// Secrets are read before it is this reload's turn: a store of them may be slow, and is to hold up nobody who does not need
    /// it. A later reload may overtake this one then; what that has published stays.
    pub(crate) async fn reload(&self, scope: &Scope) -> Result<Vec<String>, ReloadError> {
        let number = self.reloads.fetch_add(1, Ordering::Relaxed);
        let id = match scope {
            Scope::All => None,
            Scope::One(id) => Some(id.as_str()),
        };
        let connectors = self.settings.store.connectors();
        let read = self.read(connectors.stored(id).await?).await;
        let _turn = self.turn.lock().await;
        // What was removed meanwhile does not come back.
        let rows = connectors.stored(id).await?;
        let before = self.table.load_full();
        let mut next = (*before).clone();
        let stored: HashSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let looked_at = |entry: &Entry| id.is_none_or(|id| *entry.id == *id);
        for gone in before.entries().filter(|entry| looked_at(entry) && !stored.contains(&*entry.id)) {
            next.remove(&gone.id);
            self.settings.tokens.forget(&gone.name);
        }
        let due = read.into_iter().filter(|(row, _)| {
            let overtaken = before.by_id(&row.id).is_some_and(|entry| entry.reload > number);
            stored.contains(row.id.as_str()) && !overtaken
        });
        for (row, loaded) in due {
            let kept = match scope {
                Scope::All => before.by_id(&row.id).map(|entry| &entry.state),
                Scope::One(_) => None,
            };
            let state = self.state(&row, loaded, kept).await;
            next.put(Entry { id: row.id.into(), name: row.name.into(), state, reload: number });
        }
        Ok(self.publish(&before, next))
    }

    /// What a reload had started when it crashed: nobody can find it.
    pub(crate) async fn orphans(&self) -> Vec<String> {
        let _turn = self.turn.lock().await;
        let table = self.table();
        let used: HashSet<&str> = table.entries().filter_map(|entry| path(entry)).collect();
        let below = format!("{}/", self.group);
        let roster = format!("{below}{ROSTER}");
        let nodes = self.tree.snapshot().nodes.into_iter().map(|node| node.path.as_str().to_owned());
        let ours = nodes.filter(|path| path.starts_with(&below) && *path != roster);
        ours.filter(|path| !used.contains(path.as_str())).collect()
    }

    /// Drains actors that nobody finds any more. What is gone already needs nothing.
    pub(crate) async fn retire(&self, paths: &[String]) {
        join_all(paths.iter().map(|path| self.tree.retire(path, DRAIN))).await;
    }

    /// Loads rows; `None` for one that is switched off.
    async fn read(&self, rows: Vec<StoredConnector>) -> Vec<(StoredConnector, Option<Load>)> {
        let loads = futures_util::stream::iter(rows).map(async |row| {
            let loaded = match row.enabled {
                true => Some(load::load(&row, self.settings.lookup(), &self.settings.secrets).await),
                false => None,
            };
            (row, loaded)
        });
        loads.buffer_unordered(AT_ONCE).collect().await
    }

    /// What becomes of a row: of its load, and of what runs `before`, if that may go on.
    async fn state(&self, row: &StoredConnector, loaded: Option<Load>, before: Option<&State>) -> State {
        let state = match (loaded, before) {
            (None, _) => State::Disabled,
            (Some(Ok(prepared)), Some(State::Loaded(before))) if before.digest == prepared.digest => {
                State::Loaded(Arc::clone(before))
            }
            (Some(Ok(prepared)), _) => match self.start(row, prepared).await {
                Ok(loaded) => State::Loaded(Arc::new(loaded)),
                Err(error) => State::Failed(LoadError::new(Stage::Deserialize, error)),
            },
            (Some(Err(error)), _) => State::Failed(error),
        };
        if let State::Failed(error) = &state {
            warn!(self.log, "a connector cannot be loaded"; "connector" => &row.name,
                "stage" => error.stage.name(), "reason" => &error.reason);
        }
        state
    }

    /// Starts a connector's actor, beside an older one if there is one.
    async fn start(&self, row: &StoredConnector, prepared: Prepared) -> Result<Loaded, SpawnError> {
        let Prepared { settings, digest } = prepared;
        let StoredConnector { id, name, .. } = row;
        let mut path = format!("{}/{id}", self.group);
        for next in 2_u64.. {
            let spot = Spot {
                tree: &self.tree,
                path: &path,
                name,
                spec: ChildSpec::new().mailbox(MAILBOX).drain_deadline(DRAIN).policy(budget()),
                at: self.at.clone(),
                with: &self.settings,
                pools: &self.pools,
                log: &self.log,
            };
            match settings.start(spot).await {
                Err(SpawnError::Duplicate { .. }) => path = format!("{}/{id}~{next}", self.group),
                Err(error) => return Err(error),
                Ok(driver) => return Ok(Loaded { path, digest, driver }),
            }
        }
        Err(SpawnError::Duplicate { path })
    }

    /// Lets calls find the new table. Answers the actors that it no longer has.
    fn publish(&self, before: &Table, next: Table) -> Vec<String> {
        let used: HashSet<&str> = next.entries().filter_map(|entry| path(entry)).collect();
        let retired: Vec<String> = before
            .entries()
            .filter_map(|entry| path(entry))
            .filter(|path| !used.contains(path))
            .map(str::to_owned)
            .collect();
        drop(used);
        let (loaded, failed) = next.entries().fold((0, 0), |(loaded, failed), entry| match entry.state {
            State::Loaded(_) => (loaded + 1, failed),
            State::Failed(_) => (loaded, failed + 1),
            State::Disabled => (loaded, failed),
        });
        self.table.store(Arc::new(next));
        info!(self.log, "connectors loaded"; "loaded" => loaded, "failed" => failed, "retired" => retired.len());
        retired
    }
}

/// A connector that keeps failing is put aside, the others serve.
fn budget() -> RestartPolicy {
    RestartPolicy { exhausted: ExhaustedAction::Quarantine, ..RestartPolicy::default() }
}

fn path(entry: &Entry) -> Option<&str> {
    match &entry.state {
        State::Loaded(loaded) => Some(&loaded.path),
        _ => None,
    }
}
