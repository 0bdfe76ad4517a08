//! The state that outlives an instance of the registry's actor, and the long-running work over it, as futures.

use std::collections::HashSet;
use std::sync::Arc;

use actix_supervision::{EventKind, LifecycleEvent, NodeState};
use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use futures_util::StreamExt;
use futures_util::future::join_all;
use svc_channels::ChannelServices;
use svc_store::Store;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::commit::{SnapshotDelta, loaded_channel};
use crate::deployer::ChannelDeployer;
use crate::filter::ChannelFilter;
use crate::ingress::failure_target::find_lost_targets;
use crate::metrics::RegistryMetrics;
use crate::prepare::Loader;
use crate::scope::{ReloadError, ReloadReport, ReloadScope};
use crate::snapshot::{ChannelActors, ChannelState, LoadedChannel, Quarantine, ServingChannel, Snapshot};
use crate::worker::WorkerThread;
use crate::workflow_users::WorkflowUsers;

/// Channels added to or removed from a worker at the same time.
const CONCURRENCY: usize = 64;

/// The state that outlives an instance of the registry actor: the snapshot and the dependencies.
pub(crate) struct RegistryShared {
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// The generation of the snapshot, for receivers that wait for the next one.
    pub(crate) generation: watch::Sender<u64>,
    /// The reloads that failed, until one that covers them succeeds.
    pub(crate) failure: ArcSwapOption<FailedReload>,
    pub(crate) store: Store,
    pub(crate) services: Arc<ChannelServices>,
    pub(crate) filter: ChannelFilter,
    pub(crate) deployer: ChannelDeployer,
    pub(crate) metrics: RegistryMetrics,
    pub(crate) log: slog::Logger,
}

/// The part of the stored configuration that could not be loaded.
#[derive(Debug)]
pub(crate) struct FailedReload {
    scope: ReloadScope,
    /// The latest reason.
    pub(crate) reason: Arc<String>,
}

impl RegistryShared {
    pub(crate) fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// Runs both phases of a reload up to the swap.
    pub(crate) async fn reload(
        &self,
        scope: ReloadScope,
        users: Vec<Arc<str>>,
        boot: bool,
    ) -> Result<SnapshotDelta, ReloadError> {
        let started = Instant::now();
        let base = self.snapshot.load_full();
        let loader =
            Loader { store: &self.store, services: &self.services, filter: &self.filter, base: &base, boot };
        let planned = loader.plan(scope.clone(), users).await;
        let delta = match planned {
            Ok(plan) => Ok(SnapshotDelta::deploy(&self.deployer, &base, plan).await),
            Err(error) => Err(error),
        };
        self.metrics.record_reload(delta.is_ok(), started.elapsed().as_secs_f64());
        match &delta {
            Ok(_) => self.record_success(&scope),
            Err(error) => self.record_failure(scope, error),
        }
        delta
    }

    /// Starts an actor of every channel on a new worker.
    pub(crate) async fn join(&self, worker: WorkerThread) -> SnapshotDelta {
        let base = self.snapshot.load_full();
        let (deployer, worker) = (&self.deployer, &worker);
        let serving = base.channels().filter_map(|entry| Some((entry, entry.serving()?)));
        let joined = futures_util::stream::iter(serving)
            .map(|(old, serving)| async move {
                let spawned = deployer.spawn(&serving.actors.group, &serving.compiled, worker).await;
                (old, serving, spawned)
            })
            .buffer_unordered(CONCURRENCY);
        let mut delta = SnapshotDelta::default();
        for (old, serving, spawned) in joined.collect::<Vec<_>>().await {
            match spawned {
                Ok(actor) => {
                    let actors = serving.actors.iter().cloned().chain([actor]).collect();
                    delta.channels.push((Arc::clone(&old.id), Some(with_actors(old, serving, actors))));
                }
                Err(reason) => {
                    slog::warn!(self.log, "channel not started on a worker"; "channel" => old.name(),
                        "worker" => worker.id, "reason" => %reason);
                }
            }
        }
        delta.workers = Some(base.workers.iter().chain([worker]).cloned().collect());
        delta
    }

    /// Removes a worker from the snapshot; its actors are retired after the swap.
    pub(crate) fn leave(&self, worker: usize) -> SnapshotDelta {
        let base = self.snapshot.load();
        let mut delta = SnapshotDelta::default();
        for old in base.channels() {
            let Some(serving) = old.serving() else { continue };
            let actors = serving.actors.iter().filter(|(id, _)| *id != worker).cloned().collect();
            delta.channels.push((Arc::clone(&old.id), Some(with_actors(old, serving, actors))));
        }
        delta.workers = Some(base.workers.iter().filter(|other| other.id != worker).cloned().collect());
        delta.left = Some(worker);
        delta
    }

    /// Makes the next snapshot the one that serves. Calls never overlap: only futures of one actor make them,
    /// and the function does not wait.
    pub(crate) fn swap(&self, delta: &SnapshotDelta, workflow_users: &mut WorkflowUsers) -> ReloadReport {
        let current = self.snapshot.load_full();
        let next = Arc::new(delta.apply(&current, workflow_users));
        if let Some(declared) = &delta.declared {
            self.services.engine.replace_secrets(Arc::clone(declared));
        }
        self.serve(Arc::clone(&next));
        // An actor may have been quarantined before the snapshot knew it.
        self.reconcile(delta.channels.iter().map(|(id, _)| &**id));
        let next = self.snapshot.load();
        self.metrics.set_workflow_count(next.workflows_count());
        for (id, _) in &delta.channels {
            if let Some(old) =
                current.channel_by_id(id).filter(|old| next.channel_by_name(old.name()).is_none())
            {
                self.services.metrics.remove_channel(old.name());
            }
            if let Some((new, quarantine)) =
                next.channel_by_id(id).and_then(|new| Some((new, new.quarantine()?)))
            {
                slog::warn!(self.log, "channel quarantined"; "channel" => new.name(), "reason" => &*quarantine.reason);
            }
        }
        self.show_pauses(&current, &next);
        let changed: Vec<_> = delta.channels.iter().map(|(id, _)| Arc::clone(id)).collect();
        for (channel, target) in find_lost_targets(&current, &next, &changed) {
            slog::warn!(self.log, "a channel names a channel for its failures that is not active";
                "channel" => &*channel, "on_failure" => &*target);
        }
        let report = ReloadReport {
            generation: next.generation(),
            workflows_count: next.workflows_count(),
            channels_count: next.channels_count(),
            quarantined: next.quarantined_count(),
            compiled: delta.compiled,
            built: delta.built,
            retired: delta.retired,
        };
        slog::info!(self.log, "snapshot committed"; "generation" => report.generation,
            "channels" => report.channels_count, "workflows" => report.workflows_count,
            "quarantined" => report.quarantined, "built" => report.built, "compiled" => report.compiled,
            "retired" => report.retired);
        report
    }

    /// Logs and measures the pauses that began or ended between two snapshots.
    fn show_pauses(&self, current: &Snapshot, next: &Snapshot) {
        let mut has_resumed = false;
        for (old, _) in current.paused_channels() {
            let renewed = next.channel_by_id(old.id());
            if renewed.is_none_or(|entry| entry.pause().is_none() || entry.name() != old.name()) {
                has_resumed = true;
                slog::info!(self.log, "channel resumed"; "channel" => old.name());
                self.metrics.set_paused(old.name(), false);
            }
        }
        if let Some(traces) = self.services.traces.as_ref().filter(|_| has_resumed) {
            traces.look_for_waiting_work();
        }
        for (entry, pause) in next.paused_channels() {
            if current.channel_by_id(entry.id()).is_none_or(|old| old.pause() != Some(pause)) {
                slog::info!(self.log, "channel paused"; "channel" => entry.name(), "by" => &pause.by,
                    "reason" => &pause.reason, "until" => pause.until.map(|until| until.to_string()));
            }
            self.metrics.set_paused(entry.name(), true);
        }
    }

    /// Finds deployments that the snapshot does not contain: an instance of the registry crashed before they
    /// served.
    pub(crate) fn orphans(&self) -> SnapshotDelta {
        let snapshot = self.snapshot.load();
        let used: HashSet<_> =
            snapshot.channels().filter_map(|entry| Some(&entry.serving()?.actors.group)).collect();
        let groups = self.deployer.groups();
        let retire = groups.into_iter().filter(|group| !used.contains(group)).collect();
        SnapshotDelta { retire, ..SnapshotDelta::default() }
    }

    /// Drains the actors that the new snapshot no longer uses.
    pub(crate) fn retire(self: Arc<Self>, delta: &SnapshotDelta) -> impl Future<Output = ()> + use<> {
        let retired = delta.retire.clone();
        let left_groups = delta.left.map(|worker| {
            let serving = delta.channels.iter().filter_map(|(_, entry)| entry.as_ref()?.serving());
            (worker, serving.map(|serving| Arc::clone(&serving.actors.group)).collect::<Vec<_>>())
        });
        async move {
            join_all(retired.iter().map(|group| self.deployer.retire(group))).await;
            if let Some((worker, groups)) = left_groups {
                join_all(groups.iter().map(|group| self.deployer.retire_worker_actor(group, worker))).await;
            }
        }
    }

    /// Records a failed reload.
    fn record_failure(&self, mut scope: ReloadScope, error: &ReloadError) {
        slog::error!(self.log, "reload failed, the previous configuration serves on"; "error" => %error);
        if let Some(before) = &*self.failure.load() {
            scope.merge(before.scope.clone());
        }
        self.failure.store(Some(Arc::new(FailedReload { scope, reason: Arc::new(error.to_string()) })));
    }

    /// Records a successful reload, which clears the failures inside its own scope only.
    fn record_success(&self, scope: &ReloadScope) {
        let remaining_failure = self.failure.load_full().and_then(|failure| {
            let scope = failure.scope.without(scope)?;
            Some(Arc::new(FailedReload { scope, reason: Arc::clone(&failure.reason) }))
        });
        self.failure.store(remaining_failure);
    }

    /// Follows the events of the tree: a quarantine or a release updates the snapshot.
    pub(crate) async fn watch_tree(self: Arc<Self>) {
        let mut events = self.deployer.tree().subscribe();
        // What happened while no instance listened.
        self.reconcile(self.all_channel_ids().iter().map(String::as_str));
        loop {
            let mut touched = HashSet::new();
            match events.recv().await {
                Ok(event) => touched.extend(self.affected_channel(&event)),
                Err(RecvError::Lagged(_)) => touched.extend(self.all_channel_ids()),
                Err(RecvError::Closed) => return,
            }
            while let Ok(event) = events.try_recv() {
                touched.extend(self.affected_channel(&event));
            }
            self.reconcile(touched.iter().map(|id| &**id));
        }
    }

    fn affected_channel(&self, event: &LifecycleEvent) -> Option<String> {
        let matters =
            matches!(event.kind, EventKind::Quarantined { .. } | EventKind::Released | EventKind::Started);
        self.deployer.channel_of(event.path.as_str()).filter(|_| matters).map(str::to_owned)
    }

    fn all_channel_ids(&self) -> Vec<String> {
        self.snapshot.load().channels().map(|entry| entry.id().to_owned()).collect()
    }

    /// Updates the state of channels from that of their actors.
    fn reconcile<'i>(&self, ids: impl Iterator<Item = &'i str>) {
        let current = self.snapshot.load_full();
        let mut next: Option<Snapshot> = None;
        for old in ids.filter_map(|id| current.channel_by_id(id)) {
            let Some(serving) = old.serving() else { continue };
            let reason = quarantine_of(&serving.actors).or_else(|| self.deployer.quarantine_of_schedule(old));
            let state = match (reason, old.quarantine()) {
                (Some(reason), None) => {
                    slog::warn!(self.log, "channel quarantined"; "channel" => old.name(), "reason" => &*reason);
                    ChannelState::Quarantined(Quarantine { reason, actors: Some(serving.clone()) })
                }
                (None, Some(_)) => {
                    slog::info!(self.log, "channel released from quarantine"; "channel" => old.name());
                    ChannelState::Serving(serving.clone())
                }
                _ => continue,
            };
            next.get_or_insert_with(|| (*current).clone()).put(loaded_channel(Arc::clone(&old.row), state));
        }
        if let Some(mut next) = next {
            next.generation += 1;
            self.serve(Arc::new(next));
        }
    }

    /// Publishes a snapshot.
    fn serve(&self, next: Arc<Snapshot>) {
        let generation = next.generation();
        self.snapshot.store(next);
        self.generation.send_replace(generation);
    }
}

/// Returns the reason why supervision quarantines one of the actors.
fn quarantine_of(actors: &ChannelActors) -> Option<Arc<str>> {
    actors.iter().find_map(|(_, address)| {
        let vitals = address.vitals();
        (vitals.state == NodeState::Quarantined).then(|| vitals.quarantine_reason.unwrap_or_default().into())
    })
}

/// Returns the channel in the same state with other actors.
fn with_actors(
    old: &Arc<LoadedChannel>,
    serving: &ServingChannel,
    actors: Vec<(usize, actix_supervision::Address<svc_channels::ChannelActor>)>,
) -> Arc<LoadedChannel> {
    let actors = ChannelActors::new(Arc::clone(&serving.actors.group), actors);
    let serving = ServingChannel {
        compiled: Arc::clone(&serving.compiled),
        actors,
        used_secrets: serving.used_secrets.clone(),
    };
    let state = match old.quarantine() {
        None => ChannelState::Serving(serving),
        Some(quarantine) => ChannelState::Quarantined(Quarantine {
            reason: Arc::clone(&quarantine.reason),
            actors: Some(serving),
        }),
    };
    loaded_channel(Arc::clone(&old.row), state)
}
