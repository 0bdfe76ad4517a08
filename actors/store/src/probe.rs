//! The probe: asks for a sign of life every second, so that the status is true while nobody writes.
//!
//! Owns nothing, takes no messages, and can be lost at any time.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::conn::run_on_io;
use crate::writer::WriterConnection;

const PERIOD: Duration = Duration::from_secs(1);
/// Time beyond its limit in which a probe says that it has passed.
const MARGIN: Duration = Duration::from_millis(100);

/// The actor.
pub(crate) struct HealthProbe {
    pub(crate) link: Arc<WriterConnection>,
    pub(crate) io: Handle,
    /// The longest that the database may take to answer.
    pub(crate) limit: Duration,
}

impl Actor for HealthProbe {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (link, io, limit) = (Arc::clone(&self.link), self.io.clone(), self.limit);
        let rounds = async move {
            loop {
                let (asked, backend) = (Arc::clone(&link), link.backend());
                let answer = run_on_io(&io, backend, async move { asked.probe(limit).await });
                // A call of the file system that hangs holds its thread, so it is not waited for here. A probe that
                // panics has learnt nothing; the next one may.
                if timeout(limit + MARGIN, answer).await.is_err() {
                    link.record_timeout();
                }
                sleep(PERIOD).await;
            }
        };
        ctx.spawn(rounds.into_actor(self));
    }
}

impl Supervised for HealthProbe {}
