//! A real PgBouncer in transaction mode of a single test, installed on demand.

use std::ops::Deref;

use crate::daemon::Daemon;
use crate::postgres::{Postgres, PostgresDatabase};

/// A running pooler.
#[derive(Debug)]
pub struct PgBouncer(Daemon);

impl PgBouncer {
    /// Starts a pooler of the test's own in front of a server. Reports a missing one with
    /// [`report_missing`](crate::peer::report_missing).
    pub fn own(server: &Postgres) -> Option<Self> {
        let (_, rest) = server.url().rsplit_once('@')?;
        let (place, _) = rest.split_once('/')?;
        Daemon::own_beside("pgbouncer", &[("server", place)]).map(Self)
    }

    /// The URL of a database of the server, through the pooler.
    pub fn through(&self, database: &PostgresDatabase) -> String {
        let (pooler, _) = self.url().rsplit_once('/').unwrap_or((self.url(), ""));
        let (_, name) = database.url().rsplit_once('/').unwrap_or_default();
        format!("{pooler}/{name}")
    }
}

impl Deref for PgBouncer {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.0
    }
}
