//! The actor that obtains tokens.
//!
//! Owns the fetches that run, at most one for a connector. Messages in: [`Fetch`], answered when there is an
//! outcome, and `Save`, which it sends to itself. A fetch goes on when its caller leaves, and at a restart or
//! the end of the process it is waited for: a token that an endpoint gives out is never dropped half way. The
//! tokens are in the shared slots, so a restart loses nothing.

mod messages;

use std::sync::Arc;

use actix::{Actor, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Address, Context, ReadHandler, ReadReply, Supervised};
use slog::warn;
use tokio::time::Instant;

use crate::tokens::error::TokenError;
use crate::tokens::rotation;
use crate::tokens::shared::TokenContext;
use crate::tokens::slot::TokenSlot;
use crate::tokens::state::{AccessToken, ExpiringToken, TokenResult};

pub(crate) use messages::{Fetch, Save};

/// The actor.
pub(crate) struct Fetcher {
    context: Arc<TokenContext>,
    own: Option<Address<Self>>,
}

impl Fetcher {
    pub(crate) fn new(context: Arc<TokenContext>) -> Self {
        Self { context, own: None }
    }
}

impl Actor for Fetcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.own = Some(ctx.supervised_address());
    }
}

impl Supervised for Fetcher {}

impl ReadHandler<Fetch> for Fetcher {
    fn read(&self, Fetch { slot, seen }: Fetch) -> ReadReply<TokenResult> {
        let (context, own) = (Arc::clone(&self.context), self.own.clone());
        ReadReply::detached(async move {
            let mut rotation = slot.flight.lock().await;
            // Whoever began the fetch that has just ended may have left since.
            if let Some(settled) = slot.result_since(seen) {
                return settled;
            }
            let outcome = match slot.seed() {
                Some(seed) => rotation::refresh(&context, &slot, seed, &mut rotation).await,
                None => obtain(&context, &slot).await,
            };
            let outcome = slot.land(outcome);
            if let (false, Some(own)) = (rotation.is_saved(), own)
                && let Err(why) = own.cast(Save(Arc::clone(&slot)))
            {
                warn!(context.log, "tokens stay in memory until their next refresh";
                    "connector" => &*slot.connector, "reason" => %why);
            }
            outcome
        })
    }
}

impl Handler<Save> for Fetcher {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Save(slot): Save, _: &mut Self::Context) -> Self::Result {
        let context = Arc::clone(&self.context);
        Box::pin(async move { rotation::save_later(&context, &slot).await }.into_actor(self))
    }
}

/// Obtains a token by a grant without refresh tokens.
async fn obtain(context: &TokenContext, slot: &TokenSlot) -> Result<ExpiringToken, TokenError> {
    let granted = context.obtain(slot, None).await?;
    let ends = Instant::now() + granted.lifetime;
    Ok(ExpiringToken { token: Arc::new(AccessToken::new(granted.access_token)), ends })
}
