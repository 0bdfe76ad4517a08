//! The connectors that must answer before a channel of a cluster serves.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use svc_model::{Channel, ChannelConfig};
use tokio::time::timeout;

use crate::services::ChannelServices;

/// Time limit of an answer.
const LIMIT: Duration = Duration::from_secs(1);
/// The key that is read. Nothing is written.
const KEY: &str = "svc:probe";

/// The answers of connectors, each asked once: the failure of those that do not answer.
#[derive(Debug, Default)]
pub struct AskedConnectors(HashMap<String, Option<String>>);

impl AskedConnectors {
    /// Asks the connectors that these channels of a cluster share with other nodes, all at once. A connector that is no
    /// shared cache is not asked: the channel is not built with it.
    pub async fn ask<'c>(
        channels: impl IntoIterator<Item = &'c Channel>,
        services: &ChannelServices,
    ) -> Self {
        let mut channels_by_connector = HashMap::new();
        for row in channels {
            for (_, connector) in shared_connectors(row, services) {
                channels_by_connector.entry(connector).or_insert_with(|| row.content.name.clone());
            }
        }
        let answers = channels_by_connector.into_iter().map(|(connector, channel)| async move {
            let failure = failure(&connector, &channel, services).await;
            (connector, failure)
        });
        Self(join_all(answers).await.into_iter().collect())
    }

    /// Checks that the connectors answered that a channel of a cluster shares with other nodes.
    ///
    /// # Errors
    /// The reason to quarantine the channel.
    pub fn check(&self, row: &Channel, services: &ChannelServices) -> Result<(), String> {
        for (guard, connector) in shared_connectors(row, services) {
            if let Some(failure) = self.0.get(&connector).cloned().flatten() {
                return Err(format!("{guard}: {failure}"));
            }
        }
        Ok(())
    }
}

/// Returns the connectors that a channel of a cluster shares with other nodes, each with its guard.
fn shared_connectors(row: &Channel, services: &ChannelServices) -> Vec<(&'static str, String)> {
    let (Some(_), Ok(row)) = (&services.cluster, services.settings.resolve_values(row)) else {
        return Vec::new();
    };
    let Ok(config) = ChannelConfig::parse(&row.content.config) else { return Vec::new() };
    let keys = config.deduplication.and_then(|block| block.connector);
    let answers = config.cache.filter(|block| block.enabled).and_then(|block| block.connector);
    let named = [("deduplication", keys), ("response cache", answers)].into_iter();
    named.filter_map(|(guard, connector)| Some((guard, connector?))).collect()
}

/// Asks a connector; returns the failure of one that does not answer.
async fn failure(connector: &str, channel: &str, services: &ChannelServices) -> Option<String> {
    let cache = services.connectors.as_ref()?.shared_cache(connector, channel).ok()?;
    match timeout(LIMIT, cache.read(KEY.to_owned())).await {
        Ok(answer) => answer.err().map(|error| error.to_string()),
        Err(_) => Some(format!("connector '{connector}': no answer within {} ms", LIMIT.as_millis())),
    }
}
