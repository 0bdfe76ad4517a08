//! The actor that writes the figures of this node.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use tokio::time::{Instant, sleep_until};

use crate::shared::ConsoleShared;

/// Time between two writes.
const PERIOD: Duration = Duration::from_secs(10);
/// Writes between two deletions of what is old.
const DELETION: u32 = 30;

/// The actor.
pub(crate) struct FiguresWriter {
    shared: Arc<ConsoleShared>,
    writes: Option<SpawnHandle>,
}

impl FiguresWriter {
    pub(crate) const fn new(shared: Arc<ConsoleShared>) -> Self {
        Self { shared, writes: None }
    }
}

impl Actor for FiguresWriter {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        self.writes = Some(ctx.spawn(async move { write_figures(&shared).await }.into_actor(self)));
    }
}

impl Supervised for FiguresWriter {
    /// Adds the failures that were counted since the last write: the node is about to end.
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        if let Some(writes) = self.writes.take() {
            ctx.cancel_future(writes);
        }
        let groups = self.shared.groups.clone();
        Box::pin(async move {
            // Without a database they are lost with the process.
            let _ = groups.flush_counts().await;
        })
    }
}

/// Writes the figures every ten seconds.
async fn write_figures(shared: &ConsoleShared) {
    shared.groups.keep_counts();
    let (mut last, mut elapsed) = (Instant::now(), Duration::ZERO);
    loop {
        for _ in 0..DELETION {
            shared.write_figures(elapsed).await;
            let next = last + PERIOD;
            sleep_until(next).await;
            let now = Instant::now();
            (elapsed, last) = (now - last, now);
        }
        shared.delete_old().await;
    }
}
