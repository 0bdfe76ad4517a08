//! The clients of a drill: one thread for each node, which submits work and asks for answers, and remembers what it was
//! answered.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::wait_until;
use svc_testkit::witness::RunWitness;

use crate::nodes::DrillCluster;

/// The path that accepts work.
pub(crate) const JOBS: &str = "/api/v1/data/jobs/async";
/// Time between two rounds of a client.
const PACE: Duration = Duration::from_millis(50);
/// Time between two attempts to reach a node that is gone.
const ABSENCE: Duration = Duration::from_millis(200);

/// Work that a node accepted with a 202.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AcceptedWork {
    /// The name that its runs send the witness.
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) node: usize,
    /// Begin of the request.
    pub(crate) sent: Duration,
}

/// A response that was no success.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) node: usize,
    pub(crate) status: u16,
    /// Begin of the request.
    pub(crate) sent: Duration,
    /// Arrival of the response.
    pub(crate) at: Duration,
    /// The path and the body of the response.
    pub(crate) answer: String,
}

/// The responses that clients received.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToldToClients {
    pub(crate) accepted: Vec<AcceptedWork>,
    /// Synchronous requests that were answered.
    pub(crate) answered: usize,
    pub(crate) refusals: Vec<Refusal>,
}

/// The running clients.
pub(crate) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<ToldToClients>>,
}

impl Clients {
    pub(crate) fn start(cluster: &DrillCluster, witness: &Arc<RunWitness>) -> Self {
        let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let client = |(node, address): (usize, SocketAddr)| {
            let (stop, next, witness) = (Arc::clone(&stop), Arc::clone(&next), Arc::clone(witness));
            thread::spawn(move || {
                let mut told = ToldToClients::default();
                while !stop.load(Ordering::Relaxed) {
                    talk(&mut told, (node, address), (&stop, &next), &witness);
                }
                told
            })
        };
        let threads = cluster.addresses().into_iter().enumerate().map(client).collect();
        Self { stop, threads }
    }

    /// Ends the clients.
    pub(crate) fn stop(self) -> ToldToClients {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = ToldToClients::default();
        for told in self.threads.into_iter().filter_map(|thread| thread.join().ok()) {
            all.accepted.extend(told.accepted);
            all.answered += told.answered;
            all.refusals.extend(told.refusals);
        }
        all
    }
}

/// Talks to a node over one connection until that breaks.
fn talk(
    told: &mut ToldToClients,
    (node, address): (usize, SocketAddr),
    (stop, next): (&AtomicBool, &AtomicUsize),
    witness: &RunWitness,
) {
    let mut client = HttpClient::new(address).keep_alive();
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        for path in [JOBS, "/api/v1/data/echo"] {
            let sent = witness.now();
            let Ok(answer) = client.json("POST", path, &json!({"n": number})) else {
                // Nobody was told anything.
                wait(ABSENCE);
                return;
            };
            told.record(&answer, (node, number, path), (sent, witness.now()));
        }
        wait(PACE);
    }
}

fn wait(time: Duration) {
    // A look that never succeeds cannot fail.
    let _ = wait_until(time, || Ok(false));
}

impl AcceptedWork {
    /// Returns the work that a node accepted with this answer.
    pub(crate) fn from_answer(
        answer: &HttpResponse,
        (node, number): (usize, &dyn Display),
        sent: Duration,
    ) -> Self {
        let trace = answer.json()["trace_id"].as_str().unwrap_or_default().to_owned();
        Self { name: format!("job-{number}"), trace, node, sent }
    }
}

impl ToldToClients {
    fn record(
        &mut self,
        answer: &HttpResponse,
        (node, number, path): (usize, usize, &str),
        (sent, at): (Duration, Duration),
    ) {
        match answer.status {
            202 => {
                self.accepted.push(AcceptedWork::from_answer(answer, (node, &number), sent));
            }
            200 => self.answered += 1,
            status => {
                let answer = format!("{path} answered {}", answer.text());
                self.refusals.push(Refusal { node, status, sent, at, answer });
            }
        }
    }
}
