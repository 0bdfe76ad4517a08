//! First phase of a reload: read what the scope names, build what changed, touch nothing.

mod build;
mod shadows;
mod targets;

use std::collections::HashMap;
use std::sync::Arc;

use svc_channels::{AskedConnectors, ChannelServices, CompiledChannel};
use svc_model::Channel;
use svc_store::Store;

use crate::filter::ChannelFilter;
use crate::scope::{ReloadError, ReloadScope};
use crate::secrets::UsedSecrets;
use crate::snapshot::{LoadedWorkflow, PauseTable, Snapshot};
use build::BuildContext;

/// Items built before other work of the thread gets its turn.
const BUILDS_PER_TURN: usize = 8;

/// The work of the second phase.
#[derive(Debug, Default)]
pub(crate) struct ReloadPlan {
    /// Workflows with their new load; `None` for one no longer needed.
    pub(crate) workflows: Vec<(Arc<str>, Option<Arc<LoadedWorkflow>>)>,
    /// Channels to change.
    pub(crate) channels: Vec<(Arc<str>, PlannedChannel)>,
    /// The declared secrets, if they were read anew.
    pub(crate) declared: Option<Arc<svc_engine::DeclaredSecrets>>,
    /// The pauses of channels, all of them.
    pub(crate) pauses: PauseTable,
    /// Workflow versions compiled on the way.
    pub(crate) compiled: usize,
}

/// The planned action for one channel.
#[derive(Debug)]
pub(crate) enum PlannedChannel {
    Serve(Arc<Channel>, Arc<CompiledChannel>, UsedSecrets),
    Quarantine(Arc<Channel>, Arc<str>),
    Remove,
}

/// Reads and builds. Uses the serving configuration only as `base`.
pub(crate) struct Loader<'l> {
    pub(crate) store: &'l Store,
    pub(crate) services: &'l Arc<ChannelServices>,
    pub(crate) filter: &'l ChannelFilter,
    pub(crate) base: &'l Snapshot,
    /// Nothing serves yet: a duplicate task id quarantines instead of failing everything.
    pub(crate) boot: bool,
}

impl Loader<'_> {
    /// Builds the plan of a scope. `users` are the channels that name a workflow of the scope.
    pub(crate) async fn plan(
        &self,
        scope: ReloadScope,
        users: Vec<Arc<str>>,
    ) -> Result<ReloadPlan, ReloadError> {
        let full = scope == ReloadScope::All;
        let mut targets = match scope {
            ReloadScope::All => self.find_all_targets().await?,
            ReloadScope::Changed { workflows, channels } => {
                self.find_changed_targets(workflows, channels, users).await?
            }
        };
        let rows = self.stored_workflows(&targets).await?;
        let stale_workflows = self.stale_workflows(&targets).await?;
        let mut candidates = self.candidates(&targets, rows);
        self.mark_shadows(&mut candidates).await?;
        let secrets = self.secrets(&targets, &candidates, &stale_workflows, full).await;
        let mut plan = ReloadPlan { pauses: self.stored_pauses().await?, ..ReloadPlan::default() };
        if full && !self.boot {
            plan.declared = Some(Arc::clone(&secrets.declared));
        }
        let mut build = BuildContext { secrets, full, changed: HashMap::new() };
        self.load_workflows(candidates, &targets, &mut build, &mut plan).await?;
        let broken = self.uncompilable_workflows(stale_workflows, &build.secrets);
        if full {
            self.add_affected(&build, &mut targets);
        }
        plan.channels.extend(targets.gone.into_iter().map(|id| (id, PlannedChannel::Remove)));
        let to_build = targets.rows.values().map(Arc::as_ref).filter(|row| !self.is_current(row, &build));
        let reachability = AskedConnectors::ask(to_build, self.services).await;
        for (count, (id, row)) in targets.rows.into_iter().enumerate() {
            if count.is_multiple_of(BUILDS_PER_TURN) {
                tokio::task::yield_now().await;
            }
            let planned = match row.content.workflow_id.as_ref().and_then(|id| broken.get(id)) {
                Some(reason) if self.begins_to_use(&row) => {
                    Some(PlannedChannel::Quarantine(row, Arc::clone(reason)))
                }
                _ => self.build(row, &build, &reachability),
            };
            plan.channels.extend(planned.map(|planned| (id.into(), planned)));
        }
        Ok(plan)
    }
}
