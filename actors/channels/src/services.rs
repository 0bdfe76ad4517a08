//! What definitions are built with, the same for every channel of a process.

use std::sync::Arc;

use svc_auth::KeySets;
use svc_engine::Engine;
use svc_secrets::Keyring;
use svc_traces::Traces;

use crate::compute_gate::ComputeGate;
use crate::guards::RateGroups;
use crate::metrics::ChannelMetrics;
use crate::settings::Settings;
use crate::shared_cache::ConnectorAccess;

/// What a definition is built with, the same for every channel.
#[derive(Clone)]
pub struct ChannelServices {
    /// Compiles and runs.
    pub engine: Arc<Engine>,
    /// Server settings.
    pub settings: Arc<Settings>,
    /// What is counted.
    pub metrics: ChannelMetrics,
    /// Where the values of secret references are read.
    pub secrets: Keyring,
    /// Where the keys of token issuers come from.
    pub key_sets: Arc<dyn KeySets>,
    /// Where channels keep what other processes are to find too; without any everything stays in this one.
    pub connectors: Option<Arc<dyn ConnectorAccess>>,
    /// Where runs leave traces and accepted work waits; without one nothing is recorded and nothing accepted.
    pub traces: Option<Traces>,
    /// The turns of messages that take much of the processor.
    pub compute_gate: ComputeGate,
    /// The rate limits that channels share.
    pub rate_groups: RateGroups,
    /// Most entries a channel keeps in the memory of the process: idempotency keys, answers to be reused.
    pub memory_entries: u64,
    /// Where it logs.
    pub log: slog::Logger,
}
