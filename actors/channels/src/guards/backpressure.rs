//! The limit on concurrent messages of a channel.

use std::sync::Arc;

use svc_model::config::BackpressureConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit to run; released when dropped.
pub(crate) type Permit = OwnedSemaphorePermit;

/// No permit is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPermit;

/// The permits of a channel on this node, shared by its threads and, while their number stays, by its
/// generations.
#[derive(Clone, Debug)]
pub(crate) struct Permits {
    limit: u64,
    pool: Arc<Semaphore>,
}

impl Permits {
    pub(super) fn build(block: BackpressureConfig, previous: Option<&Self>) -> Self {
        let limit = block.max_concurrent_per_node;
        if let Some(previous) = previous.filter(|previous| previous.limit == limit) {
            return previous.clone();
        }
        let permits = usize::try_from(limit).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { limit, pool: Arc::new(Semaphore::new(permits)) }
    }

    /// Acquires a permit without waiting.
    pub(super) fn try_acquire(&self) -> Result<Permit, NoPermit> {
        Arc::clone(&self.pool).try_acquire_owned().map_err(|_| NoPermit)
    }

    /// Returns the number of permits that are left.
    pub(super) fn free(&self) -> usize {
        self.pool.available_permits()
    }
}
