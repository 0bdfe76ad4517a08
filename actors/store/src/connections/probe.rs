//! The health probe: checks the database every second, so that the status is current without writes.
//!
//! It has no state, handles no messages, and can be lost at any time.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::conn::run_on_io;
use crate::writer::WriterConnection;

const PERIOD: Duration = Duration::from_secs(1);
/// Time that a probe gets beyond its limit to end itself.
const MARGIN: Duration = Duration::from_millis(100);

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
            loop {
                let (asked, backend) = (Arc::clone(&link), link.backend());
                let answers = link.answers();
                let answer = run_on_io(&io, backend, async move { timeout(limit, asked.probe()).await });
                // A hanging call of the file system blocks its thread, so the wait has a limit here as well. A probe
                // that panics has learnt nothing; the next one runs anyway.
                let is_late = matches!(timeout(limit + MARGIN, answer).await, Err(_) | Ok(Ok(Err(_))));
                // A late check that an answer outweighs tells nothing of what came after that, so the next one begins at
                // once.
                if !is_late || link.record_timeout(answers) {
                    sleep(PERIOD).await;
                }
            }
        };
        ctx.spawn(rounds.into_actor(self));
    }
}

impl Supervised for HealthProbe {}
