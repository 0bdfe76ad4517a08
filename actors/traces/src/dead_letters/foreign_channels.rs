//! The channels whose letters are left to the nodes that serve them.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Time for which the letters of a channel are not claimed: a change may let this node serve it.
const LIFETIME: Duration = Duration::from_secs(3);

/// Names of channels that other nodes serve, each with the end of its entry.
#[derive(Debug, Default)]
pub(crate) struct ForeignChannels(Mutex<HashMap<String, Instant>>);

impl ForeignChannels {
    pub(super) fn insert(&self, channel: &str) {
        self.0.lock().insert(channel.to_owned(), Instant::now() + LIFETIME);
    }

    /// Returns the names. Entries that have ended are removed.
    pub(super) fn names(&self) -> Vec<String> {
        let now = Instant::now();
        let mut channels = self.0.lock();
        channels.retain(|_, end| *end > now);
        channels.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn foreign_channel_is_left_for_a_while() {
        let channels = ForeignChannels::default();
        channels.insert("stock");
        assert_eq!(channels.names(), ["stock"]);
        tokio::time::advance(LIFETIME).await;
        assert!(channels.names().is_empty());
    }
}
