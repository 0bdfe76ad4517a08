//! The services that channels are compiled with, the same for every channel of a process.

use std::sync::Arc;

use svc_auth::{KeySets, ProviderAccess};
use svc_engine::Engine;
use svc_secrets::Keyring;
use svc_spans::Spans;
use svc_traces::Traces;

use crate::compute_gate::ComputeGate;
use crate::consumer_directory::ConsumerDirectory;
use crate::guards::{CacheNamespaces, CallQuotas, LocalCaches, RateGroups, ReplayServices};
use crate::metrics::ChannelMetrics;
use crate::settings::Settings;
use crate::shared_cache::{ClusterStore, ConnectorAccess};

/// The services that every channel is compiled with and runs on.
#[derive(Clone)]
pub struct ChannelServices {
    /// The workflow engine.
    pub engine: Arc<Engine>,
    /// Server settings.
    pub settings: Arc<Settings>,
    /// The metrics of channels.
    pub metrics: ChannelMetrics,
    /// The values of secret references.
    pub secrets: Keyring,
    /// The keys of token issuers.
    pub key_sets: Arc<dyn KeySets>,
    /// The way to the providers at which people sign in.
    pub identity_providers: Arc<dyn ProviderAccess>,
    /// The caches shared with other processes; without connectors every channel keeps its entries in this
    /// process.
    pub connectors: Option<Arc<dyn ConnectorAccess>>,
    /// The store that the nodes of a cluster share; `None` outside cluster mode.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    /// The places of the answers that repeats of a request get.
    pub replay: ReplayServices,
    /// The quotas of channels.
    pub quotas: CallQuotas,
    /// The consumers whom channels may accept.
    pub consumers: ConsumerDirectory,
    /// The recorder of traces and the queue of accepted work; without them nothing is recorded and nothing
    /// accepted.
    pub traces: Option<Traces>,
    /// The limit on messages that take much processor time.
    pub compute_gate: ComputeGate,
    /// The rate limits shared by several channels.
    pub rate_groups: RateGroups,
    /// The caches of channels in the memory of this process.
    pub local_caches: LocalCaches,
    /// The namespaces of cached answers.
    pub namespaces: CacheNamespaces,
    /// Maximum number of entries that a channel keeps in the memory of the process: idempotency keys, cached
    /// responses.
    pub memory_entries: u64,
    /// The spans of scheduled and accepted runs, which begin here.
    pub spans: Spans,
    /// The logger.
    pub log: slog::Logger,
}
