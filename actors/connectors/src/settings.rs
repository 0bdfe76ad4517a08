//! The settings of all connectors of a process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use svc_credentials::tokens::Tokens;
use svc_outbound::Outbound;
use svc_secrets::Keyring;
use svc_store::Store;

use crate::breaker::BreakerSettings;

/// Looks up a variable of the environment by its name.
pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The services and bounds that every connector is made with.
#[derive(Clone)]
pub struct Settings {
    /// The store that holds the connectors.
    pub store: Store,
    /// Path of the store's node, which loads need.
    pub needs: String,
    /// The source of secret references.
    pub secrets: Keyring,
    /// The source of `${VAR}` placeholders.
    pub environment: VariableLookup,
    /// The declared values of `var://` references.
    pub vars: Map<String, Value>,
    /// The factory of outbound clients.
    pub outbound: Outbound,
    /// The source of OAuth2 tokens.
    pub tokens: Tokens,
    /// The settings of circuit breakers; `None` for no breakers.
    pub breakers: Option<BreakerSettings>,
    /// Most connection pools open at once; beyond it the least recently used is closed until it is needed
    /// again.
    pub max_pools: usize,
    /// Bounds of caches in memory.
    pub memory_cache: MemoryCacheSettings,
    /// The server's own Kafka cluster; `None` if Kafka is off.
    pub kafka: Option<KafkaCluster>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("breakers", &self.breakers).finish_non_exhaustive()
    }
}

/// A Kafka cluster: its brokers and the properties of its clients.
#[derive(Clone)]
pub struct KafkaCluster {
    /// `host:port` each, for connectors that name none of their own.
    pub brokers: Vec<String>,
    /// Client properties by name; the last one of a name wins. Credentials among them go to these brokers
    /// alone; the others apply to every connector.
    pub properties: Vec<(String, String)>,
}

/// Leaves out the values of properties: there are passwords among them.
impl fmt::Debug for KafkaCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.properties.iter().map(|(name, _)| name).collect();
        f.debug_struct("KafkaCluster").field("brokers", &self.brokers).field("properties", &names).finish()
    }
}

/// Bounds of caches in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCacheSettings {
    /// Most entries of one connector.
    pub max_entries: usize,
    /// Period of the removal of expired entries.
    pub cleanup_interval: Duration,
}
