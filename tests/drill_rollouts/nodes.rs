//! The nodes of the drill on one database, and the kill of the one that decides.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use svc_testkit::cron;
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{DatabaseNodes, read_number};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::ServerCommand;

/// Number of nodes.
pub(crate) const NODES: usize = 2;
/// Settings of every node: its accepted work is taken over soon after it was killed.
const SETTINGS: [(&str, &str); 2] = [("RUST_LOG", "warn"), ("SVC_CLUSTER__NODE_LEASE_SECS", "10")];

/// Nodes on one database.
pub(crate) struct CanaryNodes<'d> {
    database: &'d PostgresDatabase,
    nodes: DatabaseNodes,
}

impl<'d> CanaryNodes<'d> {
    /// Starts the nodes.
    pub(crate) fn start(binary: &Path, database: &'d PostgresDatabase) -> io::Result<Self> {
        let launch = || -> io::Result<ServerCommand> {
            let launch = cron::node(ServerCommand::new(binary)?, database);
            Ok(SETTINGS.iter().fold(launch, |launch, (name, value)| launch.env(name, value)))
        };
        Ok(Self { database, nodes: DatabaseNodes::start(NODES, launch)? })
    }

    /// Returns the address of every node. A node keeps it over its restarts.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        self.nodes.addresses()
    }

    pub(crate) fn client(&self, node: usize) -> HttpClient {
        self.nodes.client(node)
    }

    /// Waits until every node serves what is stored.
    pub(crate) fn wait_until_served(&self) -> io::Result<()> {
        self.nodes.wait_until_served(self.database)
    }

    /// Kills the node that decides, like a power cut, does `meanwhile`, starts it again and waits until it is ready.
    pub(crate) fn kill_decider(&mut self, meanwhile: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let node = self.find_decider()?;
        self.nodes.kill_and_do(node, meanwhile)
    }

    /// Returns the node that has the lease of the job which decides.
    fn find_decider(&self) -> io::Result<usize> {
        let holder = "SELECT pid FROM nodes JOIN job_leases ON nodes.id = holder WHERE job_name = 'canary'";
        let pid = read_number(self.database, holder)?;
        let found = u32::try_from(pid).ok().and_then(|pid| self.nodes.find(pid));
        found.ok_or_else(|| io::Error::other(format!("process {pid}, which decides, is no node")))
    }
}
