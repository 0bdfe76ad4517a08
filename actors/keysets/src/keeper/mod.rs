//! The actor that fetches.
//!
//! Owns the fetches that run, at most one for a URL, and is alone in changing the sets. Message in: [`Refresh`]. Nothing
//! of it survives a restart and nothing has to: a fetch that was lost is asked for again, and the sets keep their keys and
//! pauses.

mod msg;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture, fut};
use actix_supervision::{Context, Supervised};
use futures_util::FutureExt;
use futures_util::future::Shared;
use slog::{Logger, info, warn};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::set::Slot;
use crate::source::{Failure, Fetched, Source};

pub(crate) use msg::Refresh;
pub(crate) use state::{FETCH_LIMIT, Need, State, Want};

/// Ends when the fetch does.
type Flight = Shared<oneshot::Receiver<()>>;

/// The actor.
pub(crate) struct Keeper {
    /// By URL.
    flights: HashMap<Arc<str>, Flight>,
    source: Arc<dyn Source>,
    log: Logger,
}

impl Keeper {
    pub(crate) fn new(source: Arc<dyn Source>, log: Logger) -> Self {
        Self { flights: HashMap::new(), source, log }
    }

    fn start(&mut self, slot: Arc<Slot>, forced: bool, ctx: &mut Context<Self>) -> Flight {
        let (landed, flight) = oneshot::channel();
        let flight = flight.shared();
        self.flights.insert(slot.name(), flight.clone());
        slot.change(|state| state.begun(Instant::now(), forced));
        // What an issuer sends must not take the others down with it: a panic over it is a failed fetch.
        let fetch = AssertUnwindSafe(timeout(FETCH_LIMIT, self.source.fetch(slot.url()))).catch_unwind();
        ctx.spawn(fetch.into_actor(self).map(move |outcome, keeper, _| {
            keeper.flights.remove(&*slot.name());
            let outcome = match outcome {
                Ok(in_time) => in_time.unwrap_or(Err(Failure::Late)),
                Err(_) => Err(Failure::Panicked),
            };
            keeper.land(&slot, outcome);
            // Everybody may have left.
            let _ = landed.send(());
        }));
        flight
    }

    fn land(&self, slot: &Slot, outcome: Result<Fetched, Failure>) {
        let now = Instant::now();
        let failed_before = slot.state().is_failing();
        match outcome {
            Ok(Fetched { keys, max_age }) => {
                let keys = Arc::new(keys);
                slot.change(|state| state.succeeded(now, Arc::clone(&keys), max_age));
                if failed_before {
                    info!(self.log, "the key set is fetched again"; "url" => slot.shown());
                }
            }
            Err(failure) => {
                slot.change(|state| state.failed(now));
                if !failed_before {
                    let at_hand = slot.state().keys().is_some();
                    warn!(self.log, "the key set cannot be fetched";
                        "url" => slot.shown(), "error" => %failure, "keys_at_hand" => at_hand);
                }
            }
        }
    }
}

impl Actor for Keeper {
    type Context = Context<Self>;
}

/// A fetch ends by itself and nobody outside depends on its end: nothing to drain.
impl Supervised for Keeper {}

impl Handler<Refresh> for Keeper {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Refresh { slot, want }: Refresh, ctx: &mut Context<Self>) -> Self::Result {
        let running = self.flights.get(&*slot.name()).cloned();
        let flight = match slot.state().need(Instant::now(), &want, running.is_some()) {
            Need::Nothing => None,
            Need::Running => running,
            need => {
                let flight = self.start(Arc::clone(&slot), need == Need::ForcedFetch, ctx);
                // With keys at hand nobody waits for an issuer that failed last time, except for a key they lack.
                let waits = !matches!(want, Want::Fresh) || !slot.state().is_settled(Instant::now());
                waits.then_some(flight)
            }
        };
        match flight {
            None => Box::pin(fut::ready(())),
            Some(flight) => Box::pin(flight.into_actor(self).map(|_, _, _| ())),
        }
    }
}
