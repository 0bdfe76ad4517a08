//! Where a guard keeps what other processes are to find too.

use svc_connectors::{CacheError, NoCache, SharedCache};

use crate::toolbox::ChannelServices;

/// The cache that a guard's settings name, if they name one. Looked up at each use: a connector changes while channels serve.
pub(super) struct Shared(Option<String>);

impl Shared {
    /// Warns of a connector that cannot serve; what it was to keep (`what`) stays in this process then.
    pub(super) fn new(
        channel: &str,
        connector: Option<&str>,
        what: &'static str,
        tools: &ChannelServices,
    ) -> Self {
        if let (Some(connector), Some(connectors)) = (connector, &tools.connectors)
            && let Err(NoCache::Unfit(why)) = connectors.shared_cache(connector, channel)
        {
            slog::warn!(tools.log, "this process keeps in its own memory what a connector was to keep";
                "channel" => channel, "kept" => what, "reason" => %why);
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
        tools: &ChannelServices,
    ) -> Result<Option<SharedCache>, CacheError> {
        let (Some(connector), Some(connectors)) = (&self.0, &tools.connectors) else { return Ok(None) };
        match connectors.shared_cache(connector, channel) {
            Ok(cache) => Ok(Some(cache)),
            Err(NoCache::Unfit(_)) => Ok(None),
            Err(NoCache::Away(why)) => Err(why),
        }
    }
}
