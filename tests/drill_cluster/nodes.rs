//! The nodes of a drill, and what is done to them.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use svc_testkit::cron;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::redis::Redis;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};
use svc_testkit::witness::RunWitness;

use crate::rolling_verdict::NodeRestart;

/// Nodes of the cluster.
pub(crate) const NODES: usize = 3;
/// Time without a renewal after which a node counts as dead.
pub(crate) const LEASE: Duration = Duration::from_secs(6);
/// Longest wait for the orderly end of a node.
const STOP: Duration = Duration::from_secs(60);

/// A way to break a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeFault {
    /// Killed like by a power cut, and started again.
    Kill,
    /// Stopped, and continued.
    Pause,
    /// Ended in good order, and started again. No run may be lost or doubled by it.
    Restart,
}

/// A fault, from its begin until the node is ready again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) node: usize,
    pub(crate) kind: NodeFault,
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
}

/// The programs of the nodes.
#[derive(Debug)]
pub(crate) struct Releases {
    pub(crate) current: PathBuf,
    /// The program of the release before, which the nodes start with; each orderly restart goes to the other one.
    pub(crate) previous: Option<PathBuf>,
}

impl Releases {
    /// Returns the program of the first start of every node.
    fn first(&self) -> &Path {
        self.previous.as_ref().unwrap_or(&self.current)
    }

    /// Returns the program that follows this one at an orderly restart.
    fn after(&self, program: &Path) -> &Path {
        self.previous.as_deref().filter(|_| program == self.current).unwrap_or(&self.current)
    }
}

/// Nodes on one database.
pub(crate) struct DrillCluster {
    releases: Releases,
    nodes: Vec<Option<ServerProcess>>,
    faults: Vec<Fault>,
    random: RandomState,
}

impl DrillCluster {
    /// Starts the nodes; if they are of the release before, the current one then migrates the database under them. One
    /// that ends goes on serving for `drain`.
    pub(crate) fn start(
        releases: Releases,
        database: &PostgresDatabase,
        redis: &Redis,
        drain: Duration,
    ) -> io::Result<Self> {
        let start = |number: usize| {
            cron::node(ServerCommand::new(releases.first())?, database)
                .env("RUST_LOG", "warn")
                .env("SVC_CLUSTER__ENABLED", "true")
                .env("SVC_CLUSTER__REDIS_URL", redis.url())
                .env("SVC_CLUSTER__INSTANCE_ID", &format!("drill-{number}"))
                .env("SVC_CLUSTER__NODE_LEASE_SECS", &LEASE.as_secs().to_string())
                .env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", &drain.as_secs().to_string())
                .start()
                .map(Some)
        };
        let nodes = (0..NODES).map(start).collect::<io::Result<_>>()?;
        if releases.previous.is_some() {
            migrate(&releases.current, database)?;
        }
        Ok(Self { releases, nodes, faults: Vec::new(), random: RandomState::new() })
    }

    /// Returns the address of every node. A node keeps it over its restarts.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().flatten().map(ServerProcess::address).collect()
    }

    pub(crate) fn client(&self, node: usize) -> HttpClient {
        HttpClient::new(self.addresses()[node])
    }

    /// Does something to a random node, and waits until it is ready again.
    pub(crate) fn break_one(&mut self, kind: NodeFault, witness: &RunWitness) -> io::Result<()> {
        let random = self.random.hash_one(self.faults.len());
        let node = random as usize % NODES;
        let begin = witness.now();
        let Some(mut server) = self.nodes[node].take() else { return Ok(()) };
        let server = match kind {
            NodeFault::Kill => server.crash_and_restart()?,
            NodeFault::Pause => {
                server.signal("STOP")?;
                // From half a lease to three.
                let pause = LEASE.mul_f64(0.5 + 2.5 * (random >> 32) as f64 / f64::from(u32::MAX));
                let until = begin + pause;
                wait_until(pause * 2, || Ok(witness.now() >= until))?;
                server.signal("CONT")?;
                server.wait_until_ready()?;
                server
            }
            NodeFault::Restart => self.replace(server)?.0,
        };
        self.nodes[node] = Some(server);
        self.faults.push(Fault { node, kind, begin, end: witness.now() });
        Ok(())
    }

    /// Ends a node in good order, starts it again, and waits until it is ready.
    pub(crate) fn restart(&mut self, node: usize) -> io::Result<NodeRestart> {
        let Some(server) = self.nodes[node].take() else {
            return Err(io::Error::other(format!("node {node} is gone")));
        };
        let (server, end) = self.replace(server)?;
        self.nodes[node] = Some(server);
        Ok(NodeRestart { node, problem: (!end.success()).then(|| end.to_string()) })
    }

    /// Ends a process in good order and starts its successor; returns that with the end of the other.
    fn replace(&self, mut server: ServerProcess) -> io::Result<(ServerProcess, ExitStatus)> {
        server.signal("TERM")?;
        let end = server.wait(STOP)?;
        let program = self.releases.after(server.binary()).to_owned();
        Ok((server.crash_and_restart_as(program)?, end))
    }

    pub(crate) fn into_faults(self) -> Vec<Fault> {
        self.faults
    }
}

/// Migrates the database with this program.
fn migrate(program: &Path, database: &PostgresDatabase) -> io::Result<()> {
    let command = ServerCommand::new(program)?.env("SVC_STORAGE__URL", database.url()).args(&["migrate"]);
    let output = command.run_to_end()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
