//! Channels that accepted work names and this node does not serve: new ones, those of other nodes, and removed ones.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::handle::Registry;
use crate::scope::ReloadScope;

/// Lifetime of an answer: the backlog of a removed channel must not cost a load for each row.
const LIFETIME: Duration = Duration::from_secs(2);

/// The answers about unknown channels, each for a moment.
#[derive(Debug, Default)]
pub(crate) struct UnknownChannels(Mutex<HashMap<String, UnknownChannel>>);

#[derive(Debug)]
struct UnknownChannel {
    /// True if its work begins on this node.
    begins: bool,
    at: Instant,
}

impl UnknownChannels {
    async fn find(&self, channel: &str) -> Option<bool> {
        let known = self.0.lock().await;
        known.get(channel).filter(|known| known.at.elapsed() < LIFETIME).map(|known| known.begins)
    }

    async fn insert(&self, channel: &str, begins: bool) {
        let mut known = self.0.lock().await;
        known.retain(|_, known| known.at.elapsed() < LIFETIME);
        known.insert(channel.to_owned(), UnknownChannel { begins, at: Instant::now() });
    }
}

impl Registry {
    /// Returns whether accepted work of a channel that the snapshot does not have begins on this node: not that of a channel
    /// of another node. A channel that was activated a moment ago is loaded; work of a removed one ends as a failure.
    pub(super) async fn begins_work_of_unknown(&self, id: Option<&str>, name: &str) -> bool {
        let key = id.unwrap_or(name);
        if let Some(begins) = self.unknown.find(key).await {
            return begins;
        }
        let channels = self.shared.store.channels();
        let row = match id {
            Some(id) => channels.latest(id).await,
            None => channels.latest_named(name).await,
        };
        let begins = match row {
            Ok(None) => true,
            Ok(Some(row)) if !self.admits(&row.content.name) => false,
            Ok(Some(row)) => self.reload(ReloadScope::channel(row.channel_id)).await.is_ok(),
            Err(_) => false,
        };
        self.unknown.insert(key, begins).await;
        begins
    }
}
