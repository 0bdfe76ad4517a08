//! The children of the root: what runs in the process, what may bring it down, what depends on what.
//!
//! ```text
//! root
//! ├ store         writer (essential), probe             every connection lives on the shared i/o runtime
//! ├ connectors    roster, {id}                          one actor per outbound system on the i/o runtime; needs store
//! ├ kafka         one actor                              asks the brokers of the settings for a sign of life; absent where
//! │                                                      kafka.enabled is off
//! ├ keysets       one actor                              fetches the keys of token issuers
//! ├ tokens        one actor                              obtains OAuth2 tokens for connectors; needs store
//! ├ nodes         one actor, essential                   renews the lease of this process; needs store
//! ├ traces        recorder, worker-1 …, queue, dead-letters   accepted work; needs store and nodes, its workers the channels
//! ├ registry      one actor, essential, needs store     prepares and commits what serves
//! ├ channels      {id}/{worker}, a budget per channel    on the HTTP workers' own threads; exhausted: quarantined;
//! │                                                      need store, key sets and recorder
//! ├ cron          roster, schedules/{id}, claimer, reaper    what is due; absent where cron.enabled is off; its runs
//! │                                                      need channels; a schedule that exhausts its budget:
//! │                                                      its channel is quarantined
//! └ housekeeping  one actor per job, scheduler           removes what is old
//! ```
//!
//! An essential child that exhausts its budget ends the tree, and with it the process: without the store or the
//! registry nothing could be promised. A channel never does; it is refused with the reason until it changes, the
//! configuration is reloaded, or an operator orders a restart.
//!
//! What needs something is drained before it. At the end of the process that makes this order: the edge waits for its
//! requests while the workers finish what they began and schedules claim nothing more, the channels end, the recorder
//! writes what waits, the store closes. One deadline bounds all of it (`shutdown.rs`).

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{
    Backoff, ChildSpec, ExhaustedAction, GroupSpec, NotRunningError, Placement, RestartPolicy, SpawnError,
    Tree,
};
use slog::Logger;
use svc_connectors::{BrokerHealth, ConnectorMetrics, Connectors, KafkaCluster};
use svc_cron::{CronHandle, CronMetrics};
use svc_housekeeping::{Housekeeping, JobMetrics, JobSpec};
use svc_keysets::KeySetCache;
use svc_nodes::{NodeHandle, NodeMetrics};
use svc_registry::{ChannelPolicy, Registry, RegistryParts};
use svc_store::{OpenedStore, Store};
use svc_tokens::{TokenMetrics, Tokens};
use svc_traces::{TraceMetrics, Traces};

use crate::error::ServiceStartError;

/// The database's actors.
pub(crate) const STORE: &str = "store";
/// The outbound systems.
pub(crate) const CONNECTORS: &str = "connectors";
/// The check of the Kafka brokers.
pub(crate) const KAFKA: &str = "kafka";
/// The key sets of token issuers.
pub(crate) const KEY_SETS: &str = "keysets";
/// The OAuth2 tokens of connectors.
pub(crate) const TOKENS: &str = "tokens";
/// The lease of this process.
pub(crate) const NODES: &str = "nodes";
/// Traces, accepted work, dead letters.
pub(crate) const TRACES: &str = "traces";
/// What writes traces behind the answer.
const RECORDER: &str = "traces/recorder";
/// The registry's actor.
pub(crate) const REGISTRY: &str = "registry";
/// The group of all channels.
pub(crate) const CHANNELS: &str = "channels";
/// What runs by the clock.
pub(crate) const CRON: &str = "cron";
/// The service's own recurring jobs.
pub(crate) const HOUSEKEEPING: &str = "housekeeping";

/// How long a channel's actor may finish what it began when it is replaced or retired.
const DRAIN: Duration = Duration::from_secs(30);
/// Messages in flight in one channel on one thread.
const MAILBOX: usize = 8192;

/// One channel's failures, over all its threads: five restarts in half a minute, the first at once.
fn channel_policy(schedules: bool) -> ChannelPolicy {
    let backoff = Backoff { first: Duration::from_millis(10), max: Duration::from_secs(5), jitter: 0.2 };
    let budget = RestartPolicy {
        max_restarts: 5,
        within: Duration::from_secs(30),
        backoff,
        exhausted: ExhaustedAction::Quarantine,
    };
    let needs = absolute_paths([STORE, CONNECTORS, TOKENS, KEY_SETS, RECORDER]);
    let schedules = schedules.then(|| format!("{CRON}/{}", CronHandle::SCHEDULES));
    ChannelPolicy { group: CHANNELS.to_owned(), budget, mailbox: MAILBOX, drain: DRAIN, schedules, needs }
}

/// Nodes as those need them whose siblings are named by users, who may name one like a node of ours.
fn absolute_paths<const N: usize>(nodes: [&str; N]) -> Vec<String> {
    nodes.map(|node| format!("/{node}")).to_vec()
}

/// Where things are planted, and what they share.
pub(crate) struct Assembly<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) io: Placement,
    pub(crate) log: Logger,
}

/// What the registry stands on.
pub(crate) struct CoreServices {
    pub(crate) store: Store,
    pub(crate) key_sets: KeySetCache,
    pub(crate) nodes: NodeHandle,
    pub(crate) traces: Traces,
}

impl Assembly<'_> {
    /// Starts what the registry stands on: the store, the key sets, the lease, the recorder. Nothing is accepted yet.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_core_services(
        &self,
        opened: OpenedStore,
        key_sets: svc_keysets::Settings,
        (lease, of_lease): (svc_nodes::Settings, NodeMetrics),
        (settings, metrics): (svc_traces::Settings, TraceMetrics),
    ) -> Result<CoreServices, AssemblyError> {
        let (tree, io, log) = (self.tree, || self.io.clone(), || self.log.clone());
        let store = Store::supervise(opened, tree, STORE, io()).await?;
        let key_sets = KeySetCache::supervise(tree, KEY_SETS, io(), key_sets, log()).await?;
        let nodes = NodeHandle::supervise(tree, NODES, io(), &store, lease, of_lease, log()).await?;
        let parts = svc_traces::TraceServices {
            store: store.clone(),
            nodes: nodes.clone(),
            settings,
            metrics,
            log: log(),
        };
        let traces = Traces::supervise(tree, TRACES, io(), parts).await?;
        Ok(CoreServices { store, key_sets, nodes, traces })
    }

    /// Starts what obtains tokens. Nothing is obtained yet.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_tokens(
        &self,
        settings: svc_tokens::Settings,
        metrics: TokenMetrics,
    ) -> Result<Tokens, AssemblyError> {
        let (io, log) = (self.io.clone(), self.log.clone());
        Ok(Tokens::supervise(self.tree, TOKENS, io, settings, metrics, log).await?)
    }

    /// Starts the connectors, on a thread of their own, and waits until each is loaded or cannot be.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_connectors(
        &self,
        settings: svc_connectors::Settings,
        metrics: ConnectorMetrics,
        at: Placement,
    ) -> Result<Connectors, AssemblyError> {
        let connectors =
            Connectors::supervise(self.tree, CONNECTORS, at, settings, metrics, self.log.clone()).await?;
        connectors.reload(svc_connectors::ConnectorScope::All).await?;
        Ok(connectors)
    }

    /// Starts the check of the Kafka brokers of the settings.
    ///
    /// # Errors
    /// The actor could not be placed.
    pub(crate) async fn start_broker_check(
        &self,
        cluster: &KafkaCluster,
        limit: Duration,
    ) -> Result<BrokerHealth, AssemblyError> {
        let (io, log) = (self.io.clone(), self.log.clone());
        Ok(BrokerHealth::supervise(self.tree, KAFKA, io, cluster, limit, log).await?)
    }

    /// Starts the registry and waits until it runs, which is when the stored configuration serves. `schedules`: whether
    /// this node follows schedules.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_registry(
        &self,
        schedules: bool,
        parts: impl FnOnce(ChannelPolicy) -> RegistryParts,
    ) -> Result<Registry, AssemblyError> {
        self.tree.add_group(CHANNELS, GroupSpec::new()).await?;
        let spec = ChildSpec::new().essential().needs([STORE, CONNECTORS, TOKENS, KEY_SETS, RECORDER]);
        let parts = parts(channel_policy(schedules));
        let registry = Registry::supervise(self.tree, REGISTRY, spec, self.io.clone(), parts).await?;
        self.tree.wait_until_running(REGISTRY).await?;
        Ok(registry)
    }

    /// Begins to accept work and to clean up.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_accepting_work(
        &self,
        traces: &Traces,
        registry: &Registry,
        jobs: Vec<JobSpec>,
        metrics: JobMetrics,
    ) -> Result<(), AssemblyError> {
        traces.start(Arc::new(registry.clone()), &[REGISTRY, CHANNELS]).await?;
        let (io, log) = (self.io.clone(), self.log.clone());
        Housekeeping::supervise(self.tree, HOUSEKEEPING, io, jobs, metrics, log).await?;
        Ok(())
    }
}

impl Assembly<'_> {
    /// Begins to follow schedules.
    ///
    /// # Errors
    /// What did not start.
    pub(crate) async fn start_cron(
        &self,
        store: &Store,
        registry: &Registry,
        settings: svc_cron::Settings,
        metrics: CronMetrics,
    ) -> Result<CronHandle, AssemblyError> {
        let parts = svc_cron::CronServices {
            store: store.clone(),
            registry: registry.clone(),
            settings,
            metrics,
            log: self.log.clone(),
            needs: absolute_paths([STORE, REGISTRY, CHANNELS]),
        };
        Ok(CronHandle::supervise(self.tree, CRON, self.io.clone(), parts).await?)
    }
}

/// A child that did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// It could not be placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// What fetches key sets could not be set up.
    #[error("key sets cannot be fetched: {0}")]
    KeySets(#[from] svc_keysets::KeySetStartError),
    /// This process could not be put on record.
    #[error(transparent)]
    Node(#[from] svc_nodes::RegisterError),
    /// What obtains tokens could not be set up.
    #[error("tokens cannot be obtained: {0}")]
    Tokens(#[from] svc_tokens::TokensStartError),
    /// What is stored could not be read.
    #[error(transparent)]
    Connectors(#[from] svc_connectors::ConnectorReloadError),
    /// It was placed and did not come to run.
    #[error("the registry does not run: {0}")]
    End(#[from] NotRunningError),
}

impl From<AssemblyError> for ServiceStartError {
    fn from(error: AssemblyError) -> Self {
        Self::Tree(error.to_string())
    }
}
