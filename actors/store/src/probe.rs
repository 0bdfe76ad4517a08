//! The health probe: checks the database every second, so that the status is current while nobody writes.
//!
//! It has no state, handles no messages, and can be lost at any time.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use crate::conn::run_on_io;
use crate::writer::WriterConnection;

const PERIOD: Duration = Duration::from_secs(1);
/// Time that a probe gets beyond its limit to end itself.
const MARGIN: Duration = Duration::from_millis(100);
/// A limit that ends this late says nothing of the database: the process did not run, such as one that was stopped.
const MAX_LATENESS: Duration = Duration::from_secs(1);

/// The actor that probes the database.
pub(crate) struct HealthProbe {
    pub(crate) link: Arc<WriterConnection>,
    pub(crate) io: Handle,
    /// Time limit for the answer. A database that completes neither the probe nor any batch within it counts as away until
    /// it answers.
    pub(crate) limit: Duration,
}

impl Actor for HealthProbe {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (link, io, limit) = (Arc::clone(&self.link), self.io.clone(), self.limit);
        let rounds = async move {
            let mut is_doubtful = false;
            loop {
                let (asked, backend) = (Arc::clone(&link), link.backend());
                let (begin, answers) = (Instant::now(), link.answers());
                let answer = run_on_io(&io, backend, async move { timeout(limit, asked.probe()).await });
                // A hanging call of the file system blocks its thread, so the wait has a limit here as well. A probe
                // that panics has learnt nothing; the next one runs anyway.
                let is_late = matches!(timeout(limit + MARGIN, answer).await, Err(_) | Ok(Ok(Err(_))));
                let counts = is_conclusive(begin.elapsed(), limit, is_doubtful);
                // After a doubtful check the next one begins at once.
                is_doubtful = is_late && !(counts && link.record_timeout(answers));
                if !is_doubtful {
                    sleep(PERIOD).await;
                }
            }
        };
        ctx.spawn(rounds.into_actor(self));
    }
}

impl Supervised for HealthProbe {}

/// Returns `true` if a check whose `limit` ended after `elapsed` says something of the database. The check after a doubtful
/// one always does.
fn is_conclusive(elapsed: Duration, limit: Duration, is_after_doubt: bool) -> bool {
    is_after_doubt || elapsed < limit + MAX_LATENESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_that_ends_late_counts_only_after_a_doubtful_check() {
        let limit = Duration::from_secs(2);
        let [punctual, late] = [limit + MARGIN, limit + MAX_LATENESS];
        assert!(is_conclusive(punctual, limit, false));
        assert!(!is_conclusive(late, limit, false));
        assert!(is_conclusive(late, limit, true));
    }
}
