//! Workflows and channels, built from stored rows and the secrets they use; unchanged ones are reused.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use svc_channels::{AskedConnectors, ShadowTerms};
use svc_engine::{CompileError, SecretUses};
use svc_model::{Channel, Workflow};

use super::targets::ReloadTargets;
use super::{BUILDS_PER_TURN, Loader, PlannedChannel, ReloadPlan};
use crate::compile::{self, compile};
use crate::scope::ReloadError;
use crate::secrets::{self, LoadedSecrets};
use crate::snapshot::{LoadedVersion, LoadedWorkflow};

/// Maximum number of warnings logged for one workflow.
const MAX_WARNINGS: usize = 20;

/// The inputs of a build.
pub(super) struct BuildContext {
    pub(super) secrets: LoadedSecrets,
    /// The load covers everything, and every secret was read again.
    pub(super) full: bool,
    /// Workflows that run differently now.
    pub(super) changed: HashMap<String, Option<Arc<LoadedWorkflow>>>,
}

/// A stored version of a workflow that is to be loaded.
pub(super) struct VersionCandidate {
    pub(super) row: Workflow,
    pub(super) hash: String,
    /// The loaded version of equal content, if it compiled.
    pub(super) known: Option<LoadedVersion>,
    pub(super) uses: SecretUses,
    /// Set if the version runs as the shadow of another one.
    pub(super) shadow: Option<ShadowTerms>,
}

impl Loader<'_> {
    /// Returns the versions to load by workflow, newest first, each with the loaded version of equal content.
    pub(super) fn candidates(
        &self,
        targets: &ReloadTargets,
        rows: Vec<Workflow>,
    ) -> BTreeMap<String, Vec<VersionCandidate>> {
        let mut by_id: BTreeMap<String, Vec<VersionCandidate>> =
            targets.workflows.iter().map(|id| (id.clone(), Vec::new())).collect();
        for row in rows {
            let hash = row.content.content_hash();
            let old = self.base.workflows.get(row.workflow_id.as_str());
            let unchanged = old.and_then(|old| {
                old.versions
                    .iter()
                    .find(|old| old.version == row.version && old.hash == hash && old.compiled.is_ok())
            });
            let unchanged = unchanged.cloned();
            let uses = match &unchanged {
                Some(unchanged) => unchanged.used_secrets.uses.clone(),
                None => svc_engine::secret_uses(&row.content),
            };
            by_id.entry(row.workflow_id.clone()).or_default().push(VersionCandidate {
                row,
                hash,
                known: unchanged,
                uses,
                shadow: None,
            });
        }
        for versions in by_id.values_mut() {
            versions.sort_by_key(|candidate| std::cmp::Reverse(candidate.row.version));
        }
        by_id
    }

    /// Reads the secrets of everything to be built. A reload of everything reads those of everything that
    /// serves.
    pub(super) async fn secrets(
        &self,
        targets: &ReloadTargets,
        candidates: &BTreeMap<String, Vec<VersionCandidate>>,
        stale_workflows: &[Workflow],
        full: bool,
    ) -> LoadedSecrets {
        let mut references = BTreeSet::new();
        let is_compiled =
            |candidate: &&VersionCandidate| full || candidate.known.is_none() || candidate.shadow.is_some();
        for candidate in candidates.values().flatten().filter(is_compiled) {
            references.extend(candidate.uses.references.iter().cloned());
        }
        for row in stale_workflows {
            references.extend(svc_engine::secret_uses(&row.content).references);
        }
        let providers = &self.services.settings.sign_in_providers;
        for row in targets.rows.values().filter(|row| full || self.reads_credentials(row)) {
            references.extend(secrets::collect_uses(row, providers).references);
        }
        let (keyring, engine) = (&self.services.secrets, &self.services.engine);
        if !full || self.boot {
            return LoadedSecrets::read(keyring, engine, references).await;
        }
        for entry in self.retained_channels(targets) {
            match entry.serving() {
                Some(serving) => references.extend(serving.used_secrets.uses.references.iter().cloned()),
                None => references.extend(secrets::collect_uses(&entry.row, providers).references),
            }
        }
        LoadedSecrets::reread(keyring, engine, references, &self.services.log).await
    }

    /// Returns `true` if a partial load reads the secrets of a channel: only when the config of the channel
    /// changed. An unreachable secret store then takes no unchanged channel out of service.
    pub(super) fn reads_credentials(&self, row: &Channel) -> bool {
        let old = self.base.channel_by_id(&row.channel_id);
        let serves = old.filter(|old| old.quarantine().is_none());
        serves.is_none_or(|old| old.row.content.config != row.content.config)
    }

    /// Compiles workflows into the plan and records those that run differently now.
    pub(super) async fn load_workflows(
        &self,
        candidates: BTreeMap<String, Vec<VersionCandidate>>,
        targets: &ReloadTargets,
        build: &mut BuildContext,
        plan: &mut ReloadPlan,
    ) -> Result<(), ReloadError> {
        for (id, versions) in candidates {
            let old = self.base.workflows.get(id.as_str());
            let loaded = if versions.is_empty() {
                None
            } else {
                let whole = !self.boot && !targets.incidental.contains(&id);
                Some(Arc::new(self.load(versions, build, whole, &mut plan.compiled).await?))
            };
            let same = match (&loaded, old) {
                (Some(new), Some(old)) => new.runs_same_as(old),
                (new, old) => new.is_none() && old.is_none(),
            };
            if !same {
                build.changed.insert(id.clone(), loaded.clone());
            }
            plan.workflows.push((id.into(), loaded));
        }
        Ok(())
    }

    /// Compiles the active versions of one workflow. A version that was compiled before is reused, unless its
    /// secrets were read again and differ. A duplicate task id fails the whole reload if `whole` is set;
    /// otherwise that version counts as one that does not compile.
    pub(super) async fn load(
        &self,
        candidates: Vec<VersionCandidate>,
        build: &BuildContext,
        whole: bool,
        compiled: &mut usize,
    ) -> Result<LoadedWorkflow, ReloadError> {
        let mut versions = Vec::with_capacity(candidates.len());
        let mut loaded_shadow = None;
        for VersionCandidate { row, hash, known, uses, shadow } in candidates {
            if let Some(terms) = shadow {
                loaded_shadow = self.load_shadow(&row, &hash, &uses, terms, build);
            }
            let known = known.filter(|known| {
                !build.full || (build.secrets.still_match(&known.used_secrets) && !known.calls_plugins())
            });
            let connectors = match &known {
                Some(known) => Arc::clone(&known.connectors),
                None => self.connectors_of(&row),
            };
            let (result, used_secrets) = match known {
                Some(known) => (known.compiled, known.used_secrets),
                None => {
                    *compiled += 1;
                    if compiled.is_multiple_of(BUILDS_PER_TURN) {
                        tokio::task::yield_now().await;
                    }
                    self.warn_of_misspellings(&row);
                    let result = match compile(&self.services.engine, &row, &build.secrets) {
                        Err(CompileError::DuplicateTaskId { workflow, task }) if whole => {
                            return Err(ReloadError::DuplicateTaskId {
                                workflow,
                                version: row.version,
                                task,
                            });
                        }
                        result => result.map(Arc::new).map_err(|error| error.to_string().into()),
                    };
                    (result, build.secrets.record_use(uses))
                }
            };
            versions.push(LoadedVersion {
                version: row.version,
                rollout: row.rollout_percentage,
                updated_at: row.updated_at,
                hash,
                used_secrets,
                connectors,
                compiled: result,
            });
        }
        Ok(LoadedWorkflow { versions, shadow: loaded_shadow })
    }

    /// Names the connectors that the tasks of a workflow use, each once.
    fn connectors_of(&self, row: &Workflow) -> Arc<[String]> {
        let used = self.services.engine.dependencies(&row.content).connectors.into_iter();
        used.map(|used| used.connector).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Logs the mistakes of a stored row that would be refused today. The row runs as before.
    fn warn_of_misspellings(&self, row: &Workflow) {
        for error in self.services.engine.misspellings(&row.content).into_iter().take(MAX_WARNINGS) {
            slog::warn!(self.services.log, "stored workflow has names that do not exist";
                "workflow" => &row.workflow_id, "version" => row.version, "path" => error.path, "reason" => error.message);
        }
    }

    /// Returns the stale workflows that no longer compile, by id, with the reason. A channel that uses one
    /// already keeps the loaded version; no other channel may begin to use it.
    pub(super) fn uncompilable_workflows(
        &self,
        stale_workflows: Vec<Workflow>,
        secrets: &LoadedSecrets,
    ) -> HashMap<String, Arc<str>> {
        let reason = |row: Workflow| {
            let error = compile(&self.services.engine, &row, secrets).err()?;
            Some((row.workflow_id, error.to_string().into()))
        };
        stale_workflows.into_iter().filter_map(reason).collect()
    }

    /// Returns `true` if the channel that serves is already the one to build.
    pub(super) fn is_current(&self, row: &Channel, build: &BuildContext) -> bool {
        let Some(old) = self.base.channel_by_id(&row.channel_id) else { return false };
        let workflow = row.content.workflow_id.as_deref();
        let serving = old.serving();
        old.row.version == row.version
            && old.row.content == row.content
            && !workflow.is_some_and(|id| build.changed.contains_key(id))
            && serving.is_none_or(|serving| !build.full || build.secrets.still_match(&serving.used_secrets))
            && (old.quarantine().is_none() || !build.full)
    }

    /// Builds a channel; `None` when the channel that serves is already the one to build.
    pub(super) fn build(
        &self,
        row: Arc<Channel>,
        build: &BuildContext,
        asked: &AskedConnectors,
    ) -> Option<PlannedChannel> {
        if self.is_current(&row, build) {
            return None;
        }
        let workflow = row.content.workflow_id.as_deref();
        let serving = self.base.channel_by_id(&row.channel_id).and_then(|entry| entry.serving());
        if let Err(reason) = asked.check(&row, self.services) {
            return Some(PlannedChannel::Quarantine(row, reason.into()));
        }
        let loaded = workflow.and_then(|id| match build.changed.get(id) {
            Some(loaded) => loaded.as_ref(),
            None => self.base.workflows.get(id),
        });
        let secrets = Some(&build.secrets).filter(|_| build.full || self.reads_credentials(&row));
        let used_secrets = match (secrets, serving) {
            (None, Some(serving)) => serving.used_secrets.clone(),
            _ => {
                let providers = &self.services.settings.sign_in_providers;
                build.secrets.record_use(secrets::collect_uses(&row, providers))
            }
        };
        let previous = serving.map(|serving| serving.compiled.as_ref());
        Some(match compile::definition(&row, loaded.map(Arc::as_ref), self.services, secrets, previous) {
            Ok(definition) => PlannedChannel::Serve(row, Arc::new(definition), used_secrets),
            Err(reason) => PlannedChannel::Quarantine(row, reason.into()),
        })
    }
}
