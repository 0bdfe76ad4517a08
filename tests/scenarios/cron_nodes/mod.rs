//! Schedules over several nodes and one real PostgreSQL, as a witness outside sees them.

mod contention;
mod outage;
mod pause;
mod restart;

use std::time::Duration;

use serde_json::Value;
use svc_testkit::cron::{self, Row};
use svc_testkit::postgres::{Database, Postgres};
use svc_testkit::server::{Launch, Server};
use svc_testkit::witness::{Run, Witness};

use crate::support::launch;

/// A database with channels that tell the witness of their runs.
struct Stage {
    database: Database,
    witness: Witness,
    postgres: Postgres,
}

impl Stage {
    /// Stores the channels; nothing is due before a node starts.
    fn set(
        postgres: Option<Postgres>,
        channels: &[Value],
        hold: impl Fn(&Run) -> Duration + Send + Sync + 'static,
    ) -> Option<Self> {
        let postgres = postgres?;
        let database = postgres.database().unwrap();
        let witness = Witness::start(hold).unwrap();
        cron::store(launch(), &database, &witness, channels).unwrap();
        Some(Self { database, witness, postgres })
    }

    /// A node, not yet started.
    fn launch(&self) -> Launch {
        cron::node(launch(), &self.database)
    }

    fn node(&self) -> Server {
        self.launch().start().unwrap()
    }

    fn rows(&self) -> Vec<Row> {
        cron::rows(&self.database).unwrap()
    }

    /// The first column of the first row.
    fn ask(&self, sql: &str) -> String {
        self.database.rows(sql).unwrap()[0][0].clone().unwrap_or_default()
    }
}
