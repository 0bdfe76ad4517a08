//! The shadows of workflows: versions that their rollouts have run after another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use svc_channels::{ShadowTerms, WorkflowShadow};
use svc_engine::{Flow, SecretUses};
use svc_model::Workflow;
use svc_model::gate::CanaryState;
use svc_store::CanaryRollout;

use super::Loader;
use super::build::{BuildContext, VersionCandidate};
use super::targets::storage;
use crate::compile::compile_shadow;
use crate::scope::ReloadError;
use crate::snapshot::LoadedShadow;

impl Loader<'_> {
    /// Marks the versions that are to run as shadows.
    pub(super) async fn mark_shadows(
        &self,
        candidates: &mut BTreeMap<String, Vec<VersionCandidate>>,
    ) -> Result<(), ReloadError> {
        // Only a second active version has a rollout.
        if candidates.values().all(|versions| versions.len() < 2) {
            return Ok(());
        }
        let rollouts = self.store.canary_rollouts().list_open().await.map_err(storage)?;
        for rollout in rollouts.iter().filter(|rollout| rollout.state == CanaryState::Watching) {
            let Some(terms) = to_terms(rollout) else { continue };
            let Some(versions) = candidates.get_mut(&rollout.workflow_id) else { continue };
            let has = |version: i64| versions.iter().any(|candidate| candidate.row.version == version);
            if !has(terms.followed) {
                continue;
            }
            let shadow = versions.iter_mut().find(|candidate| candidate.row.version == terms.version);
            if let Some(candidate) = shadow {
                candidate.shadow = Some(terms);
            }
        }
        Ok(())
    }

    /// Compiles a version as a shadow, unless it is loaded already. One that does not compile is logged, and nothing runs
    /// in its place.
    pub(super) fn load_shadow(
        &self,
        row: &Workflow,
        hash: &str,
        uses: &SecretUses,
        terms: ShadowTerms,
        build: &BuildContext,
    ) -> Option<LoadedShadow> {
        let old = self.base.workflows.get(row.workflow_id.as_str()).and_then(|old| old.shadow.as_ref());
        let is_current = |old: &&LoadedShadow| {
            old.compiled.terms.version == terms.version
                && old.hash == hash
                && (!build.full || (build.secrets.still_match(&old.used_secrets) && !calls_plugins(old)))
        };
        if let Some(old) = old.filter(is_current) {
            let compiled = WorkflowShadow { terms, flow: Arc::clone(&old.compiled.flow) };
            return Some(LoadedShadow { compiled, ..old.clone() });
        }
        match compile_shadow(&self.services.engine, row, &build.secrets) {
            Ok(compiled) => Some(LoadedShadow {
                compiled: WorkflowShadow { terms, flow: Arc::new(Flow::single(compiled)) },
                hash: hash.to_owned(),
                used_secrets: build.secrets.record_use(uses.clone()),
            }),
            Err(reason) => {
                slog::warn!(self.services.log, "a version cannot run as a shadow";
                    "workflow" => &row.workflow_id, "version" => row.version, "reason" => reason);
                None
            }
        }
    }
}

/// Returns `true` if the version calls a function of a plugin, which may have another version now.
fn calls_plugins(shadow: &LoadedShadow) -> bool {
    shadow.compiled.flow.versions.iter().any(|(compiled, _)| compiled.calls_plugins())
}

/// Returns the shadow that a rollout asks for: the newer version behind the older one, or, to compare a canary, the older
/// one behind a share of the newer one's runs.
fn to_terms(rollout: &CanaryRollout) -> Option<ShadowTerms> {
    let rollout_id = rollout.id.as_str().into();
    let (canary, stable) = (rollout.canary_version, rollout.stable_version);
    if rollout.plan.shadow {
        return Some(ShadowTerms { rollout_id, followed: stable, version: canary, share: 1.0 });
    }
    let compare = rollout.plan.gate.compare?;
    Some(ShadowTerms { rollout_id, followed: canary, version: stable, share: compare.share })
}
