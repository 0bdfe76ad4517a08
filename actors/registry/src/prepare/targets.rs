//! The targets of a reload: the stored rows to build, and the channels to remove.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use svc_model::{Channel, ServiceError, Workflow};

use super::Loader;
use super::build::BuildContext;
use crate::scope::ReloadError;
use crate::snapshot::{LoadedChannel, PauseTable};

/// Number of changed rows above which one query reads all rows.
const MANY: usize = 500;

/// The rows that a reload concerns.
#[derive(Default)]
pub(super) struct ReloadTargets {
    /// Rows to build, by channel id.
    pub(super) rows: BTreeMap<String, Arc<Channel>>,
    /// Channels no longer active.
    pub(super) gone: Vec<Arc<str>>,
    /// Workflows to read.
    pub(super) workflows: BTreeSet<String>,
    /// Workflows read only because a channel begins to use them. If the stored row of one does not load, that
    /// channel fails, not the reload.
    pub(super) incidental: BTreeSet<String>,
}

impl Loader<'_> {
    /// Finds the targets of a reload after a change of the given workflows and channels. `users` are the
    /// channels that use one of the workflows.
    pub(super) async fn find_changed_targets(
        &self,
        workflows: Vec<String>,
        channels: Vec<String>,
        users: Vec<Arc<str>>,
    ) -> Result<ReloadTargets, ReloadError> {
        let mut targets = ReloadTargets::default();
        if !channels.is_empty() {
            let rows = self.store.channels().active_of(&channels).await.map_err(storage)?;
            self.take(rows, &mut targets);
        }
        let removed = channels.iter().filter(|id| !targets.rows.contains_key(*id));
        targets.gone = removed.filter_map(|id| Some(Arc::clone(&self.base.channel_by_id(id)?.id))).collect();
        for id in users {
            if let Some(entry) =
                self.base.channel_by_id(&id).filter(|_| !channels.iter().any(|changed| **changed == *id))
            {
                targets.rows.entry(id.to_string()).or_insert_with(|| Arc::clone(&entry.row));
            }
        }
        let needed: BTreeSet<String> =
            targets.rows.values().filter_map(|row| row.content.workflow_id.clone()).collect();
        let is_loaded = |id: &String| self.base.workflows.get(id.as_str()).is_some();
        targets.workflows = workflows.into_iter().filter(|id| needed.contains(id) || is_loaded(id)).collect();
        targets.incidental = needed.difference(&targets.workflows).cloned().collect();
        targets.workflows.extend(targets.incidental.iter().filter(|id| !is_loaded(id)).cloned());
        Ok(targets)
    }

    /// Finds the targets of a full reload: the rows that differ from the loaded ones. Compares whole rows, so
    /// that a row that was edited by hand is found even if its version and timestamp are the same.
    pub(super) async fn find_all_targets(&self) -> Result<ReloadTargets, ReloadError> {
        let mut targets = ReloadTargets::default();
        let stored = self.store.channels().active().await.map_err(storage)?;
        let active: HashSet<String> = stored.iter().map(|row| row.channel_id.clone()).collect();
        let is_changed =
            |row: &Channel| self.base.channel_by_id(&row.channel_id).is_none_or(|entry| *entry.row != *row);
        self.take(stored.into_iter().filter(is_changed).collect(), &mut targets);
        let removed = self.base.channels().filter(|entry| !active.contains(entry.id()));
        targets.gone = removed.map(|entry| Arc::clone(&entry.id)).collect();

        // A workflow whose content is the one that was compiled is not compiled again.
        let retained_rows =
            self.base.channels().filter(|entry| active.contains(entry.id())).map(|entry| &entry.row);
        let used =
            retained_rows.chain(targets.rows.values()).filter_map(|row| row.content.workflow_id.clone());
        targets.workflows = used.collect();
        Ok(targets)
    }

    /// Adds the rows that the filter admits.
    pub(super) fn take(&self, rows: Vec<Channel>, targets: &mut ReloadTargets) {
        let rows = rows.into_iter().filter(|row| self.filter.admits(&row.content.name));
        targets.rows.extend(rows.map(|row| (row.channel_id.clone(), Arc::new(row))));
    }

    /// Adds the loaded channels that must be built again to the targets of a full reload: those that use a
    /// changed workflow or a changed secret, and those in quarantine.
    pub(super) fn add_affected(&self, build: &BuildContext, targets: &mut ReloadTargets) {
        for entry in self.retained_channels(targets) {
            let workflow = entry.row.content.workflow_id.as_deref();
            let has_changed = workflow.is_some_and(|id| build.changed.contains_key(id))
                || entry.serving().is_some_and(|serving| !build.secrets.still_match(&serving.used_secrets));
            if entry.quarantine().is_some() || has_changed {
                targets.rows.entry(entry.id().to_owned()).or_insert_with(|| Arc::clone(&entry.row));
            }
        }
    }

    /// Returns the channels that were loaded and are still active.
    pub(super) fn retained_channels(&self, targets: &ReloadTargets) -> Vec<&Arc<LoadedChannel>> {
        let removed_ids: HashSet<&str> = targets.gone.iter().map(|id| &**id).collect();
        self.base.channels().filter(|entry| !removed_ids.contains(entry.id())).collect()
    }

    /// Reads the active versions of the target workflows.
    pub(super) async fn stored_workflows(
        &self,
        targets: &ReloadTargets,
    ) -> Result<Vec<Workflow>, ReloadError> {
        let ids = &targets.workflows;
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

    /// Reads the pauses of all channels: they are few.
    pub(super) async fn stored_pauses(&self) -> Result<PauseTable, ReloadError> {
        let pauses = self.store.channel_pauses().list().await.map_err(storage)?;
        Ok(pauses.into_iter().map(|(id, pause)| (id, Arc::new(pause))).collect())
    }

    /// Reads the loaded workflows that a channel begins to use, if a stored version differs from the loaded
    /// one. They are not loaded again: if one no longer compiles, that channel is quarantined.
    pub(super) async fn stale_workflows(
        &self,
        targets: &ReloadTargets,
    ) -> Result<Vec<Workflow>, ReloadError> {
        let starting = targets.rows.values().filter(|row| self.begins_to_use(row));
        let ids: BTreeSet<String> = starting
            .filter_map(|row| row.content.workflow_id.clone())
            .filter(|id| targets.incidental.contains(id) && !targets.workflows.contains(id))
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = ids.into_iter().collect();
        let mut rows = self.store.workflows().active_of(&ids).await.map_err(storage)?;
        rows.retain(|row| {
            let loaded = self.base.workflows.get(row.workflow_id.as_str());
            let revision = (row.version, row.rollout_percentage, row.updated_at);
            !loaded.is_some_and(|loaded| loaded.versions.iter().any(|version| version.revision() == revision))
        });
        Ok(rows)
    }

    /// Returns `true` if no serving channel of this id uses the workflow that the row names.
    pub(super) fn begins_to_use(&self, row: &Channel) -> bool {
        let old = self.base.channel_by_id(&row.channel_id).filter(|old| old.serving().is_some());
        old.is_none_or(|old| old.row.content.workflow_id != row.content.workflow_id)
    }
}

pub(super) fn storage(error: svc_store::StoreError) -> ReloadError {
    ReloadError::Storage(ServiceError::from(error))
}
