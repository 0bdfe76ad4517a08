//! The actor that fetches.
//!
//! Owns the fetches that run, at most one for a set, and is alone in changing the sets. Message in:
//! [`Refresh`], which begins a fetch; no caller waits in here. Fetches again by itself before keys are no longer
//! fresh, while they are in use. Nothing of it survives a restart and nothing has to: fetches that go down
//! with it have failed, callers ask for others, and the sets keep their keys and pauses.

mod messages;
mod state;
#[cfg(test)]
#[expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]
mod tests;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, SpawnHandle, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::FutureExt;
use slog::{Logger, info, warn};
use tokio::time::{Instant, timeout};

use crate::keysets::set::SharedKeySetSlot;
use crate::keysets::source::{FetchedKeySet, KeySetFetchError, KeySetSource};

pub(crate) use messages::Refresh;
pub(crate) use state::{FETCH_LIMIT, Need, State, Want, lifetime};

/// The actor.
pub(crate) struct KeySetFetcher {
    /// The next fetch of each set, by URL.
    due: HashMap<Arc<str>, SpawnHandle>,
    source: Arc<dyn KeySetSource>,
    log: Logger,
}

/// A fetch that runs. One that goes down with the actor has failed like any other, and whoever waits for it
/// is notified.
struct Flight(Arc<SharedKeySetSlot>);

impl Flight {
    fn begin(slot: Arc<SharedKeySetSlot>, forced: bool) -> Self {
        slot.change(|state| state.begin_fetch(Instant::now(), forced));
        Self(slot)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let now = Instant::now();
        if self.0.state().is_busy(now) {
            self.0.land(|state| state.record_failure(now));
        }
    }
}

impl KeySetFetcher {
    pub(crate) fn new(source: Arc<dyn KeySetSource>, log: Logger) -> Self {
        Self { due: HashMap::new(), source, log }
    }

    fn start(&mut self, slot: Arc<SharedKeySetSlot>, forced: bool, ctx: &mut Context<Self>) {
        let flight = Flight::begin(slot, forced);
        // What an issuer sends must not take the others down with it: a panic over it is a failed fetch.
        let fetch = match flight.0.issuer() {
            Some(issuer) => self.source.fetch_discovered(flight.0.url(), issuer),
            None => self.source.fetch(flight.0.url()),
        };
        let fetch = timeout(FETCH_LIMIT, fetch);
        let fetch = AssertUnwindSafe(fetch).catch_unwind().into_actor(self);
        ctx.spawn(fetch.map(move |outcome, fetcher, ctx| {
            let outcome = match outcome {
                Ok(in_time) => in_time.unwrap_or(Err(KeySetFetchError::Late)),
                Err(_) => Err(KeySetFetchError::Panicked),
            };
            fetcher.land(&flight.0, outcome, ctx);
        }));
    }

    fn land(
        &mut self,
        slot: &Arc<SharedKeySetSlot>,
        outcome: Result<FetchedKeySet, KeySetFetchError>,
        ctx: &mut Context<Self>,
    ) {
        let now = Instant::now();
        let failed_before = slot.state().is_failing();
        match outcome {
            Ok(FetchedKeySet { keys, max_age }) => {
                let (keys, lifetime) = (Arc::new(keys), lifetime(max_age));
                slot.land(|state| state.record_success(now, keys, lifetime));
                // While the keys still are fresh, so that nobody has to wait.
                self.start_in(lifetime * 4 / 5, slot, ctx);
                if failed_before {
                    info!(self.log, "the key set is fetched again"; "url" => slot.display_url());
                }
            }
            Err(failure) => {
                slot.land(|state| state.record_failure(now));
                if !failed_before {
                    let at_hand = slot.state().keys().is_some();
                    warn!(self.log, "the key set cannot be fetched";
                        "url" => slot.display_url(), "error" => %failure, "keys_at_hand" => at_hand);
                }
            }
        }
    }

    /// Fetches a set after a while if it is still in use.
    fn start_in(&mut self, pause: Duration, slot: &Arc<SharedKeySetSlot>, ctx: &mut Context<Self>) {
        let (name, slot) = (Arc::clone(slot.name()), Arc::downgrade(slot));
        let key = Arc::clone(&name);
        let timer = ctx.run_later(pause, move |fetcher, ctx| {
            fetcher.due.remove(&key);
            if let Some(slot) = slot.upgrade().filter(|slot| !slot.state().is_busy(Instant::now())) {
                fetcher.start(slot, false, ctx);
            }
        });
        if let Some(earlier) = self.due.insert(name, timer) {
            ctx.cancel_future(earlier);
        }
    }
}

impl Actor for KeySetFetcher {
    type Context = Context<Self>;
}

/// A fetch ends by itself and nothing outside depends on its end: nothing to drain.
impl Supervised for KeySetFetcher {}

impl Handler<Refresh> for KeySetFetcher {
    type Result = ();

    fn handle(&mut self, Refresh { slot, want }: Refresh, ctx: &mut Context<Self>) {
        match slot.state().need(Instant::now(), &want) {
            Need::Nothing | Need::Running => {}
            need => self.start(slot, need == Need::ForcedFetch, ctx),
        }
    }
}
