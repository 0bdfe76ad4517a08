//! Schedules over several nodes and one real PostgreSQL, as a witness outside sees them.

mod contention;
mod outage;
mod pause;
mod restart;

use std::time::Duration;

use serde_json::Value;
use svc_testkit::cron::{self, RecordedOccurrence};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::witness::{RunWitness, WitnessedRun};

use crate::support::launch;

/// A database with channels that notify the witness of their runs.
struct Stage {
    database: PostgresDatabase,
    witness: RunWitness,
    postgres: Postgres,
}

impl Stage {
    /// Stores the channels; nothing is due before a node starts.
    fn set(
        postgres: Option<Postgres>,
        channels: &[Value],
        hold: impl Fn(&WitnessedRun) -> Duration + Send + Sync + 'static,
    ) -> Option<Self> {
        let postgres = postgres?;
        let database = postgres.database().unwrap();
        let witness = RunWitness::start(hold).unwrap();
        cron::store(launch(), &database, &witness, channels).unwrap();
        Some(Self { database, witness, postgres })
    }

    /// A node, not yet started.
    fn launch(&self) -> ServerCommand {
        cron::node(launch(), &self.database)
    }

    fn node(&self) -> ServerProcess {
        self.launch().start().unwrap()
    }

    fn rows(&self) -> Vec<RecordedOccurrence> {
        cron::rows(&self.database).unwrap()
    }

    /// The first column of the first row.
    fn ask(&self, sql: &str) -> String {
        self.database.rows(sql).unwrap()[0][0].clone().unwrap_or_default()
    }
}
