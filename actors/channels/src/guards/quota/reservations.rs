//! The requests that this node has reserved of the quota of a channel, by key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use svc_model::config::{QuotaTerms, QuotaWindow};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::quota_store::{QuotaKey, QuotaStore, ReservedCalls};
use super::unused_calls::{UnusedCalls, UnusedRest};
use crate::shared_cache::CacheError;

/// Keys with reservations; one that is not used for the longest time is forgotten for another.
const MAX_KEYS: u64 = 65_536;

/// Time for which a used-up quota is not asked for again: others may give something back.
const PAUSE: Duration = Duration::from_secs(1);

/// The reservations of a channel, or of consumers with equal bounds. Dropped, it notes what it has not used.
pub(crate) struct Reservations {
    /// The channel of all keys; `None` for those of consumers.
    channel_id: Option<Arc<str>>,
    store: Arc<dyn QuotaStore>,
    terms: QuotaTerms,
    unused: UnusedCalls,
    held: Cache<QuotaKey, Arc<Mutex<HeldCalls>>>,
}

/// The state of one key. Its lock lets one request ask the store for all that wait.
#[derive(Default)]
struct HeldCalls {
    reserved: Option<Reserved>,
    /// Set while the quota is known to be used up.
    used_up: Option<UsedUp>,
}

struct Reserved {
    left: u64,
    slice: i64,
    until: Instant,
}

struct UsedUp {
    /// The time to ask again.
    until: Instant,
    /// The time at which the window has room again.
    window_end: Instant,
}

impl Reservations {
    pub(super) fn new(store: Arc<dyn QuotaStore>, terms: QuotaTerms, unused: UnusedCalls) -> Self {
        let forgotten = unused.clone();
        let held = Cache::builder()
            .eviction_policy(EvictionPolicy::lru())
            .max_capacity(MAX_KEYS)
            .eviction_listener(move |key: Arc<QuotaKey>, held: Arc<Mutex<HeldCalls>>, _| {
                note_rest(&forgotten, &key, &held);
            })
            .build();
        Self { channel_id: None, store, terms, unused, held }
    }

    /// Names the channel of all keys.
    pub(super) fn with_channel(mut self, channel_id: &str) -> Self {
        self.channel_id = Some(channel_id.into());
        self
    }

    /// Takes one request of a key; the time until there is room again if the quota is used up.
    pub(super) async fn take(&self, key: QuotaKey) -> Result<Option<Duration>, CacheError> {
        let held = self.held.get_with(key.clone(), Arc::default);
        let mut held = held.lock().await;
        let now = Instant::now();
        if let Some(reserved) = held.reserved.as_mut().filter(|reserved| reserved.is_usable(now)) {
            reserved.left -= 1;
            return Ok(None);
        }
        if let Some(used_up) = held.used_up.as_ref().filter(|used_up| now < used_up.until) {
            return Ok(Some(used_up.window_end.saturating_duration_since(now)));
        }
        if let Some(ended) = held.reserved.take().filter(|ended| self.is_worth_returning(ended)) {
            self.give_back_unused(&key, &ended).await;
        }
        self.unused.give_one_back(&*self.store).await;
        let ReservedCalls { count, slice, slice_left, window_left } =
            self.store.reserve(key, self.terms).await?;
        if count == 0 {
            let until = now + window_left.min(PAUSE);
            held.used_up = Some(UsedUp { until, window_end: now + window_left });
            return Ok(Some(window_left));
        }
        // From before the call: the reservation ends no later than its part of the window.
        held.reserved = Some(Reserved { left: count - 1, slice, until: now + slice_left });
        held.used_up = None;
        Ok(None)
    }

    /// Returns `true` for an ended reservation whose rest would count on: a sliding window has the slice for long,
    /// that of the calendar has ended with it.
    fn is_worth_returning(&self, ended: &Reserved) -> bool {
        ended.left > 0 && self.terms.window == QuotaWindow::Sliding
    }

    /// Gives the rest of a reservation back. What cannot be given back is lost.
    async fn give_back_unused(&self, key: &QuotaKey, Reserved { left, slice, .. }: &Reserved) {
        let _ = self.store.give_back(key.clone(), *slice, *left).await;
    }

    /// Adds the requests of a channel that are reserved now and not admitted, by their keys.
    pub(super) fn add_unused(&self, channel_id: &str, unused: &mut HashMap<String, u64>) {
        // The keys of other channels are many.
        if self.channel_id.as_deref().is_some_and(|own| own != channel_id) {
            return;
        }
        let now = Instant::now();
        for (key, held) in &self.held {
            if *key.channel_id != *channel_id {
                continue;
            }
            // A key that is asked for at this moment has none.
            let Ok(calls) = held.try_lock() else { continue };
            if let Some(reserved) = calls.reserved.as_ref().filter(|reserved| reserved.is_usable(now)) {
                *unused.entry(key.key.clone()).or_default() += reserved.left;
            }
        }
    }

    /// Gives everything back that was not taken.
    pub(super) async fn give_back(&self) {
        let held: Vec<_> = self.held.iter().collect();
        for (key, held) in held {
            let unused = held.lock().await.reserved.take().filter(|reserved| reserved.left > 0);
            if let Some(unused) = unused {
                self.give_back_unused(&key, &unused).await;
            }
        }
    }
}

impl Drop for Reservations {
    fn drop(&mut self) {
        for (key, held) in &self.held {
            note_rest(&self.unused, &key, &held);
        }
    }
}

/// Takes the rest of a reservation from a key that is no longer held, and notes it. A request that has the key now
/// keeps it.
fn note_rest(unused: &UnusedCalls, key: &QuotaKey, held: &Mutex<HeldCalls>) {
    let Ok(mut held) = held.try_lock() else { return };
    if let Some(Reserved { left: count @ 1.., slice, .. }) = held.reserved.take() {
        unused.add(UnusedRest { key: key.clone(), slice, count });
    }
}

impl Reserved {
    fn is_usable(&self, now: Instant) -> bool {
        self.left > 0 && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use svc_model::config::QuotaPeriod;

    use super::*;

    /// Admits whatever is asked, and lists what comes back.
    #[derive(Default)]
    struct OpenQuotas(parking_lot::Mutex<Vec<(String, u64)>>);

    impl QuotaStore for OpenQuotas {
        fn reserve(
            &self,
            _: QuotaKey,
            terms: QuotaTerms,
        ) -> BoxFuture<'_, Result<ReservedCalls, CacheError>> {
            let (count, left) = (terms.largest_reservation(), Duration::from_secs(30));
            let reserved = ReservedCalls { count, slice: 1, slice_left: left, window_left: left };
            Box::pin(async move { Ok(reserved) })
        }

        fn give_back(&self, key: QuotaKey, _: i64, count: u64) -> BoxFuture<'_, Result<(), CacheError>> {
            self.0.lock().push((key.key, count));
            Box::pin(async { Ok(()) })
        }
    }

    fn key(text: &str) -> QuotaKey {
        QuotaKey { channel_id: "orders".into(), key: text.to_owned() }
    }

    #[tokio::test]
    async fn rest_of_dropped_reservations_is_given_back() {
        let (store, unused) = (Arc::<OpenQuotas>::default(), UnusedCalls::default());
        let terms = QuotaTerms { limit: 1000, per: QuotaPeriod::Day, window: QuotaWindow::Calendar };
        let make = || Reservations::new(Arc::clone(&store) as Arc<dyn QuotaStore>, terms, unused.clone());
        let former = make();
        assert_eq!(former.take(key("a")).await, Ok(None));
        drop(former);
        let next = make();
        for _ in 0..2 {
            assert_eq!(next.take(key("b")).await, Ok(None));
        }
        assert_eq!(*store.0.lock(), [("a".to_owned(), 9)]);
    }

    #[tokio::test]
    async fn unused_requests_are_counted_by_channel() {
        let terms = QuotaTerms { limit: 1000, per: QuotaPeriod::Day, window: QuotaWindow::Calendar };
        let make = || Reservations::new(Arc::<OpenQuotas>::default(), terms, UnusedCalls::default());
        for reservations in [make(), make().with_channel("orders")] {
            assert_eq!(reservations.take(key("a")).await, Ok(None));
            let mut counted = HashMap::new();
            reservations.add_unused("others", &mut counted);
            assert!(counted.is_empty(), "{counted:?}");
            reservations.add_unused("orders", &mut counted);
            assert_eq!(counted, HashMap::from([("a".to_owned(), 9)]));
        }
    }
}
