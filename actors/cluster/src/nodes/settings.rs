//! Settings of a node.

use std::time::Duration;

use svc_model::id::new_ordered_id;

/// Renewals per lease length.
const HEARTBEATS: u32 = 3;

/// The settings of a node and its lease.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first id of this process; see [`Settings::new_id`].
    pub id: String,
    /// Version of the program.
    pub version: &'static str,
    /// Length of the lease.
    pub lease: Duration,
    /// True if no other process can use the database.
    pub is_alone: bool,
    /// Paths of the nodes of the tree that start before this one and are drained after it, such as the store.
    pub needs: Vec<String>,
}

impl Settings {
    /// Returns an id that no other process ever has: the name of the instance and a unique part. At most 128
    /// characters for a name of at most 64.
    pub fn new_id(instance: &str) -> String {
        format!("{instance}:{}", new_ordered_id())
    }

    /// Returns the time between two renewals.
    pub fn heartbeat(&self) -> Duration {
        self.lease / HEARTBEATS
    }

    /// Returns a new id for the same instance.
    pub fn next_id(&self) -> String {
        let instance = self.id.rsplit_once(':').map_or(self.id.as_str(), |(instance, _)| instance);
        Self::new_id(instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_instance_differ_at_the_end() {
        let id = Settings::new_id("eu:1");
        let settings = Settings {
            id: id.clone(),
            version: "1",
            lease: Duration::from_secs(15),
            is_alone: false,
            needs: Vec::new(),
        };
        let next = settings.next_id();
        assert!(next != id && next.starts_with("eu:1:") && next.len() == id.len());
        assert!(Settings::new_id(&"n".repeat(64)).len() <= 128);
        assert_eq!(settings.heartbeat(), Duration::from_secs(5));
    }
}
