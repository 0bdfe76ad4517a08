//! The connectors that must answer before a channel of a cluster serves.

use std::collections::HashMap;
use std::time::Duration;

use svc_model::{Channel, ChannelConfig};
use tokio::time::timeout;

use crate::services::ChannelServices;

/// Time limit of an answer.
const LIMIT: Duration = Duration::from_secs(1);
/// The key that is read. Nothing is written.
const KEY: &str = "svc:probe";

/// The connectors asked so far, each once: the failure of those that do not answer.
#[derive(Debug, Default)]
pub struct AskedConnectors(HashMap<String, Option<String>>);

impl AskedConnectors {
    /// Asks the connectors that a channel of a cluster shares with other nodes. A connector that is no shared cache is not
    /// asked: the channel is not built with it.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub async fn check(&mut self, row: &Channel, services: &ChannelServices) -> Result<(), String> {
        let (Some(_), Ok(config)) = (&services.cluster, ChannelConfig::parse(&row.content.config)) else {
            return Ok(());
        };
        let keys = config.deduplication.and_then(|block| block.connector);
        let answers = config.cache.filter(|block| block.enabled).and_then(|block| block.connector);
        for (guard, connector) in [("deduplication", keys), ("response cache", answers)] {
            let Some(connector) = connector else { continue };
            if let Some(failure) = self.failure(&connector, &row.content.name, services).await {
                return Err(format!("{guard}: {failure}"));
            }
        }
        Ok(())
    }

    async fn failure(
        &mut self,
        connector: &str,
        channel: &str,
        services: &ChannelServices,
    ) -> Option<String> {
        if let Some(asked) = self.0.get(connector) {
            return asked.clone();
        }
        let cache = services.connectors.as_ref()?.shared_cache(connector, channel).ok()?;
        let failure = match timeout(LIMIT, cache.read(KEY.to_owned())).await {
            Ok(answer) => answer.err().map(|error| error.to_string()),
            Err(_) => Some(format!("connector '{connector}': no answer within {} ms", LIMIT.as_millis())),
        };
        self.0.insert(connector.to_owned(), failure.clone());
        failure
    }
}
