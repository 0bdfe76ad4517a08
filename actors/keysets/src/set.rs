//! One key set, as its users share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use actix_supervision::Address;
use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use svc_auth::{Jwks, KeySet};
use svc_outbound::Url;
use tokio::sync::{Mutex as Turn, watch};
use tokio::time::{Instant, timeout};

use crate::fetcher::{FETCH_LIMIT, KeySetFetcher, Need, Refresh, State, Want};

/// The sets in use, by URL. Each takes itself out when its last user leaves.
#[derive(Default)]
pub(crate) struct KeySetDirectory {
    slots: Mutex<HashMap<Arc<str>, Weak<KeySetSlot>>>,
}

impl KeySetDirectory {
    pub(crate) fn slot(self: &Arc<Self>, url: Url) -> Arc<KeySetSlot> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(url.as_str()).and_then(Weak::upgrade) {
            return slot;
        }
        let name: Arc<str> = url.as_str().into();
        let slot = Arc::new(KeySetSlot {
            url,
            name: Arc::clone(&name),
            state: ArcSwap::default(),
            turn: Turn::default(),
            landings: watch::Sender::default(),
            directory: Arc::clone(self),
        });
        slots.insert(name, Arc::downgrade(&slot));
        slot
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<KeySetSlot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A shared key set: read by all users, changed by the actor alone.
pub(crate) struct KeySetSlot {
    url: Url,
    name: Arc<str>,
    state: ArcSwap<State>,
    /// One caller at a time asks the actor, so that those of one issuer never fill its mailbox.
    turn: Turn<()>,
    /// Tells those who wait that a fetch has ended.
    landings: watch::Sender<()>,
    directory: Arc<KeySetDirectory>,
}

impl KeySetSlot {
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The URL as logs name it: a query may hold a secret.
    pub(crate) fn shown(&self) -> &str {
        self.name.split('?').next().unwrap_or_default()
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&State) -> State) {
        self.state.store(Arc::new(change(&self.state.load())));
    }

    /// As [`change`](Self::change), at the end of a fetch.
    pub(crate) fn land(&self, change: impl FnOnce(&State) -> State) {
        self.change(change);
        self.landings.send_replace(());
    }
}

impl Drop for KeySetSlot {
    fn drop(&mut self) {
        let mut slots = self.directory.lock();
        // Another may have taken the place since the last user left.
        if slots.get(&self.name).is_some_and(|slot| slot.strong_count() == 0) {
            slots.remove(&self.name);
        }
    }
}

/// A user's hold on a set.
pub(crate) struct SharedSet {
    pub(crate) slot: Arc<KeySetSlot>,
    pub(crate) fetcher: Address<KeySetFetcher>,
}

impl SharedSet {
    /// Whatever becomes of the actor, the answer is the keys at hand after at most the time of a fetch.
    async fn wanted(&self, want: Want) -> Option<Arc<Jwks>> {
        let _ = timeout(FETCH_LIMIT, self.settle(want)).await;
        self.slot.state().keys()
    }

    /// Has the set fetched if that is necessary, and waits for the end of it.
    async fn settle(&self, want: Want) {
        // From here on no landing is missed.
        let mut landings = self.slot.landings.subscribe();
        if self.needs_fetch(&want) {
            let _turn = self.slot.turn.lock().await;
            if self.needs_fetch(&want) {
                let refresh = Refresh { slot: Arc::clone(&self.slot), want: want.clone() };
                let _ = self.fetcher.call_within(refresh, FETCH_LIMIT).await;
            }
        }
        // Where nothing runs now, the actor is down, and nothing will.
        if self.need(&want) == Need::Running {
            let _ = landings.changed().await;
        }
    }

    fn need(&self, want: &Want) -> Need {
        self.slot.state().need(Instant::now(), want)
    }

    fn needs_fetch(&self, want: &Want) -> bool {
        matches!(self.need(want), Need::Fetch | Need::ForcedFetch)
    }
}

impl KeySet for SharedSet {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        let state = self.slot.state.load();
        if state.is_settled(Instant::now()) { state.keys() } else { None }
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        Box::pin(self.wanted(Want::Fresh))
    }

    fn renew<'s>(&'s self, seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        Box::pin(self.wanted(Want::OtherThan(Arc::clone(seen))))
    }
}
