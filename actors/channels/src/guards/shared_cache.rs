//! Where a guard keeps what other processes are to find too.

use std::sync::Arc;

use crate::services::ChannelServices;
use crate::shared_cache::{CacheError, CacheUnavailable, SharedCache};

/// The cache that a guard's settings name, if they name one. Looked up at each use: a connector changes while channels serve.
pub(super) struct SharedCacheRef(Option<String>);

impl SharedCacheRef {
    /// Warns of a connector that cannot serve; what it was to keep (`what`) stays in this process then.
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

    /// The cache; `None` where this process keeps things itself.
    ///
    /// # Errors
    /// The connector is not in use now: what others keep there is not known.
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
