//! First phase of a reload: read what the scope names, build what changed, touch nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use svc_channels::{Definition, Toolbox};
use svc_engine::{CompileError, Intake};
use svc_model::{Channel, ServiceError, Workflow};
use svc_store::Store;

use crate::compile::{self, compile};
use crate::filter::ChannelFilter;
use crate::scope::{ReloadError, Scope};
use crate::secrets::{self, Secrets, Taken};
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
    /// The declared secrets, where they were read anew.
    pub(crate) declared: Option<Arc<svc_engine::Secrets>>,
    /// Workflow versions compiled on the way.
    pub(crate) compiled: usize,
}

/// What becomes of one channel.
#[derive(Debug)]
pub(crate) enum Planned {
    Serve(Arc<Channel>, Arc<Definition>, Taken),
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
        let full = scope == Scope::All;
        let mut found = match scope {
            Scope::All => self.find_all().await?,
            Scope::Changed { workflows, channels } => self.find_changed(workflows, channels, users).await?,
        };
        let rows = self.stored_workflows(&found).await?;
        let suspects = self.suspects(&found).await?;
        let candidates = self.candidates(&found, rows);
        let secrets = self.secrets(&found, &candidates, &suspects, full).await;
        let mut plan = Plan::default();
        if full && !self.boot {
            plan.declared = Some(Arc::clone(&secrets.declared));
        }
        let mut build = Build { secrets, full, changed: HashMap::new() };
        self.load_workflows(candidates, &found, &mut build, &mut plan).await?;
        let broken = self.broken(suspects, &build.secrets);
        if full {
            self.add_affected(&build, &mut found);
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
                _ => self.build(row, &build),
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

    /// A reload of everything also builds what uses a changed workflow or a changed secret, and tries again what is
    /// quarantined.
    fn add_affected(&self, build: &Build, found: &mut Found) {
        for entry in self.kept(found) {
            let workflow = entry.row.content.workflow_id.as_deref();
            let has_changed = workflow.is_some_and(|id| build.changed.contains_key(id))
                || entry.serving().is_some_and(|serving| !build.secrets.are(&serving.taken));
            if entry.quarantine().is_some() || has_changed {
                found.rows.entry(entry.id().to_owned()).or_insert_with(|| Arc::clone(&entry.row));
            }
        }
    }

    /// Channels that were loaded and still are active.
    fn kept(&self, found: &Found) -> Vec<&Arc<Entry>> {
        let gone: HashSet<&str> = found.gone.iter().map(|id| &**id).collect();
        self.base.channels().filter(|entry| !gone.contains(entry.id())).collect()
    }

    /// The active versions of the workflows of a scope.
    async fn stored_workflows(&self, found: &Found) -> Result<Vec<Workflow>, ReloadError> {
        let ids = &found.workflows;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        if ids.len() > MANY {
            let rows = self.store.workflows().active().await.map_err(storage)?;
            return Ok(rows.into_iter().filter(|row| ids.contains(&row.workflow_id)).collect());
        }
        let ids: Vec<String> = ids.iter().cloned().collect();
        self.store.workflows().active_of(&ids).await.map_err(storage)
    }

    /// Versions to load by workflow, newest first, each with the load of equal content that there is.
    fn candidates(&self, found: &Found, rows: Vec<Workflow>) -> BTreeMap<String, Vec<Candidate>> {
        let mut by_id: BTreeMap<String, Vec<Candidate>> =
            found.workflows.iter().map(|id| (id.clone(), Vec::new())).collect();
        for row in rows {
            let hash = row.content.content_hash();
            let old = self.base.workflows.get(row.workflow_id.as_str());
            let known = old.and_then(|old| {
                old.versions
                    .iter()
                    .find(|old| old.version == row.version && old.hash == hash && old.compiled.is_ok())
            });
            let known = known.cloned();
            let intake = match &known {
                Some(known) => known.taken.intake.clone(),
                None => svc_engine::intake(&row.content),
            };
            by_id.entry(row.workflow_id.clone()).or_default().push(Candidate { row, hash, known, intake });
        }
        for versions in by_id.values_mut() {
            versions.sort_by_key(|candidate| std::cmp::Reverse(candidate.row.version));
        }
        by_id
    }

    /// Reads the secrets of what is to be built. A reload of everything reads those of everything that serves.
    async fn secrets(
        &self,
        found: &Found,
        candidates: &BTreeMap<String, Vec<Candidate>>,
        suspects: &[Workflow],
        full: bool,
    ) -> Secrets {
        let mut wanted = BTreeSet::new();
        for candidate in candidates.values().flatten().filter(|candidate| full || candidate.known.is_none()) {
            wanted.extend(candidate.intake.references.iter().cloned());
        }
        for row in suspects {
            wanted.extend(svc_engine::intake(&row.content).references);
        }
        for row in found.rows.values().filter(|row| full || self.reads_credentials(row)) {
            wanted.extend(secrets::intake(row).references);
        }
        let (keyring, engine) = (&self.tools.secrets, &self.tools.engine);
        if !full || self.boot {
            return Secrets::read(keyring, engine, wanted).await;
        }
        for entry in self.kept(found) {
            match entry.serving() {
                Some(serving) => wanted.extend(serving.taken.intake.references.iter().cloned()),
                None => wanted.extend(secrets::intake(&entry.row).references),
            }
        }
        Secrets::reread(keyring, engine, wanted, &self.tools.log).await
    }

    /// Whether a load of less than everything reads the secrets of a channel: only where its own config is new. A
    /// store that cannot be reached then takes nothing out of service that nobody touched.
    fn reads_credentials(&self, row: &Channel) -> bool {
        let old = self.base.by_id(&row.channel_id);
        let serves = old.filter(|old| old.quarantine().is_none());
        serves.is_none_or(|old| old.row.content.config != row.content.config)
    }

    /// Compiles workflows into the plan, and notes those that now run differently.
    async fn load_workflows(
        &self,
        candidates: BTreeMap<String, Vec<Candidate>>,
        found: &Found,
        build: &mut Build,
        plan: &mut Plan,
    ) -> Result<(), ReloadError> {
        for (id, versions) in candidates {
            let old = self.base.workflows.get(id.as_str());
            let loaded = if versions.is_empty() {
                None
            } else {
                let whole = !self.boot && !found.incidental.contains(&id);
                Some(Arc::new(self.load(versions, build, whole, &mut plan.compiled).await?))
            };
            let same = match (&loaded, old) {
                (Some(new), Some(old)) => new.runs_as(old),
                (new, old) => new.is_none() && old.is_none(),
            };
            if !same {
                build.changed.insert(id.clone(), loaded.clone());
            }
            plan.workflows.push((id.into(), loaded));
        }
        Ok(())
    }

    /// Compiles the active versions of one workflow; what was compiled before, with the same secrets where they were
    /// read anew, is taken over. A duplicate task id fails the reload as a `whole`, or else counts as a version that
    /// does not compile.
    async fn load(
        &self,
        candidates: Vec<Candidate>,
        build: &Build,
        whole: bool,
        compiled: &mut usize,
    ) -> Result<LoadedWorkflow, ReloadError> {
        let mut versions = Vec::with_capacity(candidates.len());
        for Candidate { row, hash, known, intake } in candidates {
            let known = known.filter(|known| !build.full || build.secrets.are(&known.taken));
            let (result, taken) = match known {
                Some(known) => (known.compiled, known.taken),
                None => {
                    *compiled += 1;
                    if compiled.is_multiple_of(BUILDS_PER_TURN) {
                        tokio::task::yield_now().await;
                    }
                    let result = match compile(&self.tools.engine, &row, &build.secrets) {
                        Err(CompileError::DuplicateTaskId { workflow, task }) if whole => {
                            return Err(ReloadError::DuplicateTaskId {
                                workflow,
                                version: row.version,
                                task,
                            });
                        }
                        result => result.map(Arc::new).map_err(|error| error.to_string().into()),
                    };
                    (result, build.secrets.taken(intake))
                }
            };
            versions.push(LoadedVersion {
                version: row.version,
                rollout: row.rollout_percentage,
                updated_at: row.updated_at,
                hash,
                taken,
                compiled: result,
            });
        }
        Ok(LoadedWorkflow { versions })
    }

    /// Versions of workflows that serve from before whose stored rows are not those that were loaded.
    async fn suspects(&self, found: &Found) -> Result<Vec<Workflow>, ReloadError> {
        let starting = found.rows.values().filter(|row| self.begins_to_use(row));
        let ids: BTreeSet<String> = starting
            .filter_map(|row| row.content.workflow_id.clone())
            .filter(|id| found.incidental.contains(id) && !found.workflows.contains(id))
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = ids.into_iter().collect();
        let mut rows = self.store.workflows().active_of(&ids).await.map_err(storage)?;
        rows.retain(|row| {
            let loaded = self.base.workflows.get(row.workflow_id.as_str());
            let mark = (row.version, row.rollout_percentage, row.updated_at);
            !loaded.is_some_and(|loaded| loaded.versions.iter().any(|version| version.mark() == mark))
        });
        Ok(rows)
    }

    /// The suspects that no longer compile, with the reason. Who uses one already goes on with what is loaded; nobody
    /// may begin to.
    fn broken(&self, suspects: Vec<Workflow>, secrets: &Secrets) -> HashMap<String, Arc<str>> {
        let reason = |row: Workflow| {
            let error = compile(&self.tools.engine, &row, secrets).err()?;
            Some((row.workflow_id, error.to_string().into()))
        };
        suspects.into_iter().filter_map(reason).collect()
    }

    /// Whether nothing that serves runs this channel over the workflow it names.
    fn begins_to_use(&self, row: &Channel) -> bool {
        let old = self.base.by_id(&row.channel_id).filter(|old| old.serving().is_some());
        old.is_none_or(|old| old.row.content.workflow_id != row.content.workflow_id)
    }

    /// Builds a channel; `None` when what serves is what would be built.
    fn build(&self, row: Arc<Channel>, build: &Build) -> Option<Planned> {
        let workflow = row.content.workflow_id.as_deref();
        let old = self.base.by_id(&row.channel_id);
        let serving = old.and_then(|entry| entry.serving());
        let same_secrets = || serving.is_none_or(|serving| !build.full || build.secrets.are(&serving.taken));
        let is_current = |entry: &&Arc<Entry>| {
            let same_row = entry.row.version == row.version && entry.row.content == row.content;
            same_row && !workflow.is_some_and(|id| build.changed.contains_key(id)) && same_secrets()
        };
        if old.filter(is_current).is_some_and(|entry| entry.quarantine().is_none() || !build.full) {
            return None;
        }
        let loaded = workflow.and_then(|id| match build.changed.get(id) {
            Some(loaded) => loaded.as_ref(),
            None => self.base.workflows.get(id),
        });
        let secrets = Some(&build.secrets).filter(|_| build.full || self.reads_credentials(&row));
        let taken = match (secrets, serving) {
            (None, Some(serving)) => serving.taken.clone(),
            _ => build.secrets.taken(secrets::intake(&row)),
        };
        let previous = serving.map(|serving| serving.definition.as_ref());
        Some(match compile::definition(&row, loaded.map(Arc::as_ref), self.tools, secrets, previous) {
            Ok(definition) => Planned::Serve(row, Arc::new(definition), taken),
            Err(reason) => Planned::Quarantine(row, reason.into()),
        })
    }
}

/// What a load builds with.
struct Build {
    secrets: Secrets,
    /// Everything is looked at, and every secret was read anew.
    full: bool,
    /// Workflows that now run differently.
    changed: HashMap<String, Option<Arc<LoadedWorkflow>>>,
}

/// A stored version of a workflow that is to be loaded.
struct Candidate {
    row: Workflow,
    hash: String,
    /// The load of equal content, if it compiled.
    known: Option<LoadedVersion>,
    intake: Intake,
}

fn storage(error: svc_store::StoreError) -> ReloadError {
    ReloadError::Storage(ServiceError::from(error))
}
