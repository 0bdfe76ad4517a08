//! The readiness of the nodes of a drill, as they report it: one thread for each asks `/readyz` all the time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;
use svc_testkit::witness::RunWitness;

use crate::nodes::DrillCluster;

/// Time between two looks at a node.
const PACE: Duration = Duration::from_millis(50);

/// An answer of `/readyz`. A node that gave none said nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadinessLook {
    pub(crate) node: usize,
    /// Begin of the request.
    pub(crate) sent: Duration,
    /// Arrival of the answer.
    pub(crate) at: Duration,
    /// The answer of a node that is not ready.
    pub(crate) unready: Option<String>,
}

impl ReadinessLook {
    pub(crate) fn is_ready(&self) -> bool {
        self.unready.is_none()
    }
}

/// The running looks.
pub(crate) struct ReadinessWatch {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<ReadinessLook>>>,
}

impl ReadinessWatch {
    pub(crate) fn start(cluster: &DrillCluster, witness: &Arc<RunWitness>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = |(node, address): (usize, SocketAddr)| {
            let (stop, witness) = (Arc::clone(&stop), Arc::clone(witness));
            thread::spawn(move || {
                let mut looks = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let sent = witness.now();
                    if let Ok(answer) = HttpClient::new(address).get("/readyz") {
                        let unready = (answer.status != 200).then(|| answer.text());
                        looks.push(ReadinessLook { node, sent, at: witness.now(), unready });
                    }
                    // A look that never succeeds cannot fail.
                    let _ = wait_until(PACE, || Ok(false));
                }
                looks
            })
        };
        let threads = cluster.addresses().into_iter().enumerate().map(watch).collect();
        Self { stop, threads }
    }

    /// Ends the looks.
    pub(crate) fn stop(self) -> Vec<ReadinessLook> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
    }
}
