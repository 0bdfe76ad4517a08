//! The actor that samples the process while somebody watches.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use tokio::time::{Instant, sleep_until};

use crate::shared::ConsoleShared;

/// Time between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// Time for which the samples go on without a viewer: one that lost its connection comes back within it, and gets what it
/// missed.
const LINGER: Duration = Duration::from_secs(5);

/// The actor.
pub(crate) struct LiveSampler {
    shared: Arc<ConsoleShared>,
}

impl LiveSampler {
    pub(crate) const fn new(shared: Arc<ConsoleShared>) -> Self {
        Self { shared }
    }
}

impl Actor for LiveSampler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { sample_while_watched(&shared).await }.into_actor(self));
    }
}

impl Supervised for LiveSampler {}

/// Samples once a second from the first viewer on, until none has watched for a while.
async fn sample_while_watched(shared: &ConsoleShared) {
    loop {
        shared.wait_for_sampling().await;
        let (mut last, mut watched_at) = (Instant::now(), Instant::now());
        loop {
            sleep_until(last + PERIOD).await;
            let now = Instant::now();
            // A thread that was late samples the whole time, and does not catch up.
            if shared.sample(now - last) > 0 {
                watched_at = now;
            }
            last = now;
            if now - watched_at >= LINGER && shared.end_sampling() {
                break;
            }
        }
    }
}
