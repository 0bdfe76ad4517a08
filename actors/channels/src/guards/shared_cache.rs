//! The store in which a guard keeps its entries.

use std::sync::Arc;

use crate::log_rate_limit::LogRateLimit;
use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, CacheUnavailable, ConnectorAccess, SharedCache};

/// The cache that a guard shares with other processes, if any.
pub(super) struct SharedCacheRef {
    place: EntryPlace,
    failures: LogRateLimit,
}

enum EntryPlace {
    /// The memory of this process.
    Process,
    /// The store of the cluster.
    Cluster(Arc<dyn SharedCache>),
    /// The cache of a connector. Looked up at each use: a connector may change while channels serve.
    Connector {
        name: String,
        /// Set in a cluster: the memory of this process is no replacement.
        strict: bool,
    },
}

impl SharedCacheRef {
    /// Chooses the cache of the connector that the settings name, else that of the cluster, else the memory of this
    /// process. Outside a cluster a connector that is no shared cache is replaced by the memory of this process, with a
    /// warning that says what (`kept`) stays there.
    ///
    /// # Errors
    /// The reason why the connector cannot serve the nodes of a cluster.
    pub(super) fn new(
        channel: &str,
        connector: Option<&str>,
        kept: &'static str,
        services: &ChannelServices,
    ) -> Result<Self, String> {
        let place = match (connector, &services.connectors, &services.cluster) {
            (None, _, Some(store)) => EntryPlace::Cluster(Arc::clone(store) as Arc<dyn SharedCache>),
            (Some(name), Some(connectors), cluster) => {
                let strict = cluster.is_some();
                match connectors.shared_cache(name, channel) {
                    Err(unavailable) if strict => return Err(unavailable.to_string()),
                    Err(CacheUnavailable::NotShared(error)) => {
                        slog::warn!(services.log, "this process keeps in its own memory what a connector was to keep";
                            "channel" => channel, "kept" => kept, "reason" => %error);
                    }
                    _ => {}
                }
                EntryPlace::Connector { name: name.to_owned(), strict }
            }
            _ => EntryPlace::Process,
        };
        Ok(Self { place, failures: LogRateLimit::default() })
    }

    /// Returns the cache; `None` if this process keeps the entries itself.
    ///
    /// # Errors
    /// [`CacheError`] when the connector is not in use now: the entries of other processes are unknown.
    pub(super) fn cache(
        &self,
        channel: &str,
        services: &ChannelServices,
    ) -> Result<Option<Arc<dyn SharedCache>>, CacheError> {
        self.cache_of(channel, services.connectors.as_ref())
    }

    /// As [`cache`](Self::cache), with the connectors alone.
    ///
    /// # Errors
    /// Those of [`cache`](Self::cache).
    pub(super) fn cache_of(
        &self,
        channel: &str,
        connectors: Option<&Arc<dyn ConnectorAccess>>,
    ) -> Result<Option<Arc<dyn SharedCache>>, CacheError> {
        let (name, strict) = match &self.place {
            EntryPlace::Process => return Ok(None),
            EntryPlace::Cluster(store) => return Ok(Some(Arc::clone(store))),
            EntryPlace::Connector { name, strict } => (name, *strict),
        };
        let Some(connectors) = connectors else { return Ok(None) };
        match connectors.shared_cache(name, channel) {
            Ok(cache) => Ok(Some(cache)),
            Err(CacheUnavailable::NotShared(_)) if !strict => Ok(None),
            Err(CacheUnavailable::NotShared(error) | CacheUnavailable::NotLoaded(error)) => Err(error),
        }
    }

    /// Returns a name of the place: that of a connector, which is never empty, or none.
    pub(super) fn place(&self) -> &str {
        match &self.place {
            EntryPlace::Process | EntryPlace::Cluster(_) => "",
            EntryPlace::Connector { name, .. } => name,
        }
    }

    /// Logs a failure of the cache, a bounded number of times: each message may meet one.
    pub(super) fn log_failure(
        &self,
        event: &'static str,
        channel: &str,
        error: &CacheError,
        services: &ChannelServices,
    ) {
        if let Some(suppressed) = self.failures.allow_line() {
            slog::warn!(services.log, "{}", event;
                "channel" => channel, "reason" => %error, "suppressed" => suppressed);
        }
    }
}
