//! First phase of a reload: read what the scope names, build what changed, touch nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use svc_channels::{Definition, Toolbox};
use svc_engine::CompileError;
use svc_model::{Channel, ServiceError, Workflow};
use svc_store::Store;

use crate::compile::{self, compile};
use crate::filter::ChannelFilter;
use crate::scope::{ReloadError, Scope};
use crate::snapshot::{Entry, LoadedVersion, LoadedWorkflow, Snapshot};

/// More changed rows than this are read with everything else in one query.
const MANY: usize = 500;

/// Items built before other work of the thread gets its turn.
const BUILDS_PER_TURN: usize = 8;

/// What the second phase is to do.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Workflows with their new load; `None` for one no longer needed.
    pub(crate) workflows: Vec<(Arc<str>, Option<Arc<LoadedWorkflow>>)>,
    /// Channels to change.
    pub(crate) channels: Vec<(Arc<str>, Planned)>,
    /// Workflow versions compiled on the way.
    pub(crate) compiled: usize,
}

/// What becomes of one channel.
#[derive(Debug)]
pub(crate) enum Planned {
    Serve(Arc<Channel>, Arc<Definition>),
    Quarantine(Arc<Channel>, Arc<str>),
    Remove,
}

/// Reads and builds. Knows the configuration that serves only as `base`.
pub(crate) struct Loader<'l> {
    pub(crate) store: &'l Store,
    pub(crate) tools: &'l Toolbox,
    pub(crate) filter: &'l ChannelFilter,
    pub(crate) base: &'l Snapshot,
    /// Nothing serves yet: a duplicate task id quarantines instead of failing everything.
    pub(crate) boot: bool,
}

/// What a scope came down to.
#[derive(Default)]
struct Found {
    /// Rows to build, by channel id.
    rows: BTreeMap<String, Arc<Channel>>,
    /// Channels no longer active.
    gone: Vec<Arc<str>>,
    /// Workflows to read.
    workflows: BTreeSet<String>,
    /// Workflows read only because a channel begins to use them: a stored row that does not load costs that channel
    /// alone, not the reload.
    incidental: BTreeSet<String>,
}

impl Loader<'_> {
    /// Builds the plan of a scope. `users` are the channels that name a workflow of the scope.
    pub(crate) async fn plan(&self, scope: Scope, users: Vec<Arc<str>>) -> Result<Plan, ReloadError> {
        let retry = scope == Scope::All;
        let mut found = match scope {
            Scope::All => self.find_all().await?,
            Scope::Changed { workflows, channels } => self.find_changed(workflows, channels, users).await?,
        };
        let mut plan = Plan::default();
        let changed = self.load_workflows(&found, &mut plan).await?;
        let broken = self.broken(&found).await?;
        if retry {
            self.add_affected(&changed, &mut found);
        }
        plan.channels.extend(found.gone.into_iter().map(|id| (id, Planned::Remove)));
        for (count, (id, row)) in found.rows.into_iter().enumerate() {
            if count.is_multiple_of(BUILDS_PER_TURN) {
                tokio::task::yield_now().await;
            }
            let planned = match row.content.workflow_id.as_ref().and_then(|id| broken.get(id)) {
                Some(reason) if self.begins_to_use(&row) => {
                    Some(Planned::Quarantine(row, Arc::clone(reason)))
                }
                _ => self.build(row, &changed, retry),
            };
            plan.channels.extend(planned.map(|planned| (id.into(), planned)));
        }
        Ok(plan)
    }

    async fn find_changed(
        &self,
        workflows: Vec<String>,
        channels: Vec<String>,
        users: Vec<Arc<str>>,
    ) -> Result<Found, ReloadError> {
        let mut found = Found::default();
        if !channels.is_empty() {
            let rows = self.store.channels().active_of(&channels).await.map_err(storage)?;
            self.take(rows, &mut found);
        }
        let gone = channels.iter().filter(|id| !found.rows.contains_key(*id));
        found.gone = gone.filter_map(|id| Some(Arc::clone(&self.base.by_id(id)?.id))).collect();
        for id in users {
            if let Some(entry) =
                self.base.by_id(&id).filter(|_| !channels.iter().any(|changed| **changed == *id))
            {
                found.rows.entry(id.to_string()).or_insert_with(|| Arc::clone(&entry.row));
            }
        }
        let needed: BTreeSet<String> =
            found.rows.values().filter_map(|row| row.content.workflow_id.clone()).collect();
        let is_loaded = |id: &String| self.base.workflows.get(id.as_str()).is_some();
        found.workflows = workflows.into_iter().filter(|id| needed.contains(id) || is_loaded(id)).collect();
        found.incidental = needed.difference(&found.workflows).cloned().collect();
        found.workflows.extend(found.incidental.iter().filter(|id| !is_loaded(id)).cloned());
        Ok(found)
    }

    /// Compares whole rows, so that a row changed by hand is found too, whatever its marks say.
    async fn find_all(&self) -> Result<Found, ReloadError> {
        let mut found = Found::default();
        let stored = self.store.channels().active().await.map_err(storage)?;
        let active: HashSet<String> = stored.iter().map(|row| row.channel_id.clone()).collect();
        let is_changed =
            |row: &Channel| self.base.by_id(&row.channel_id).is_none_or(|entry| *entry.row != *row);
        self.take(stored.into_iter().filter(is_changed).collect(), &mut found);
        let gone = self.base.channels().filter(|entry| !active.contains(entry.id()));
        found.gone = gone.map(|entry| Arc::clone(&entry.id)).collect();

        // A workflow whose content is the one that was compiled is not compiled again.
        let kept = self.base.channels().filter(|entry| active.contains(entry.id())).map(|entry| &entry.row);
        let used = kept.chain(found.rows.values()).filter_map(|row| row.content.workflow_id.clone());
        found.workflows = used.collect();
        Ok(found)
    }

    /// Keeps the rows the filter lets in.
    fn take(&self, rows: Vec<Channel>, found: &mut Found) {
        let rows = rows.into_iter().filter(|row| self.filter.admits(&row.content.name));
        found.rows.extend(rows.map(|row| (row.channel_id.clone(), Arc::new(row))));
    }

    /// A reload of everything also builds what uses a changed workflow and tries again what is quarantined.
    fn add_affected(&self, changed: &HashMap<String, Option<Arc<LoadedWorkflow>>>, found: &mut Found) {
        let gone: HashSet<&str> = found.gone.iter().map(|id| &**id).collect();
        for entry in self.base.channels().filter(|entry| !gone.contains(entry.id())) {
            let workflow = entry.row.content.workflow_id.as_deref();
            if entry.quarantine().is_some() || workflow.is_some_and(|id| changed.contains_key(id)) {
                found.rows.entry(entry.id().to_owned()).or_insert_with(|| Arc::clone(&entry.row));
            }
        }
    }

    /// Reads and compiles workflows into the plan. Returns those that now run differently.
    async fn load_workflows(
        &self,
        found: &Found,
        plan: &mut Plan,
    ) -> Result<HashMap<String, Option<Arc<LoadedWorkflow>>>, ReloadError> {
        let ids = &found.workflows;
        let mut changed = HashMap::new();
        if ids.is_empty() {
            return Ok(changed);
        }
        let rows = if ids.len() > MANY {
            let rows = self.store.workflows().active().await.map_err(storage)?;
            rows.into_iter().filter(|row| ids.contains(&row.workflow_id)).collect()
        } else {
            let ids: Vec<String> = ids.iter().cloned().collect();
            self.store.workflows().active_of(&ids).await.map_err(storage)?
        };
        let mut by_id: BTreeMap<String, Vec<Workflow>> = BTreeMap::new();
        for row in rows {
            by_id.entry(row.workflow_id.clone()).or_default().push(row);
        }
        for id in ids {
            let old = self.base.workflows.get(id.as_str());
            let loaded = match by_id.remove(id) {
                Some(rows) => {
                    let whole = !self.boot && !found.incidental.contains(id);
                    Some(Arc::new(self.load(rows, old.map(Arc::as_ref), whole, &mut plan.compiled).await?))
                }
                None => None,
            };
            let same = match (&loaded, old) {
                (Some(new), Some(old)) => new.runs_as(old),
                (new, old) => new.is_none() && old.is_none(),
            };
            if !same {
                changed.insert(id.clone(), loaded.clone());
            }
            plan.workflows.push((id.as_str().into(), loaded));
        }
        Ok(changed)
    }

    /// Compiles the active versions of one workflow, newest first; what was compiled before is taken over. A duplicate
    /// task id fails the reload as a `whole`, or else counts as a version that does not compile.
    async fn load(
        &self,
        mut rows: Vec<Workflow>,
        old: Option<&LoadedWorkflow>,
        whole: bool,
        compiled: &mut usize,
    ) -> Result<LoadedWorkflow, ReloadError> {
        rows.sort_by_key(|row| std::cmp::Reverse(row.version));
        let mut versions = Vec::with_capacity(rows.len());
        for row in rows {
            let hash = row.content.content_hash();
            let known =
                old.and_then(|old| old.versions.iter().find(|v| v.version == row.version && v.hash == hash));
            let result = match known.filter(|known| known.compiled.is_ok()) {
                Some(known) => known.compiled.clone(),
                None => {
                    *compiled += 1;
                    if compiled.is_multiple_of(BUILDS_PER_TURN) {
                        tokio::task::yield_now().await;
                    }
                    match compile(&self.tools.engine, &row) {
                        Err(CompileError::DuplicateTaskId { workflow, task }) if whole => {
                            return Err(ReloadError::DuplicateTaskId {
                                workflow,
                                version: row.version,
                                task,
                            });
                        }
                        result => result.map(Arc::new).map_err(|error| error.to_string().into()),
                    }
                }
            };
            versions.push(LoadedVersion {
                version: row.version,
                rollout: row.rollout_percentage,
                updated_at: row.updated_at,
                hash,
                compiled: result,
            });
        }
        Ok(LoadedWorkflow { versions })
    }

    /// Workflows that serve from before and whose stored rows no longer compile, with the reason. Who uses one already
    /// goes on with what is loaded; nobody may begin to.
    async fn broken(&self, found: &Found) -> Result<HashMap<String, Arc<str>>, ReloadError> {
        let starting = found.rows.values().filter(|row| self.begins_to_use(row));
        let ids: BTreeSet<String> = starting
            .filter_map(|row| row.content.workflow_id.clone())
            .filter(|id| found.incidental.contains(id) && !found.workflows.contains(id))
            .collect();
        let mut broken = HashMap::new();
        if ids.is_empty() {
            return Ok(broken);
        }
        let ids: Vec<String> = ids.into_iter().collect();
        for row in self.store.workflows().active_of(&ids).await.map_err(storage)? {
            let loaded = self.base.workflows.get(row.workflow_id.as_str());
            let mark = (row.version, row.rollout_percentage, row.updated_at);
            if loaded.is_some_and(|loaded| loaded.versions.iter().any(|version| version.mark() == mark)) {
                continue;
            }
            if let Err(error) = compile(&self.tools.engine, &row) {
                broken.insert(row.workflow_id, error.to_string().into());
            }
        }
        Ok(broken)
    }

    /// Whether nothing that serves runs this channel over the workflow it names.
    fn begins_to_use(&self, row: &Channel) -> bool {
        let old = self.base.by_id(&row.channel_id).filter(|old| old.serving().is_some());
        old.is_none_or(|old| old.row.content.workflow_id != row.content.workflow_id)
    }

    /// Builds a channel; `None` when what serves is what would be built.
    fn build(
        &self,
        row: Arc<Channel>,
        changed: &HashMap<String, Option<Arc<LoadedWorkflow>>>,
        retry: bool,
    ) -> Option<Planned> {
        let workflow = row.content.workflow_id.as_deref();
        let old = self.base.by_id(&row.channel_id);
        let is_current = |entry: &&Arc<Entry>| {
            let same_row = entry.row.version == row.version && entry.row.content == row.content;
            same_row && !workflow.is_some_and(|id| changed.contains_key(id))
        };
        if old.filter(is_current).is_some_and(|entry| entry.quarantine().is_none() || !retry) {
            return None;
        }
        let loaded = workflow.and_then(|id| match changed.get(id) {
            Some(loaded) => loaded.as_ref(),
            None => self.base.workflows.get(id),
        });
        let previous = old.and_then(|entry| entry.serving()).map(|serving| serving.definition.as_ref());
        Some(match compile::definition(&row, loaded.map(Arc::as_ref), self.tools, previous) {
            Ok(definition) => Planned::Serve(row, Arc::new(definition)),
            Err(reason) => Planned::Quarantine(row, reason.into()),
        })
    }
}

fn storage(error: svc_store::StoreError) -> ReloadError {
    ReloadError::Storage(ServiceError::from(error))
}
