//! The consumers that serve on this node.

use std::sync::Arc;

use parking_lot::RwLock;
use svc_auth::{ConsumerIdentity, ConsumerTable};
use svc_model::Timestamp;

/// The consumers that serve on this node, swapped as a whole when one changes. Cheap to clone; clones share them. A channel
/// that accepts no consumers never looks at it.
#[derive(Clone, Debug, Default)]
pub struct ConsumerDirectory(Arc<RwLock<Arc<ConsumerTable>>>);

impl ConsumerDirectory {
    /// Returns the consumers as they are now.
    pub fn current(&self) -> Arc<ConsumerTable> {
        Arc::clone(&self.0.read())
    }

    /// Makes a table the one that serves.
    pub fn replace(&self, table: Arc<ConsumerTable>) {
        *self.0.write() = table;
    }

    /// Returns the consumer that holds an API key; `None` if no live consumer has a live key of that text.
    pub fn find_api_key(&self, key: &str) -> Option<Arc<ConsumerIdentity>> {
        let now = Timestamp::now().naive().and_utc().timestamp();
        self.current().find_api_key(key.as_bytes(), now).cloned()
    }
}
