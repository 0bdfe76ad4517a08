//! Writes to the store of answers that failed: tried again in the background until the store is there again.
//!
//! Without them a store that is away at the end of a run would make its repeat run anew.

use std::sync::Arc;

use slog::Logger;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::guards::late_release::{LATE_BACKOFF, LONGEST_RETRY};
use crate::log_rate_limit::LogRateLimit;
use crate::shared_cache::CacheError;

/// Most writes of a channel that wait: each may have an answer of the largest size.
const MAX_PENDING: usize = 512;

/// The writes of a channel that wait. Cheap to clone; clones share the bound.
#[derive(Clone)]
pub(super) struct LateWrites {
    room: Arc<Semaphore>,
    failures: Arc<LogRateLimit>,
}

impl Default for LateWrites {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(MAX_PENDING)), failures: Arc::default() }
    }
}

impl LateWrites {
    /// Logs a failed write, a bounded number of times: each run may end with one.
    pub(super) fn log_failure(&self, log: &Logger, event: &'static str, reason: &CacheError) {
        if let Some(suppressed) = self.failures.allow_line() {
            slog::warn!(log, "{}", event; "reason" => %reason, "suppressed" => suppressed);
        }
    }

    /// Repeats a write until it succeeds; one too many is left out, and its claim ends with its lease. Must be called
    /// within a local set, such as that of an actor's thread.
    pub(super) fn repeat<F>(&self, log: Logger, write: F)
    where
        F: AsyncFn() -> Result<(), CacheError> + 'static,
    {
        let Ok(pending) = Arc::clone(&self.room).try_acquire_owned() else { return };
        let writes = self.clone();
        tokio::task::spawn_local(async move {
            let end = Instant::now() + LONGEST_RETRY;
            let mut delays = LATE_BACKOFF.delays();
            let mut pause = delays.next_delay();
            loop {
                sleep(pause).await;
                pause = delays.next_delay();
                match write().await {
                    Ok(()) => break,
                    Err(error) if Instant::now() + pause >= end => {
                        writes.log_failure(&log, "an idempotency key ends with its lease", &error);
                        break;
                    }
                    Err(_) => {}
                }
            }
            drop(pending);
        });
    }
}
