//! The handle everyone else holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_supervision::{Address, CallErrorKind, ChildSpec, Placement, SpawnError, Tree};
use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use svc_channels::call::DirectoryHandle;
use svc_channels::{ChannelResponse, ChannelServices, DataRequest, Submit, refusal};
use svc_model::ErrorReason;
use svc_model::ServiceError;
use svc_store::Store;
use tokio::sync::watch;

use crate::actor::{ApplyChange, RegistryActor, RegistryShared, SnapshotChange};
use crate::deployer::{ChannelDeployer, ChannelPolicy};
use crate::filter::ChannelFilter;
use crate::metrics::RegistryMetrics;
use crate::resolve::{self, Resolution};
use crate::scope::{ReloadError, ReloadReport, ReloadScope};
use crate::snapshot::{LoadedChannel, Snapshot};
use crate::worker::{WorkerId, WorkerThread};

/// How often a message is offered again after it met an actor on its way out.
pub(crate) const MAX_DISPATCHES: usize = 3;

/// What the registry works with.
pub struct RegistryParts {
    /// Where definitions are stored.
    pub store: Store,
    /// What channels are built with.
    pub services: ChannelServices,
    /// The calls between channels, which find those of this registry.
    pub calls: DirectoryHandle,
    /// Which channels to serve.
    pub filter: ChannelFilter,
    /// How channel actors are supervised.
    pub channels: ChannelPolicy,
    /// What reloads count.
    pub metrics: RegistryMetrics,
    /// Where it logs.
    pub log: slog::Logger,
}

/// The registry, to read from anywhere and to ask for changes. Cheap to clone, `Send` and `Sync`.
#[derive(Clone)]
pub struct Registry {
    address: Address<RegistryActor>,
    pub(crate) shared: Arc<RegistryShared>,
    workers: Arc<AtomicUsize>,
    /// Counts accepted next_worker, to give every worker its share.
    pub(crate) next_worker: Arc<AtomicUsize>,
}

impl Registry {
    /// Starts the registry in `tree`. The group of [`ChannelPolicy::group`] must exist.
    ///
    /// The first configuration is loaded before the node runs: wait for it with [`Tree::wait_until_running`].
    ///
    /// # Errors
    /// The path is taken or cannot be.
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
            services: parts.services,
            filter: parts.filter,
            deployer: ChannelDeployer::new(tree.clone(), parts.channels),
            metrics: parts.metrics,
            log: parts.log,
        });
        parts.calls.bind(&shared);
        let started = Arc::clone(&shared);
        let address = tree.spawn(path, spec, at, move |_| RegistryActor::start(Arc::clone(&started))).await?;
        Ok(Self { address, shared, workers: Arc::default(), next_worker: Arc::default() })
    }

    /// The configuration that serves now. Hold it for one request, not longer.
    pub fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.shared.snapshot()
    }

    /// Tells the generation of the snapshot whenever another one serves.
    pub fn watch_generations(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }

    /// Whether this process serves channels of that name at all.
    pub fn admits(&self, channel: &str) -> bool {
        self.shared.filter.admits(channel)
    }

    /// Why what serves is not all that is stored: the reason of the latest failed reload, until a reload of the same
    /// scope or more succeeds. `None` when all is well.
    pub fn reload_failure(&self) -> Option<Arc<String>> {
        self.shared.failure.load().as_ref().map(|failure| Arc::clone(&failure.reason))
    }

    /// Brings what serves in line with what is stored. No request fails because of it. Reloads never overlap; those
    /// that wait are done as one.
    ///
    /// # Errors
    /// Why nothing changed.
    pub async fn reload(&self, scope: ReloadScope) -> Result<ReloadReport, ReloadError> {
        self.change(SnapshotChange::Reload(scope)).await
    }

    /// Puts an actor of every channel, now and in future, on a thread.
    ///
    /// # Errors
    /// The registry is not available.
    pub async fn add_worker(&self, at: Placement) -> Result<WorkerId, ReloadError> {
        let id = self.workers.fetch_add(1, Ordering::Relaxed);
        self.change(SnapshotChange::Join(WorkerThread { id, at })).await?;
        Ok(WorkerId(id))
    }

    /// Takes a thread out of service; its actors finish what they began.
    ///
    /// # Errors
    /// The registry is not available.
    pub async fn remove_worker(&self, worker: WorkerId) -> Result<(), ReloadError> {
        self.change(SnapshotChange::Leave(worker.0)).await.map(drop)
    }

    /// Whether a thread is in service. One that ended is taken out by the next reload that meets it.
    pub fn has_worker(&self, worker: WorkerId) -> bool {
        self.snapshot().workers.iter().any(|known| known.id == worker.0)
    }

    /// Runs a message through the channel a path resolved to, or queues it there: what the request asks for.
    /// `worker` is the calling thread's.
    ///
    /// # Errors
    /// What the caller is to be answered.
    pub async fn submit(
        &self,
        worker: Option<WorkerId>,
        resolution: &Resolution,
        request: DataRequest,
    ) -> Result<ChannelResponse, ServiceError> {
        self.deliver(worker, self.require_callable(resolution)?, request).await
    }

    /// Runs a message through the channel of that name, for the embedding process.
    ///
    /// # Errors
    /// What a caller over HTTP would be answered.
    pub async fn submit_to(
        &self,
        worker: Option<WorkerId>,
        channel: &str,
        request: DataRequest,
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

    /// Hands a message to an actor. One that is on its way out hands it back: a newer snapshot has another actor for
    /// it, or none, or the thread has ended and another worker has one.
    async fn deliver(
        &self,
        worker: Option<WorkerId>,
        entry: &Arc<LoadedChannel>,
        mut request: DataRequest,
    ) -> Result<ChannelResponse, ServiceError> {
        let mut entry = Arc::clone(entry);
        for offer in 0..MAX_DISPATCHES {
            let mut error = match entry.actor_after(worker, offer)?.ask(Submit(request)).await {
                Ok(answer) => return answer,
                Err(error) => error,
            };
            if error.kind == CallErrorKind::Crashed {
                if self.shared.deployer.is_ending() {
                    // Cut by the deadline of the shutdown: nothing crashed.
                    error.kind = CallErrorKind::Stopped;
                } else {
                    self.shared.services.metrics.count_error(ErrorReason::Panic);
                }
            }
            let left = matches!(error.kind, CallErrorKind::Draining | CallErrorKind::Stopped);
            let refused = refusal::from_call_error(entry.name(), &error);
            let Some(Submit(again)) = error.message.filter(|_| left) else { return Err(refused) };
            request = again;
            entry = match self.snapshot().channel_by_id(entry.id()) {
                Some(entry) => Arc::clone(entry),
                None => return Err(resolve::unknown(entry.name())),
            };
        }
        Err(refusal::at_capacity(entry.name()))
    }

    async fn change(&self, change: SnapshotChange) -> Result<ReloadReport, ReloadError> {
        match self.address.call(ApplyChange(change)).await {
            Ok(done) => done,
            Err(error) => Err(ReloadError::Unavailable(error.to_string())),
        }
    }
}
