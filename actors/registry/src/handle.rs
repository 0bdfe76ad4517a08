//! The handle of the registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_supervision::{Address, CallErrorKind, ChildSpec, Placement, SpawnError, Tree};
use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use svc_channels::call::DirectoryHandle;
use svc_channels::{ChannelResponse, ChannelServices, CrashTrace, DataRequest, Submit, refusal};
use svc_model::ErrorReason;
use svc_model::ServiceError;
use svc_store::Store;
use tokio::sync::watch;

use crate::actor::{ApplyChange, RegistryActor, RegistryShared, SnapshotChange};
use crate::deployer::{ChannelDeployer, ChannelPolicy};
use crate::dispatch::{DispatchError, FirstWorker};
use crate::filter::ChannelFilter;
use crate::ingress::UnknownChannels;
use crate::metrics::RegistryMetrics;
use crate::resolve::{self, Resolution};
use crate::scope::{ReloadError, ReloadReport, ReloadScope};
use crate::snapshot::{LoadedChannel, Snapshot};
use crate::worker::{WorkerId, WorkerThread};

/// The dependencies of a registry.
pub struct RegistryParts {
    /// The store of definitions.
    pub store: Store,
    /// The services that channels are compiled with.
    pub services: ChannelServices,
    /// The lookup of calls between channels, bound to this registry when it starts.
    pub calls: DirectoryHandle,
    /// The selection of channels to serve.
    pub filter: ChannelFilter,
    /// The supervision of channel actors.
    pub channels: ChannelPolicy,
    /// The metrics of reloads.
    pub metrics: RegistryMetrics,
    /// The logger.
    pub log: slog::Logger,
}

/// A handle of the registry: reads the snapshot and requests changes. Cheap to clone, `Send` and `Sync`.
#[derive(Clone)]
pub struct Registry {
    address: Address<RegistryActor>,
    pub(crate) shared: Arc<RegistryShared>,
    workers: Arc<AtomicUsize>,
    /// Counts accepted messages, so that every worker gets its share.
    pub(crate) next_worker: Arc<AtomicUsize>,
    /// Counts the threads given to those who run jobs, so that each thread gets its share of them.
    pub(crate) next_job_thread: Arc<AtomicUsize>,
    /// Channels of accepted work that the snapshot does not have.
    pub(crate) unknown: Arc<UnknownChannels>,
}

impl Registry {
    /// Starts the registry in `tree`. The group of [`ChannelPolicy::group`] must exist.
    ///
    /// The first configuration is loaded before the node runs: wait for it with [`Tree::wait_until_running`].
    ///
    /// # Errors
    /// [`SpawnError`] when the path is in use or invalid.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        spec: ChildSpec,
        at: Placement,
        parts: RegistryParts,
    ) -> Result<Self, SpawnError> {
        let shared = Arc::new(RegistryShared {
            snapshot: ArcSwap::default(),
            generation: watch::Sender::new(0),
            failure: ArcSwapOption::empty(),
            store: parts.store,
            services: Arc::new(parts.services),
            filter: parts.filter,
            deployer: ChannelDeployer::new(tree.clone(), parts.channels),
            metrics: parts.metrics,
            log: parts.log,
        });
        parts.calls.bind(&shared);
        let started = Arc::clone(&shared);
        let address = tree.spawn(path, spec, at, move |_| RegistryActor::start(Arc::clone(&started))).await?;
        Ok(Self {
            address,
            shared,
            workers: Arc::default(),
            next_worker: Arc::default(),
            next_job_thread: Arc::default(),
            unknown: Arc::default(),
        })
    }

    /// Returns the configuration that serves now. Hold it for one request, not longer.
    pub fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.shared.snapshot()
    }

    /// Returns a receiver of the generation of the snapshot that serves.
    pub fn watch_generations(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }

    /// Returns `true` if this process serves channels of that name.
    pub fn admits(&self, channel: &str) -> bool {
        self.shared.filter.admits(channel)
    }

    /// Returns the reason of the latest failed reload until a reload of the same scope or more succeeds: the
    /// stored configuration is not the one that serves.
    pub fn reload_failure(&self) -> Option<Arc<String>> {
        self.shared.failure.load().as_ref().map(|failure| Arc::clone(&failure.reason))
    }

    /// Applies the stored configuration. No request fails because of it. Reloads never overlap; those that
    /// wait are merged.
    ///
    /// # Errors
    /// [`ReloadError`] with the reason why nothing changed.
    pub async fn reload(&self, scope: ReloadScope) -> Result<ReloadReport, ReloadError> {
        self.change(SnapshotChange::Reload(scope)).await
    }

    /// Adds a thread that runs an actor of every channel, now and in future.
    ///
    /// # Errors
    /// [`ReloadError::Unavailable`] when the registry cannot be reached.
    pub async fn add_worker(&self, at: Placement) -> Result<WorkerId, ReloadError> {
        let id = self.workers.fetch_add(1, Ordering::Relaxed);
        self.change(SnapshotChange::Join(WorkerThread { id, at })).await?;
        Ok(WorkerId(id))
    }

    /// Takes a thread out of service; its actors finish their work.
    ///
    /// # Errors
    /// [`ReloadError::Unavailable`] when the registry cannot be reached.
    pub async fn remove_worker(&self, worker: WorkerId) -> Result<(), ReloadError> {
        self.change(SnapshotChange::Leave(worker.0)).await.map(drop)
    }

    /// Returns `true` while a thread is in service. A thread that has ended is removed by the next reload
    /// that finds it.
    pub fn has_worker(&self, worker: WorkerId) -> bool {
        self.snapshot().workers.iter().any(|known| known.id == worker.0)
    }

    /// Runs a message through the channel that a path resolved to, or queues it there, as the request asks.
    /// `worker` is that of the calling thread.
    ///
    /// # Errors
    /// The error to answer the caller with.
    pub async fn submit(
        &self,
        worker: Option<WorkerId>,
        resolution: &Resolution,
        request: Box<DataRequest>,
    ) -> Result<ChannelResponse, ServiceError> {
        self.deliver(worker, self.require_callable(resolution)?, request).await
    }

    /// Runs a message through the channel of that name, for the embedding process.
    ///
    /// # Errors
    /// The error that a caller over HTTP would get.
    pub async fn submit_to(
        &self,
        worker: Option<WorkerId>,
        channel: &str,
        request: Box<DataRequest>,
    ) -> Result<ChannelResponse, ServiceError> {
        let resolution = Resolution::of_name(&self.snapshot(), channel);
        self.deliver(worker, self.require_callable(&resolution)?, request).await
    }

    fn require_callable<'r>(
        &self,
        resolution: &'r Resolution,
    ) -> Result<&'r Arc<LoadedChannel>, ServiceError> {
        if resolution.channel().is_some_and(|entry| entry.quarantine().is_some()) {
            self.shared.services.metrics.count_error(ErrorReason::ChannelQuarantined);
        }
        resolution.callable_channel()
    }

    /// Sends a message to an actor of the channel, first to that of the calling thread.
    async fn deliver(
        &self,
        worker: Option<WorkerId>,
        channel: &Arc<LoadedChannel>,
        mut request: Box<DataRequest>,
    ) -> Result<ChannelResponse, ServiceError> {
        let is_traced = channel.compiled_channel().is_some_and(|compiled| compiled.is_traced());
        let crash_trace = is_traced.then(CrashTrace::default);
        request.crash_trace.clone_from(&crash_trace);
        request.pause = channel.pause().cloned();
        let first = FirstWorker { own: worker, offset: 0 };
        let answer = self.dispatch(first, Submit(request), self.same_channel(channel)).await;
        answer.unwrap_or_else(|error| {
            Err(match error {
                DispatchError::NotFound { .. } => resolve::unknown(channel.name()),
                DispatchError::Quarantined { reason, .. } => refusal::quarantined().with_internal(reason),
                DispatchError::NoWorker { channel, .. } => channel.no_worker(),
                DispatchError::Failed { channel, error } => {
                    let refusal = refusal::from_call_error(channel.name(), &error);
                    if error.kind == CallErrorKind::Full
                        && let Some(compiled) = channel.compiled_channel()
                    {
                        compiled.record_refusal("mailbox", "full", &refusal);
                    }
                    match crash_trace.and_then(|trace| trace.id()) {
                        Some(id) => refusal.with_trace_id(id),
                        None => refusal,
                    }
                }
                DispatchError::Rejected { channel, .. } => refusal::stopping(channel.name()),
            })
        })
    }

    async fn change(&self, change: SnapshotChange) -> Result<ReloadReport, ReloadError> {
        match self.address.call(ApplyChange(change)).await {
            Ok(done) => done,
            Err(error) => Err(ReloadError::Unavailable(error.to_string())),
        }
    }
}
