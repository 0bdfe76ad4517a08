//! One key set, as its users share it.

use std::sync::Arc;

use actix_supervision::Address;
use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use svc_auth::{Jwks, KeySet};
use svc_outbound::Url;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::keysets::fetcher::{FETCH_LIMIT, KeySetFetcher, Need, Refresh, State, Want};
use crate::single_flight::{SharedEntry, SharedMap};

/// The sets in use, by URL.
pub(crate) type KeySetDirectory = SharedMap<KeySetSlot>;

/// A set as its users hold it.
pub(crate) type SharedKeySetSlot = SharedEntry<KeySetSlot>;

/// A shared key set: read by all users, changed by the actor alone.
pub(crate) struct KeySetSlot {
    url: Url,
    /// Set if the keys are found by the discovery document of this issuer, which is at `url`.
    issuer: Option<Box<str>>,
    state: ArcSwap<State>,
    /// Notifies those who wait that a fetch has ended.
    landings: watch::Sender<()>,
}

impl KeySetSlot {
    pub(crate) fn new(url: Url) -> Self {
        Self { url, issuer: None, state: ArcSwap::default(), landings: watch::Sender::default() }
    }

    /// Creates the set of an issuer whose discovery document is at `url`.
    pub(crate) fn discovered(url: Url, issuer: &str) -> Self {
        Self { issuer: Some(issuer.into()), ..Self::new(url) }
    }

    pub(crate) fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the URL as logs name it: a query may hold a secret.
    pub(crate) fn display_url(&self) -> &str {
        self.url.as_str().split('?').next().unwrap_or_default()
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

/// A user's hold on a set.
pub(crate) struct SharedSet {
    pub(crate) slot: Arc<SharedKeySetSlot>,
    pub(crate) fetcher: Address<KeySetFetcher>,
}

impl SharedSet {
    /// Returns the keys at hand once a fetch has ended, after at most the time of a fetch, whatever becomes of the
    /// actor.
    async fn fetch_keys(&self, want: Want) -> Option<Arc<Jwks>> {
        let _ = timeout(FETCH_LIMIT, self.settle(want)).await;
        self.slot.state().keys()
    }

    /// Has the set fetched if that is necessary, and waits for the end of it.
    async fn settle(&self, want: Want) {
        // From here on no landing is missed.
        let mut landings = self.slot.landings.subscribe();
        // One caller at a time asks the actor, so that those of one issuer never fill its mailbox.
        let settled = || (!self.needs_fetch(&want)).then_some(());
        let request_fetch = async || {
            let refresh = Refresh { slot: Arc::clone(&self.slot), want: want.clone() };
            let _ = self.fetcher.call_within(refresh, FETCH_LIMIT).await;
        };
        self.slot.single_flight(settled, request_fetch).await;
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
        Box::pin(self.fetch_keys(Want::Fresh))
    }

    fn renew<'s>(&'s self, seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        Box::pin(async move {
            let keys = self.fetch_keys(Want::OtherThan(Arc::clone(seen))).await;
            keys.filter(|keys| !Arc::ptr_eq(keys, seen) || !self.slot.state().is_failing())
        })
    }
}
