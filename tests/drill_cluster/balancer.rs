//! A load balancer as operators run them: it asks every node for `/readyz` and sends requests in turn to those that
//! answered 200 last.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;

/// Time between two questions to a node.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// A node behind the balancer.
#[derive(Debug)]
struct Backend {
    address: SocketAddr,
    is_ready: AtomicBool,
    /// Number of times that the node left the rotation. Connections from before are not used again.
    departures: AtomicUsize,
}

/// The backends in rotation. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct BackendPool {
    backends: Arc<Vec<Backend>>,
    next: Arc<AtomicUsize>,
}

/// The node for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) node: usize,
    pub(crate) address: SocketAddr,
    /// A connection that was opened under another number is not to be used.
    pub(crate) departures: usize,
}

impl BackendPool {
    fn new(addresses: Vec<SocketAddr>) -> Self {
        let backend =
            |address| Backend { address, is_ready: AtomicBool::new(false), departures: AtomicUsize::new(0) };
        Self { backends: Arc::new(addresses.into_iter().map(backend).collect()), next: Arc::default() }
    }

    /// Returns the next node in turn that is ready; `None` if no node is.
    pub(crate) fn route(&self) -> Option<Route> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.backends.len();
        (0..count).map(|offset| (first + offset) % count).find_map(|node| {
            let backend = &self.backends[node];
            let departures = backend.departures.load(Ordering::Acquire);
            let is_ready = backend.is_ready.load(Ordering::Acquire);
            is_ready.then_some(Route { node, address: backend.address, departures })
        })
    }

    /// Returns true if requests are sent to the node.
    pub(crate) fn has(&self, node: usize) -> bool {
        self.backends[node].is_ready.load(Ordering::Acquire)
    }

    fn record_answer(&self, node: usize, is_ready: bool) {
        let backend = &self.backends[node];
        if backend.is_ready.swap(is_ready, Ordering::AcqRel) && !is_ready {
            backend.departures.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// The running balancer.
#[derive(Debug)]
pub(crate) struct Balancer {
    pub(crate) rotation: BackendPool,
    stop: Arc<AtomicBool>,
    probes: Vec<JoinHandle<()>>,
}

impl Balancer {
    /// Starts to ask the nodes.
    pub(crate) fn start(addresses: Vec<SocketAddr>) -> Self {
        let (rotation, stop) = (BackendPool::new(addresses.clone()), Arc::new(AtomicBool::new(false)));
        let probe = |(node, address)| {
            let (rotation, stop) = (rotation.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let answer = HttpClient::new(address).get("/readyz");
                    rotation.record_answer(node, answer.is_ok_and(|answer| answer.status == 200));
                    // A look that never succeeds cannot fail.
                    let _ = wait_until(PROBE_INTERVAL, || Ok(false));
                }
            })
        };
        let probes = addresses.into_iter().enumerate().map(probe).collect();
        Self { rotation, stop, probes }
    }

    /// Ends the balancer.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for probe in self.probes {
            // A probe that panicked has left its node as it was.
            let _ = probe.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_rotate_over_ready_nodes() {
        let addresses: Vec<SocketAddr> =
            (1..=3).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        let rotation = BackendPool::new(addresses);
        assert_eq!(rotation.route(), None);
        for (node, is_ready) in [(0, true), (1, false), (2, true)] {
            rotation.record_answer(node, is_ready);
        }
        let nodes: Vec<_> = (0..30).filter_map(|_| Some(rotation.route()?.node)).collect();
        assert!(nodes.len() == 30 && !nodes.contains(&1) && nodes.contains(&0) && nodes.contains(&2));
        rotation.record_answer(0, false);
        rotation.record_answer(0, false);
        assert!(rotation.route().is_some_and(|route| (route.node, route.departures) == (2, 0)));
        rotation.record_answer(0, true);
        let back = (0..3).filter_map(|_| rotation.route()).find(|route| route.node == 0).unwrap();
        assert_eq!(back.departures, 1, "connections from before are not used again");
    }
}
