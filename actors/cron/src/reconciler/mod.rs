//! The reconciler: keeps one schedule actor for each cron channel of the registry's snapshot.
//!
//! It alone starts and retires schedules. It takes no messages: it watches the generations of the snapshot and compares each
//! with the one before, so that a change of one channel among ten thousand costs one. A channel that
//! supervision quarantined keeps its schedule, which is suspended; a channel that cannot be built, or is
//! gone, has none. A schedule that could not be started is tried again. The handles of the schedules survive
//! a restart, which repairs a change that was interrupted.

mod state;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{ChildSpec, Context, NodeState, Placement, SpawnError, Supervised, Tree};
use futures_util::StreamExt;
use slog::warn;
use svc_ledger::Cursor;
use svc_model::ErrorReason;
use svc_registry::Snapshot;
use tokio::time::sleep;

use crate::backoff::retry_delay;
use crate::schedule::ScheduleActor;
use crate::schedule_handle::{ScheduleCommand, ScheduleHandle};
use crate::shared::CronShared;
use state::ReconcileAction;

/// Schedules started or ended at the same time.
const AT_ONCE: usize = 64;
/// Time in which a schedule must stop.
const DRAIN: Duration = Duration::from_secs(5);
/// Largest factor on the delay before schedules that could not be started are tried again.
const LONGEST_WAIT: u32 = 30;

/// The state from before a snapshot.
#[derive(Clone, Copy)]
struct PreviousSnapshot<'r> {
    cursors: Option<&'r HashMap<String, Cursor>>,
    snapshot: Option<&'r Snapshot>,
}

impl PreviousSnapshot<'_> {
    fn was_quarantined(&self, id: &str) -> bool {
        self.snapshot
            .and_then(|snapshot| snapshot.channel_by_id(id))
            .is_some_and(|entry| entry.quarantine().is_some())
    }
}

/// The actor.
#[derive(Clone)]
pub(crate) struct ScheduleReconciler {
    pub(crate) shared: Arc<CronShared>,
    pub(crate) tree: Tree,
    /// Path of the group of schedules.
    pub(crate) group: Arc<str>,
    pub(crate) at: Placement,
    /// Paths of the nodes that schedules need.
    pub(crate) needs: Arc<[String]>,
}

impl Actor for ScheduleReconciler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let reconciler = self.clone();
        ctx.spawn(async move { reconciler.reconcile_until_stopped().await }.into_actor(self));
    }
}

impl Supervised for ScheduleReconciler {}

impl ScheduleReconciler {
    async fn reconcile_until_stopped(self) {
        let cursors = self.load_cursors().await;
        let mut generations = self.shared.registry.watch_generations();
        let mut last_snapshot: Option<Arc<Snapshot>> = None;
        let (mut failed, mut failures) = (HashSet::new(), 0);
        self.repair().await;
        loop {
            generations.borrow_and_update();
            let snapshot = Arc::clone(&self.shared.registry.snapshot());
            self.shared.metrics.retain_channels(|channel| snapshot.channel_by_name(channel).is_some());
            if last_snapshot.as_ref().is_some_and(|last| last.has_pauses()) {
                // A resume frees the occurrences that called the channel.
                self.shared.due.notify_one();
            }
            let mut changed: HashSet<Arc<str>> = failed;
            changed.extend(match &last_snapshot {
                Some(last_snapshot) => snapshot.cron_changes(last_snapshot),
                None => self.all_channels(&snapshot),
            });
            let before = PreviousSnapshot {
                cursors: last_snapshot.is_none().then_some(&cursors),
                snapshot: last_snapshot.as_deref(),
            };
            let changes = changed.into_iter().map(|id| async {
                let followed = self.reconcile_channel(Arc::clone(&id), &snapshot, before).await;
                followed.is_err().then_some(id)
            });
            failed = futures_util::stream::iter(changes)
                .buffer_unordered(AT_ONCE)
                .filter_map(std::future::ready)
                .collect()
                .await;
            last_snapshot = Some(snapshot);
            failures = if failed.is_empty() { 0 } else { failures + 1 };
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                () = sleep(retry_delay(&self.group, failures) * failures.min(LONGEST_WAIT)), if failures > 0 => {}
            }
        }
    }

    /// Repairs handles without an actor, and actors without a handle, that an earlier instance left.
    async fn repair(&self) {
        let below = format!("{}/", self.group);
        let nodes = self.tree.snapshot().nodes;
        let mut actors: HashSet<&str> =
            nodes.iter().filter_map(|node| node.path.as_str().strip_prefix(&below)).collect();
        self.shared.schedules().retain(|id, _| actors.remove(&**id));
        for id in actors {
            // A missing actor has stopped already.
            let _ = self.tree.retire(&self.path(id), DRAIN).await;
        }
    }

    /// Reads the cursors of all schedules at once, and the database clock.
    async fn load_cursors(&self) -> HashMap<String, Cursor> {
        let mut failures = 0;
        loop {
            let read = async {
                self.shared.learn_time().await?;
                self.shared.call_ledger(self.shared.ledger.cursors()).await
            };
            match read.await {
                Ok(cursors) => {
                    return cursors.into_iter().map(|cursor| (cursor.channel_id.clone(), cursor)).collect();
                }
                Err(_) => {
                    failures += 1;
                    self.shared.settings.errors.tell(ErrorReason::CronReconcile);
                    sleep(retry_delay(&self.shared.settings.holder, failures)).await;
                }
            }
        }
    }

    /// Lists the channels of the snapshot and the schedules of an earlier instance that are not in it.
    fn all_channels(&self, snapshot: &Snapshot) -> Vec<Arc<str>> {
        let seated: Vec<_> = self.shared.schedules().keys().cloned().collect();
        let orphans =
            seated.into_iter().filter(|id| snapshot.channel_by_id(id).is_none_or(|entry| !entry.is_cron()));
        orphans.chain(snapshot.cron_channels().map(|entry| Arc::from(entry.id()))).collect()
    }

    /// Reconciles the schedule of one channel.
    async fn reconcile_channel(
        &self,
        id: Arc<str>,
        snapshot: &Snapshot,
        before: PreviousSnapshot<'_>,
    ) -> Result<(), SpawnError> {
        let handle = self.shared.handle(&id);
        let entry = snapshot.channel_by_id(&id).filter(|entry| entry.is_cron());
        match state::decide(handle.as_deref(), entry.map(Arc::as_ref), self.shared.settings.max_catch_up) {
            ReconcileAction::None => {}
            ReconcileAction::Begin(order, definition) => {
                let cursor = before.cursors.and_then(|known| known.get(&*id).cloned());
                let rested = matches!(order, ScheduleCommand::Rest) || before.was_quarantined(&id);
                let handle =
                    Arc::new(ScheduleHandle::new(Arc::clone(&id), order, definition, cursor, rested));
                self.shared.schedules().insert(Arc::clone(&id), Arc::clone(&handle));
                if let Err(error) = self.spawn_schedule(&handle).await {
                    warn!(self.shared.log, "starting a schedule failed"; "channel" => &*id, "error" => %error);
                    self.shared.schedules().remove(&id);
                    return Err(error);
                }
            }
            ReconcileAction::Tell(order, definition) => {
                let Some(handle) = handle else { return Ok(()) };
                let before = std::mem::replace(&mut *handle.definition.lock(), Arc::clone(&definition));
                handle.send(order);
                if !Arc::ptr_eq(&before, &definition) {
                    self.restart_quarantined(&id).await;
                }
            }
            ReconcileAction::End => {
                self.shared.schedules().remove(&id);
                // A missing actor has stopped already.
                let _ = self.tree.retire(&self.path(&id), DRAIN).await;
            }
        }
        Ok(())
    }

    async fn spawn_schedule(&self, handle: &Arc<ScheduleHandle>) -> Result<(), SpawnError> {
        let (shared, handle) = (Arc::clone(&self.shared), Arc::clone(handle));
        let path = self.path(&handle.id);
        let spec = ChildSpec::new().mailbox(1).needs(self.needs.iter());
        let factory = move |_| {
            std::future::ready(Ok(ScheduleActor { shared: Arc::clone(&shared), handle: Arc::clone(&handle) }))
        };
        self.tree.spawn(&path, spec, self.at.clone(), factory).await.map(drop)
    }

    /// Restarts the quarantined schedule of a channel that was built anew.
    async fn restart_quarantined(&self, id: &str) {
        let path = self.path(id);
        let quarantined = self.tree.node(&path).is_some_and(|node| node.state == NodeState::Quarantined);
        if quarantined && let Err(error) = self.tree.restart(&path).await {
            warn!(self.shared.log, "restarting a schedule failed"; "channel" => id, "error" => %error);
        }
    }

    fn path(&self, id: &str) -> String {
        format!("{}/{id}", self.group)
    }
}
