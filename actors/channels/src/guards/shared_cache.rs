//! The reference of a guard to a cache shared with other processes.

use std::sync::Arc;

use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, CacheUnavailable, SharedCache};

/// The cache that the settings of a guard name, if any. Looked up at each use: a connector may change while
/// channels serve.
pub(super) struct SharedCacheRef(Option<String>);

impl SharedCacheRef {
    /// Warns of a connector that is no shared cache: the entries (`what`) then stay in this process.
    pub(super) fn new(
        channel: &str,
        connector: Option<&str>,
        what: &'static str,
        services: &ChannelServices,
    ) -> Self {
        if let (Some(connector), Some(connectors)) = (connector, &services.connectors)
            && let Err(CacheUnavailable::NotShared(error)) = connectors.shared_cache(connector, channel)
        {
            slog::warn!(services.log, "this process keeps in its own memory what a connector was to keep";
                "channel" => channel, "kept" => what, "reason" => %error);
        }
        Self(connector.map(str::to_owned))
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
        let (Some(connector), Some(connectors)) = (&self.0, &services.connectors) else { return Ok(None) };
        match connectors.shared_cache(connector, channel) {
            Ok(cache) => Ok(Some(cache)),
            Err(CacheUnavailable::NotShared(_)) => Ok(None),
            Err(CacheUnavailable::NotLoaded(error)) => Err(error),
        }
    }
}
