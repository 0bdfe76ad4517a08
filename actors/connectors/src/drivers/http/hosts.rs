//! The hosts of computed addresses: for each a breaker and a bound of the calls at once, so that one in trouble delays
//! no other.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use svc_outbound::Url;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::breaker::{BreakerPermit, BreakerSettings, Breakers, HostBreaker};

/// Most hosts that have a breaker, or calls in flight, of one connector. The least recently used breaker is dropped
/// first.
const MAX_HOSTS: usize = 10_000;

/// The hosts that a connector calls. They end with its settings, as its breakers do.
pub(crate) struct CalledHosts {
    /// Name of the connector.
    connector: String,
    breakers: Breakers,
    /// The places of the hosts that have calls in flight.
    places: Mutex<HashMap<String, Arc<Semaphore>>>,
    limit: usize,
}

/// The place of a call among those of its host. It is free again when this is dropped.
pub(crate) struct HostPlace {
    permit: Option<OwnedSemaphorePermit>,
    /// Emptied when this is dropped, before the last user removes the entry.
    semaphore: Option<Arc<Semaphore>>,
    hosts: Arc<CalledHosts>,
    host: String,
}

impl CalledHosts {
    pub(crate) fn new(connector: &str, breakers: Option<BreakerSettings>, limit: u32) -> Self {
        let breakers = breakers.map(|settings| BreakerSettings { max_breakers: MAX_HOSTS, ..settings });
        Self {
            connector: connector.to_owned(),
            breakers: Breakers::new(breakers),
            places: Mutex::default(),
            limit: usize::try_from(limit).unwrap_or(1).max(1),
        }
    }

    /// Returns the breakers of the hosts.
    pub(crate) fn breakers(&self) -> &Breakers {
        &self.breakers
    }

    /// Returns the breakers of hosts that are not closed.
    pub(crate) fn list_failing(&self) -> Vec<HostBreaker> {
        let failing = self.breakers.list_failing_hosts().into_iter();
        failing.map(|(host, state)| HostBreaker { connector: self.connector.clone(), host, state }).collect()
    }

    /// Admits a call of a host; `None` if its breaker rejects it.
    pub(crate) fn admit(&self, host: &str) -> Option<BreakerPermit<'_>> {
        self.breakers.admit(&self.connector, host)
    }

    /// Waits for a place at a host; `None` if calls of too many hosts are in flight.
    pub(crate) async fn take_place(self: &Arc<Self>, host: &str) -> Option<HostPlace> {
        let mut place = self.enter(host)?;
        place.permit = Arc::clone(place.semaphore.as_ref()?).acquire_owned().await.ok();
        place.permit.is_some().then_some(place)
    }

    /// Enters a host, whose entry stays while a call has or awaits a place.
    fn enter(self: &Arc<Self>, host: &str) -> Option<HostPlace> {
        let mut places = self.places.lock();
        if places.len() >= MAX_HOSTS && !places.contains_key(host) {
            return None;
        }
        let semaphore = places.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.limit)));
        let semaphore = Some(Arc::clone(semaphore));
        Some(HostPlace { permit: None, semaphore, hosts: Arc::clone(self), host: host.to_owned() })
    }
}

impl Drop for HostPlace {
    fn drop(&mut self) {
        // The permit holds the semaphore too.
        drop(self.permit.take());
        let mut places = self.hosts.places.lock();
        drop(self.semaphore.take());
        if places.get(&self.host).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            places.remove(&self.host);
        }
    }
}

/// Returns the name under which the calls of a URL are bounded: host and port.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::breaker::CallVerdict;

    /// Takes a place at a host, if there is one now.
    fn try_take_place(hosts: &Arc<CalledHosts>, host: &str) -> Option<HostPlace> {
        hosts.take_place(host).now_or_never().flatten()
    }

    fn hosts(limit: u32) -> Arc<CalledHosts> {
        let breakers =
            BreakerSettings { failure_threshold: 1, recovery: Duration::from_secs(3600), max_breakers: 1 };
        Arc::new(CalledHosts::new("c", Some(breakers), limit))
    }

    #[test]
    fn breaker_of_one_host_leaves_others_closed() {
        let hosts = hosts(1);
        assert!(hosts.admit("a.example:443").unwrap().settle(CallVerdict::Failure));
        assert!(hosts.admit("a.example:443").is_none());
        assert!(hosts.admit("b.example:443").is_some());
        assert!(hosts.admit("a.example:8443").is_some());
        let failing = hosts.list_failing();
        let failing: Vec<_> = failing.iter().map(|one| (one.connector.as_str(), one.host.as_str())).collect();
        assert_eq!(failing, [("c", "a.example:443")]);
    }

    #[tokio::test]
    async fn call_beyond_the_limit_waits_for_a_place() {
        let hosts = hosts(2);
        let first = hosts.take_place("a").await.unwrap();
        let second = try_take_place(&hosts, "a").unwrap();
        assert!(try_take_place(&hosts, "a").is_none());
        assert!(try_take_place(&hosts, "b").is_some(), "another host");
        let (waiting, ()) = tokio::join!(hosts.take_place("a"), async { drop(first) });
        assert!(waiting.is_some());
        drop((waiting, second));
        assert!(hosts.places.lock().is_empty(), "nothing is kept of hosts without calls");
    }

    #[test]
    fn hosts_are_bounded_and_oldest_breaker_goes() {
        let hosts = hosts(1);
        let places: Vec<_> =
            (0..MAX_HOSTS).map(|number| try_take_place(&hosts, &number.to_string()).unwrap()).collect();
        assert!(try_take_place(&hosts, "more").is_none());
        drop(places);
        assert!(try_take_place(&hosts, "more").is_some());
        for number in 0..=MAX_HOSTS {
            drop(hosts.admit(&number.to_string()).unwrap());
        }
        let breakers = hosts.breakers.list().unwrap();
        assert_eq!(breakers.len(), MAX_HOSTS);
        assert!(breakers.iter().all(|(key, _)| key != "c:0"), "the least recently used");
    }
}
