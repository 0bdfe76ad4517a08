//! Second phase of a reload: actors start first, then the snapshot is swapped, then unused actors are
//! retired.

use std::cell::Cell;
use std::sync::Arc;

use actix_supervision::SpawnError;
use futures_util::StreamExt;
use svc_channels::CompiledChannel;
use svc_model::Channel;

use crate::deployer::{ChannelDeployer, Deployment, ReplaceOutcome};
use crate::prepare::{PlannedChannel, ReloadPlan};
use crate::snapshot::{
    ChannelState, LoadedChannel, LoadedWorkflow, PauseTable, Quarantine, ServingChannel, Snapshot,
};
use crate::worker::WorkerThread;
use crate::workflow_users::WorkflowUsers;

/// Channels whose actors are changed at the same time.
const CONCURRENCY: usize = 64;

/// The difference between one snapshot and the next, with the actors already in place.
#[derive(Debug, Default)]
pub(crate) struct SnapshotDelta {
    /// Channels with their new entry; `None` for one that is gone.
    pub(crate) channels: Vec<(Arc<str>, Option<Arc<LoadedChannel>>)>,
    pub(crate) workflows: Vec<(Arc<str>, Option<Arc<LoadedWorkflow>>)>,
    pub(crate) workers: Option<Arc<[WorkerThread]>>,
    /// The declared secrets, if they were read anew.
    pub(crate) declared: Option<Arc<svc_engine::DeclaredSecrets>>,
    /// The pauses, if they were read.
    pub(crate) pauses: Option<Arc<PauseTable>>,
    /// A worker that leaves; its actors are withdrawn after the swap.
    pub(crate) left: Option<usize>,
    /// Workers whose threads were found to have ended.
    pub(crate) gone: Vec<usize>,
    /// Groups of actors to be retired after the swap.
    pub(crate) retire: Vec<Arc<str>>,
    /// Channels taken out of service.
    pub(crate) retired: usize,
    pub(crate) compiled: usize,
    pub(crate) built: usize,
}

impl SnapshotDelta {
    /// Puts the actors of a plan in place, next to those that serve.
    pub(crate) async fn deploy(deployer: &ChannelDeployer, base: &Snapshot, plan: ReloadPlan) -> Self {
        let mut delta = Self {
            workflows: plan.workflows,
            declared: plan.declared,
            pauses: Some(Arc::new(plan.pauses)),
            compiled: plan.compiled,
            ..Self::default()
        };
        // A thread that was found blocked once is not waited for again.
        let blocked = &Cell::new(false);
        let mut deployed = futures_util::stream::iter(plan.channels)
            .map(|(id, planned)| async move {
                let (entry, gone) = place(deployer, base, &id, planned, blocked).await;
                (id, entry, gone)
            })
            .buffer_unordered(CONCURRENCY);
        while let Some((id, entry, gone)) = deployed.next().await {
            let old = base.channel_by_id(&id).and_then(|old| old.serving()).map(|old| &old.actors.group);
            let new = entry.as_ref().and_then(|new| new.serving()).map(|new| &new.actors.group);
            delta.retire.extend(old.filter(|old| new != Some(old)).cloned());
            delta.retired += usize::from(old.is_some() && new.is_none());
            delta.gone.extend(gone);
            delta.built += usize::from(entry.is_some());
            delta.channels.push((id, entry));
        }
        delta
    }

    /// Applies the difference to a snapshot and updates the index.
    pub(crate) fn apply(&self, current: &Snapshot, workflow_users: &mut WorkflowUsers) -> Snapshot {
        let mut next = current.clone();
        next.generation += 1;
        if let Some(workers) = &self.workers {
            next.workers = Arc::clone(workers);
        }
        // All removals come before the insertions: names and routes may move between channels within one
        // reload.
        for (id, _) in &self.channels {
            if let Some(old) = next.remove(id) {
                workflow_users.remove(&old);
            }
        }
        for entry in self.channels.iter().filter_map(|(_, entry)| entry.as_ref()) {
            workflow_users.add(entry);
            next.put(Arc::clone(entry));
        }
        if let Some(pauses) = &self.pauses {
            next.set_pauses(pauses);
        }
        for (id, workflow) in &self.workflows {
            match workflow {
                Some(workflow) => drop(next.workflows.insert(Arc::clone(id), Arc::clone(workflow))),
                None => drop(next.workflows.remove(&**id)),
            }
        }
        // A workflow is loaded for its channels and removed with the last of them.
        let left_workflows = self
            .channels
            .iter()
            .filter_map(|(id, _)| current.channel_by_id(id)?.row.content.workflow_id.as_deref());
        for id in left_workflows
            .chain(self.workflows.iter().map(|(id, _)| &**id))
            .filter(|id| !workflow_users.is_used(id))
        {
            next.workflows.remove(id);
        }
        next
    }
}

/// Carries out the plan of one channel. Returns its new entry, `None` for a removed one, and the workers
/// whose threads have ended.
async fn place(
    deployer: &ChannelDeployer,
    base: &Snapshot,
    id: &Arc<str>,
    planned: PlannedChannel,
    blocked: &Cell<bool>,
) -> (Option<Arc<LoadedChannel>>, Vec<usize>) {
    let (row, definition, used_secrets) = match planned {
        PlannedChannel::Remove => return (None, Vec::new()),
        PlannedChannel::Quarantine(row, reason) => {
            return (Some(loaded_channel(row, refused_state(reason))), Vec::new());
        }
        PlannedChannel::Serve(row, definition, used_secrets) => (row, definition, used_secrets),
    };
    match deploy(deployer, base, id, &definition, blocked).await {
        Ok(Deployment { actors, gone }) => (
            Some(loaded_channel(
                row,
                ChannelState::Serving(ServingChannel { compiled: definition, actors, used_secrets }),
            )),
            gone,
        ),
        Err(error) => {
            let reason = format!("its actors could not be started: {error}");
            (Some(loaded_channel(row, refused_state(reason.into()))), Vec::new())
        }
    }
}

/// Replaces the actors that serve. If that fails, because one has ended or its thread is blocked, starts a
/// deployment next to them; they serve until the swap.
async fn deploy(
    deployer: &ChannelDeployer,
    base: &Snapshot,
    id: &str,
    definition: &Arc<CompiledChannel>,
    blocked: &Cell<bool>,
) -> Result<Deployment, SpawnError> {
    match base.channel_by_id(id).map(|old| &old.state) {
        Some(ChannelState::Serving(ServingChannel { actors, .. })) if !blocked.get() => {
            match deployer.replace(actors, definition).await {
                ReplaceOutcome::Done => return Ok(Deployment { actors: actors.clone(), gone: Vec::new() }),
                ReplaceOutcome::Failed => {}
                ReplaceOutcome::TimedOut => blocked.set(true),
            }
        }
        Some(ChannelState::Quarantined(Quarantine { actors: Some(old), .. })) => {
            deployer.retire_within_timeout(&old.actors.group).await;
        }
        _ => {}
    }
    deployer.deploy(id, definition, &base.workers).await
}

fn refused_state(reason: Arc<str>) -> ChannelState {
    ChannelState::Quarantined(Quarantine { reason, actors: None })
}

pub(crate) fn loaded_channel(row: Arc<Channel>, state: ChannelState) -> Arc<LoadedChannel> {
    Arc::new(LoadedChannel {
        name: row.content.name.as_str().into(),
        id: row.channel_id.as_str().into(),
        row,
        state,
        pause: None,
    })
}
