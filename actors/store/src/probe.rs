//! The probe: asks for a sign of life every second, so that the status is true while nobody writes.
//!
//! Owns nothing, takes no messages, and can be lost at any time.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::conn::on_io;
use crate::writer::Link;

const PERIOD: Duration = Duration::from_secs(1);

/// The actor.
pub(crate) struct Probe {
    pub(crate) link: Arc<Link>,
    pub(crate) io: Handle,
}

impl Actor for Probe {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (link, io) = (Arc::clone(&self.link), self.io.clone());
        let rounds = async move {
            loop {
                let link = Arc::clone(&link);
                let backend = link.backend();
                // A probe that panics has learnt nothing; the next one may.
                let _ended = on_io(&io, backend, async move { link.probe().await }).await;
                sleep(PERIOD).await;
            }
        };
        ctx.spawn(rounds.into_actor(self));
    }
}

impl Supervised for Probe {}
