//! Several nodes on one database, and the waits of the drills that break them.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::http::HttpClient;
use crate::postgres::PostgresDatabase;
use crate::server::{ServerCommand, ServerProcess};

/// Longest wait for a state, and for any progress towards it.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two looks at a state.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Nodes on one database. Each keeps its address over its restarts.
#[derive(Debug)]
pub struct DatabaseNodes {
    nodes: Vec<Option<ServerProcess>>,
    addresses: Vec<SocketAddr>,
}

impl DatabaseNodes {
    /// Starts so many nodes, and waits until they are ready.
    ///
    /// # Errors
    /// A node does not start.
    pub fn start(count: usize, launch: impl Fn() -> io::Result<ServerCommand>) -> io::Result<Self> {
        let nodes: Vec<_> = (0..count).map(|_| launch()?.start()).collect::<io::Result<_>>()?;
        let addresses = nodes.iter().map(ServerProcess::address).collect();
        Ok(Self { nodes: nodes.into_iter().map(Some).collect(), addresses })
    }

    /// Returns the address of every node.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns a client of a node.
    pub fn client(&self, node: usize) -> HttpClient {
        HttpClient::new(self.addresses[node])
    }

    /// Returns the id of the process of a node.
    ///
    /// # Errors
    /// The node did not start again.
    pub fn pid(&self, node: usize) -> io::Result<u32> {
        self.nodes[node].as_ref().map(ServerProcess::pid).ok_or_else(|| missing(node))
    }

    /// Returns the node of this process.
    pub fn find(&self, pid: u32) -> Option<usize> {
        self.nodes.iter().position(|node| node.as_ref().is_some_and(|server| server.pid() == pid))
    }

    /// Waits until every node serves what is stored.
    ///
    /// # Errors
    /// A node or the database does not answer, or a node takes too long.
    pub fn wait_until_served(&self, database: &PostgresDatabase) -> io::Result<()> {
        let stored = read_number(database, "SELECT epoch FROM config_epoch")?;
        let is_served = || -> io::Result<bool> {
            for node in 0..self.nodes.len() {
                let health = self.client(node).get("/health")?.json();
                if health["epoch"]["applied"].as_i64().is_none_or(|applied| applied < stored) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        expect_soon("every node serves the definitions", is_served)
    }

    /// Kills a node, like a power cut, starts it again, and waits until it is ready.
    ///
    /// # Errors
    /// The node did not start again, now or before.
    pub fn kill(&mut self, node: usize) -> io::Result<()> {
        let server = self.take(node)?;
        self.nodes[node] = Some(server.crash_and_restart()?);
        Ok(())
    }

    /// Kills a node, does `meanwhile`, starts it again, and waits until it is ready.
    ///
    /// # Errors
    /// Those of [`kill`](Self::kill), and that of `meanwhile`.
    pub fn kill_and_do(&mut self, node: usize, meanwhile: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.replace(node, "KILL", meanwhile)
    }

    /// Stops a node as an operator does, starts it again, and waits until it is ready.
    ///
    /// # Errors
    /// The node does not end, or did not start again, now or before.
    pub fn restart(&mut self, node: usize) -> io::Result<()> {
        self.replace(node, "TERM", || Ok(()))
    }

    /// Ends a node by a signal and starts it again. One that does not start is gone from then on.
    fn replace(
        &mut self,
        node: usize,
        signal: &str,
        meanwhile: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut server = self.take(node)?;
        server.signal(signal)?;
        server.wait(PATIENCE)?;
        meanwhile()?;
        self.nodes[node] = Some(server.crash_and_restart()?);
        Ok(())
    }

    fn take(&mut self, node: usize) -> io::Result<ServerProcess> {
        self.nodes[node].take().ok_or_else(|| missing(node))
    }
}

fn missing(node: usize) -> io::Error {
    io::Error::other(format!("node {node} is gone"))
}

/// Waits for a state that a drill needs before it can go on.
///
/// # Errors
/// That of a look, or the state does not come about in time.
pub fn expect_soon(state: &str, mut look: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let begin = now();
    while !look()? {
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("it never came about that {state}")));
        }
        pause(LOOK_EVERY);
    }
    Ok(())
}

/// Returns the number that a query answers.
///
/// # Errors
/// The database does not answer, or with something else.
pub fn read_number(database: &PostgresDatabase, sql: &str) -> io::Result<i64> {
    let rows = database.rows(sql).map_err(io::Error::other)?;
    let number = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("no number answers {sql}")))
}

/// Lets time pass under load, or between two requests.
pub fn pause(length: Duration) {
    let end = now() + length;
    loop {
        let left = end.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Returns the time of the clients of other processes.
#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
pub fn now() -> Instant {
    Instant::now()
}
