//! The assembly of the supervision tree: each method starts one part, with the specification of its row in
//! [`tree`](crate::assembly::tree).

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Backoff, ExhaustedAction, GroupSpec, NotRunningError, Placement, RestartPolicy, SpawnError, Tree,
};
use slog::Logger;
use svc_auth::KeySets;
use svc_connectors::{BrokerHealth, ConnectorMetrics, Connectors, KafkaCluster};
use svc_cron::{CronHandle, CronMetrics};
use svc_epoch::{EpochHandle, EpochServices};
use svc_housekeeping::{Housekeeping, JobMetrics, JobSpec};
use svc_keysets::KeySetCache;
use svc_nodes::{NodeHandle, NodeMetrics};
use svc_registry::{ChannelPolicy, Registry, RegistryParts};
use svc_store::{OpenedStore, Store};
use svc_tokens::{TokenMetrics, Tokens};
use svc_traces::{TraceMetrics, Traces};

use crate::assembly::tree::{
    CHANNEL_ACTOR, CHANNELS, CONNECTORS, CRON, DrainBudget, EPOCH, HOUSEKEEPING, KAFKA, KAFKA_BROKERS,
    KEY_SETS, NODE_LEASE, REGISTRY, SCHEDULE, SCHEDULES, STORE, TOKENS, TRACES,
};
use crate::error::ServiceStartError;

/// Messages in flight in one channel on one thread.
const MAILBOX: usize = 8192;

/// Returns the policy of channels: five restarts in half a minute over all threads of a channel, the first at
/// once.
fn channel_policy(has_schedules: bool) -> ChannelPolicy {
    let backoff = Backoff { first: Duration::from_millis(10), max: Duration::from_secs(5), jitter: 0.2 };
    let budget = RestartPolicy {
        max_restarts: 5,
        within: Duration::from_secs(30),
        backoff,
        exhausted: ExhaustedAction::Quarantine,
    };
    let drain = match CHANNEL_ACTOR.drain {
        DrainBudget::Fixed(limit) => limit,
        _ => Duration::ZERO,
    };
    ChannelPolicy {
        group: CHANNELS.path.to_owned(),
        budget,
        mailbox: MAILBOX,
        drain,
        schedules: has_schedules.then(|| SCHEDULES.path.to_owned()),
        needs: CHANNEL_ACTOR.need_paths(),
    }
}

/// A supervision tree that parts are added to.
pub(crate) struct Assembly {
    pub(crate) tree: Tree,
    /// The thread of every part that names no other.
    pub(crate) shared_thread: Placement,
    pub(crate) log: Logger,
}

/// The services that everything else needs.
pub(crate) struct CoreServices {
    pub(crate) store: Store,
    pub(crate) key_sets: Arc<dyn KeySets>,
    pub(crate) nodes: NodeHandle,
    pub(crate) traces: Traces,
}

impl Assembly {
    /// Starts the store, the key sets, the lease and the recorder. No work is accepted yet.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for a part that cannot be placed, [`AssemblyError::KeySets`] without an HTTP
    /// client, and [`AssemblyError::Node`] for a lease that cannot be registered.
    pub(crate) async fn start_core_services(
        &self,
        opened: OpenedStore,
        key_sets: svc_keysets::Settings,
        (lease, lease_metrics): (svc_nodes::Settings, NodeMetrics),
        (settings, metrics): (svc_traces::Settings, TraceMetrics),
    ) -> Result<CoreServices, AssemblyError> {
        let (tree, at, log) = (&self.tree, || self.shared_thread.clone(), || self.log.clone());
        let store = Store::supervise(opened, tree, STORE.path, at()).await?;
        let key_sets = KeySetCache::supervise(tree, KEY_SETS.path, at(), key_sets, log()).await?;
        let nodes =
            NodeHandle::supervise(tree, NODE_LEASE.path, at(), &store, lease, lease_metrics, log()).await?;
        let parts = svc_traces::TraceServices {
            store: store.clone(),
            nodes: nodes.clone(),
            settings,
            metrics,
            log: log(),
        };
        let traces = Traces::supervise(tree, TRACES.path, at(), parts).await?;
        Ok(CoreServices { store, key_sets: Arc::new(key_sets), nodes, traces })
    }

    /// Starts the fetcher of OAuth2 tokens. Nothing is fetched yet.
    ///
    /// # Errors
    /// [`AssemblyError::Tokens`] without an HTTP client, or for an actor that cannot be placed.
    pub(crate) async fn start_tokens(
        &self,
        settings: svc_tokens::Settings,
        metrics: TokenMetrics,
    ) -> Result<Tokens, AssemblyError> {
        let (at, log) = (self.shared_thread.clone(), self.log.clone());
        Ok(Tokens::supervise(&self.tree, TOKENS.path, at, settings, metrics, log).await?)
    }

    /// Starts the connectors on `thread` and waits until each is loaded or has failed to load.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed, [`AssemblyError::Connectors`] for
    /// definitions that cannot be read.
    pub(crate) async fn start_connectors(
        &self,
        settings: svc_connectors::Settings,
        metrics: ConnectorMetrics,
        thread: Placement,
    ) -> Result<Connectors, AssemblyError> {
        let log = self.log.clone();
        let connectors =
            Connectors::supervise(&self.tree, CONNECTORS.path, thread, settings, metrics, log).await?;
        connectors.reload(svc_connectors::ConnectorScope::All).await?;
        Ok(connectors)
    }

    /// Adds the group of Kafka, and starts the check of the brokers of the settings.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed.
    pub(crate) async fn start_broker_check(
        &self,
        cluster: &KafkaCluster,
        limit: Duration,
    ) -> Result<BrokerHealth, AssemblyError> {
        let (at, log) = (self.shared_thread.clone(), self.log.clone());
        self.tree.add_group(KAFKA.path, GroupSpec::new()).await?;
        Ok(BrokerHealth::supervise(&self.tree, KAFKA_BROKERS.path, at, cluster, limit, log).await?)
    }

    /// Starts the registry and waits until it runs: the stored configuration serves from then on.
    /// `has_schedules` is true if this node runs schedules.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed, [`AssemblyError::NotRunning`] for a
    /// registry that fails to start.
    pub(crate) async fn start_registry(
        &self,
        has_schedules: bool,
        parts: impl FnOnce(ChannelPolicy) -> RegistryParts,
    ) -> Result<Registry, AssemblyError> {
        self.tree.add_group(CHANNELS.path, GroupSpec::new()).await?;
        let (at, parts) = (self.shared_thread.clone(), parts(channel_policy(has_schedules)));
        let registry = Registry::supervise(&self.tree, REGISTRY.path, REGISTRY.spec(), at, parts).await?;
        self.tree.wait_until_running(REGISTRY.path).await?;
        Ok(registry)
    }

    /// Starts the workers of accepted work, and the recurring jobs.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed.
    pub(crate) async fn start_accepting_work(
        &self,
        traces: &Traces,
        registry: &Registry,
        jobs: Vec<JobSpec>,
        metrics: JobMetrics,
    ) -> Result<(), AssemblyError> {
        traces.start(Arc::new(registry.clone()), &[REGISTRY.path, CHANNELS.path]).await?;
        let (at, log) = (self.shared_thread.clone(), self.log.clone());
        Housekeeping::supervise(&self.tree, HOUSEKEEPING.path, at, jobs, metrics, log).await?;
        Ok(())
    }

    /// Starts the watcher of the configuration epoch.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed.
    pub(crate) async fn start_epoch_watcher(
        &self,
        services: EpochServices,
    ) -> Result<EpochHandle, AssemblyError> {
        let at = self.shared_thread.clone();
        Ok(EpochHandle::supervise(&self.tree, EPOCH.path, at, services).await?)
    }

    /// Starts the schedules on `thread`.
    ///
    /// # Errors
    /// [`AssemblyError::Spawn`] for an actor that cannot be placed.
    pub(crate) async fn start_cron(
        &self,
        store: &Store,
        registry: &Registry,
        (settings, metrics): (svc_cron::Settings, CronMetrics),
        thread: Placement,
    ) -> Result<CronHandle, AssemblyError> {
        let parts = svc_cron::CronServices {
            store: store.clone(),
            registry: registry.clone(),
            settings,
            metrics,
            log: self.log.clone(),
            needs: SCHEDULE.need_paths(),
        };
        Ok(CronHandle::supervise(&self.tree, CRON.path, thread, parts).await?)
    }
}

/// A part of the tree that did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// An actor could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The fetcher of key sets has no HTTP client.
    #[error("key sets cannot be fetched: {0}")]
    KeySets(#[from] svc_keysets::KeySetStartError),
    /// The lease of this process could not be registered.
    #[error(transparent)]
    Node(#[from] svc_nodes::RegisterError),
    /// The fetcher of tokens has no HTTP client.
    #[error("tokens cannot be obtained: {0}")]
    Tokens(#[from] svc_tokens::TokensStartError),
    /// The stored connectors could not be read.
    #[error(transparent)]
    Connectors(#[from] svc_connectors::ConnectorReloadError),
    /// The registry was placed and failed to start.
    #[error("the registry does not run: {0}")]
    NotRunning(#[from] NotRunningError),
}

impl From<AssemblyError> for ServiceStartError {
    fn from(error: AssemblyError) -> Self {
        Self::Tree(error.to_string())
    }
}
