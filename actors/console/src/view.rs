//! The part of the service that samples show and this crate does not know.

use std::sync::Arc;

use svc_api::{LiveCounts, LiveNode};

/// A view of the running service. Its methods read levels: they do no I/O and send no message.
pub trait ServiceView: Send + Sync + 'static {
    /// Returns the current id of this node.
    fn node_id(&self) -> Arc<str>;

    /// Describes this node.
    fn node(&self) -> LiveNode;

    /// Returns the counts of work, as last counted.
    fn counts(&self) -> LiveCounts;

    /// Returns the names of the channels in quarantine, at most `limit`, and their number.
    fn quarantined_channels(&self, limit: usize) -> (Vec<String>, usize);
}
