//! Idempotency keys that may be claimed although no answer came: given back once the cache answers again.
//!
//! The caller of a refused message is asked to retry. A claim that the cache stored all the same would make its retry a
//! duplicate of a message that never ran.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use slog::Logger;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::shared_cache::SharedCache;

/// Most keys of a channel that wait for their release: more than claims are in flight when a cache hangs.
const MAX_PENDING: usize = 4096;
/// Pauses between two attempts to write to a store that does not answer.
pub(super) const LATE_BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(5));
/// Time after which a key is left to end by itself, and a write is given up.
pub(super) const LONGEST_RETRY: Duration = Duration::from_secs(600);

/// The keys of a channel that wait for their release. Cheap to clone; clones share the bound.
#[derive(Clone)]
pub(super) struct LateReleases(Arc<Semaphore>);

impl Default for LateReleases {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PENDING)))
    }
}

impl LateReleases {
    /// Gives a key of `owner` back in the background, trying again until it ends by itself. Must be called within a local
    /// set, such as that of an actor's thread.
    pub(super) fn release(
        &self,
        cache: Arc<dyn SharedCache>,
        key: String,
        owner: String,
        life: Duration,
        log: Logger,
    ) {
        let Ok(pending) = Arc::clone(&self.0).try_acquire_owned() else { return };
        tokio::task::spawn_local(async move {
            let end = Instant::now() + life.min(LONGEST_RETRY);
            let mut delays = LATE_BACKOFF.delays();
            while let Err(error) = cache.release(key.clone(), owner.clone()).await {
                let pause = delays.next_delay();
                if Instant::now() + pause >= end {
                    slog::warn!(log, "an idempotency key is not given back, it ends by itself"; "reason" => %error);
                    break;
                }
                sleep(pause).await;
            }
            drop(pending);
        });
    }
}
