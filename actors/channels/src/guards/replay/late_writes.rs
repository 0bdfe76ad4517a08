//! Writes to the store of answers that failed: tried again in the background until the store is there again.
//!
//! Without them a store that is away at the end of a run would make its repeat run anew.

use std::sync::Arc;
use std::time::Duration;

use slog::Logger;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::shared_cache::CacheError;

/// Most writes of a channel that wait: each may have an answer of the largest size.
const MAX_PENDING: usize = 512;
/// First pause between two attempts; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time after which a write is given up.
const LONGEST: Duration = Duration::from_secs(600);

/// The writes of a channel that wait. Cheap to clone; clones share the bound.
#[derive(Clone)]
pub(super) struct LateWrites(Arc<Semaphore>);

impl Default for LateWrites {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PENDING)))
    }
}

impl LateWrites {
    /// Repeats a write until it succeeds. Must be called within a local set, such as that of an actor's thread.
    pub(super) fn repeat<F>(&self, log: Logger, write: F)
    where
        F: AsyncFn() -> Result<(), CacheError> + 'static,
    {
        let Ok(pending) = Arc::clone(&self.0).try_acquire_owned() else {
            slog::warn!(log, "an idempotency key ends with its lease: too many wait for their store");
            return;
        };
        tokio::task::spawn_local(async move {
            let end = Instant::now() + LONGEST;
            let mut pause = FIRST_PAUSE;
            loop {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                match write().await {
                    Ok(()) => break,
                    Err(error) if Instant::now() + pause >= end => {
                        slog::warn!(log, "an idempotency key ends with its lease"; "reason" => %error);
                        break;
                    }
                    Err(_) => {}
                }
            }
            drop(pending);
        });
    }
}
