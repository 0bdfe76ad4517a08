//! The author of a drill: stores the definitions, then goes on changing one of them, and measures when each node serves
//! the change.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::every_second;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::server::wait_until;
use svc_testkit::witness::RunWitness;

use crate::nodes::DrillCluster;

/// Longest wait for a node that serves a change.
pub(crate) const FOLLOWING: Duration = Duration::from_secs(10);

/// The time until a node served a change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FollowedChange {
    pub(crate) node: usize,
    /// Instant at which the author got the answer that the change is made.
    pub(crate) begin: Duration,
    /// Instant of the first answer of the node by the change; `None` if there was none in time.
    pub(crate) end: Option<Duration>,
}

/// The running author.
pub(crate) struct Author {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<FollowedChange>>,
}

/// Stores and serves the definitions of the drill.
///
/// # Errors
/// The node refuses a definition.
pub(crate) fn store(client: &mut HttpClient, witness: &RunWitness, schedules: &[String]) -> io::Result<()> {
    reporting::connect(client, witness)?;
    for (id, body) in [
        ("jobs", name_run("job", &json!({"var": "payload.n"}))),
        ("echo", name_run("sync", &json!({"var": "payload.n"}))),
        ("tell", json!({"var": "metadata.trigger"})),
    ] {
        serve_workflow(client, id, &reporting::report(&body))?;
    }
    serve_channel(client, "jobs", &json!({}))?;
    // A guard that asks Redis, and lets messages pass while that is away.
    let limit = json!({"rate_limit": {"requests_per_second": 100_000, "on_backend_error": "allow"}});
    serve_channel(client, "echo", &limit)?;
    serve_workflow(client, "version", &version(0))?;
    serve_channel(client, "version", &json!({}))?;
    for id in schedules {
        create_and_activate(client, "channels", "channel_id", &every_second(id, "tell", json!({})))?;
    }
    Ok(())
}

/// The tasks of the version of this number.
fn version(number: u64) -> Value {
    json!([{"id": "v", "name": "v", "function": {"name": "map",
        "input": {"mappings": [{"path": "data.version", "logic": number}]}}}])
}

impl Author {
    pub(crate) fn start(cluster: &DrillCluster, witness: &Arc<RunWitness>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, nodes, witness) = (Arc::clone(&stop), cluster.addresses(), Arc::clone(witness));
        let thread = thread::spawn(move || {
            let mut propagations = Vec::new();
            for number in 1.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let at = number as usize % nodes.len();
                // A node that is gone makes no change; the next one tries the same.
                if change(&mut HttpClient::new(nodes[at]), number).is_some() {
                    propagations.extend(follow(&nodes, number, &witness));
                }
            }
            propagations
        });
        Self { stop, thread }
    }

    /// Ends the author.
    pub(crate) fn stop(self) -> Vec<FollowedChange> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Activates a version; `None` if it was not made.
fn change(client: &mut HttpClient, number: u64) -> Option<()> {
    let path = "/api/v1/admin/workflows/version";
    // A draft may be left of a change that was cut off.
    client.json("POST", &format!("{path}/versions"), &json!({})).ok()?;
    let written = client.json("PUT", path, &json!({"tasks": version(number)})).ok()?;
    let active = json!({"status": "active"});
    let activated = client.json("PATCH", &format!("{path}/status"), &active).ok()?;
    (written.status == 200 && activated.status == 200).then_some(())
}

/// Asks every node, each by a thread of its own, until it serves the version or a later one.
fn follow(nodes: &[SocketAddr], number: u64, witness: &RunWitness) -> Vec<FollowedChange> {
    let begin = witness.now();
    let ask = |address: SocketAddr| {
        let mut end = None;
        // A node that does not serve it in time is for the judge to see; the look itself cannot fail.
        let _ = wait_until(FOLLOWING, || {
            let answer = HttpClient::new(address).json("POST", "/api/v1/data/version", &json!({}));
            let served = answer.ok().and_then(|answer| answer.json()["data"]["version"].as_u64());
            end = served.filter(|served| *served >= number).map(|_| witness.now());
            Ok(end.is_some())
        });
        end
    };
    thread::scope(|scope| {
        let asking: Vec<_> = nodes.iter().map(|address| scope.spawn(move || ask(*address))).collect();
        let ends = asking.into_iter().map(|thread| thread.join().ok().flatten());
        ends.enumerate().map(|(node, end)| FollowedChange { node, begin, end }).collect()
    })
}
