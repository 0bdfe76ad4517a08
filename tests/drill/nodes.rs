//! The nodes of a drill, and their kills.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;

use svc_testkit::cron::node;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::{ServerCommand, ServerProcess};

/// Nodes on one database.
pub(crate) struct DrillNodes {
    running: Vec<ServerProcess>,
    random: RandomState,
    kills: usize,
}

impl DrillNodes {
    /// Starts `count` nodes.
    pub(crate) fn start(binary: &PathBuf, database: &PostgresDatabase, count: usize) -> io::Result<Self> {
        let start = |_| node(ServerCommand::new(binary)?, database).env("RUST_LOG", "warn").start();
        let running = (0..count).map(start).collect::<io::Result<_>>()?;
        Ok(Self { running, random: RandomState::new(), kills: 0 })
    }

    /// Kills a node, like a power cut, and starts it again.
    pub(crate) fn kill_one(&mut self) -> io::Result<()> {
        let at = self.random.hash_one(self.kills) as usize % self.running.len();
        let killed = self.running.swap_remove(at);
        self.running.push(killed.crash_and_restart()?);
        self.kills += 1;
        Ok(())
    }

    /// Returns the number of kills.
    pub(crate) fn kills(&self) -> usize {
        self.kills
    }
}
