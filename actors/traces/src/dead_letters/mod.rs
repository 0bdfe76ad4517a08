//! Retries of dead letters.
//!
//! The actor looks for letters when one is known to be due. One process for all looks once per `poll_interval`
//! as well, for letters whose writer is gone: the one that has the lease of the job. Messages it handles none.
//! Each look claims the letters that are due under a lease of its own. A claimed letter ends when a new trace is
//! made of it, the next attempt at its work, and its job enters the queue like any submission. After a look that failed
//! the actor rests, longer each time.
//!
//! The next attempt at work of a channel with shares waits in the database for its share, like the first.
//!
//! A letter goes back with a longer delay when the queue is full, or when its channel is quarantined on this
//! node. A letter whose holder died is due again when the lease expires. Each letter is moved into the queue
//! by a task of its own, which survives a restart of the actor and is awaited by `drain`.
//!
//! The actor also updates the gauge of dead letters. It runs no jobs itself.

mod due;
mod foreign_channels;
mod shared;
mod state;

use std::sync::Arc;

use actix::{Actor, AsyncContext, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::warn;
use tokio::time::{sleep, timeout};

pub(crate) use due::DueTimer;
use due::LookReason;
pub(crate) use foreign_channels::ForeignChannels;
pub(crate) use shared::RetryShared;

use crate::backoff::DATABASE_BACKOFF;

/// The actor that retries dead letters.
pub(crate) struct DeadLetterRetrier {
    retries: Arc<RetryShared>,
    looks: Option<SpawnHandle>,
}

impl DeadLetterRetrier {
    pub(crate) const fn new(retries: Arc<RetryShared>) -> Self {
        Self { retries, looks: None }
    }
}

impl Actor for DeadLetterRetrier {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let retries = Arc::clone(&self.retries);
        let looks = async move {
            // Letters may have become due while nothing looked.
            let (mut reason, mut rests) = (LookReason::Due, DATABASE_BACKOFF.delays());
            loop {
                retries.due.reset();
                if reason == LookReason::Due || retries.holds_poll().await {
                    match retries.look().await {
                        Ok(()) => rests.reset(),
                        // What is due stays due, and a database that cannot be written may still say so.
                        Err(_) => sleep(rests.next_delay()).await,
                    }
                }
                reason = retries.due.wait(retries.settings.poll_interval).await;
            }
        };
        self.looks = Some(ctx.spawn(looks.into_actor(self)));
        let retries = Arc::clone(&self.retries);
        ctx.spawn(async move { retries.show_depth().await }.into_actor(self));
    }
}

impl Supervised for DeadLetterRetrier {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        if let Some(looks) = self.looks.take() {
            ctx.cancel_future(looks);
        }
        let retries = Arc::clone(&self.retries);
        Box::pin(async move {
            if timeout(retries.patience, retries.moving.lock()).await.is_err() {
                warn!(retries.log, "a dead letter may have been taken; it is left to the next start");
            }
        })
    }
}
