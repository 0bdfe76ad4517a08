//! Statements of the service on PostgreSQL and its commands on Redis, as the servers count them.

use std::collections::BTreeMap;
use std::io;

use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::process::ChildProcess;
use svc_testkit::redis::Redis;

/// Purposes of statements, each with the words by which its statements are known; the first that fits counts.
const PURPOSES: [(&str, &[&str]); 9] = [
    ("schedules", &["cron_"]),
    ("leases of jobs", &["\"job_leases\""]),
    ("dead letters", &["\"trace_dlq\""]),
    (
        "configuration epoch",
        &["\"config_epoch\"", "\"config_changes\"", "\"breaker_resets\"", "SET \"applied_epoch\""],
    ),
    ("accepted work", &["\"traces\""]),
    ("leases of nodes", &["\"nodes\""]),
    ("transactions", &["BEGIN", "COMMIT", "SAVEPOINT", "ROLLBACK", "START TRANSACTION"]),
    ("clock", &["clock_timestamp"]),
    ("checks of pooled connections", &["SELECT $1"]),
];
/// The purpose of the others.
const OTHER: &str = "others";

/// Counts by purpose.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// A PostgreSQL that counts the statements in a database of the service.
pub(crate) struct CountingPostgres {
    /// The database of the service.
    pub(crate) database: PostgresDatabase,
    /// The database in which the counts are read, so that this adds nothing to them.
    counts: PostgresDatabase,
    _server: Postgres,
}

impl CountingPostgres {
    /// Starts one; `None` if there is no PostgreSQL.
    pub(crate) fn start() -> io::Result<Option<Self>> {
        let Some(server) = Postgres::own() else { return Ok(None) };
        let counts = server.database().map_err(io::Error::other)?;
        let rows = |sql: &str| counts.rows(sql).map_err(io::Error::other);
        rows("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")?;
        rows("CHECKPOINT")?;
        server.stop().and_then(|()| server.restart()).map_err(io::Error::other)?;
        rows("CREATE EXTENSION pg_stat_statements")?;
        let database = server.database().map_err(io::Error::other)?;
        Ok(Some(Self { database, counts, _server: server }))
    }

    /// Returns the statements since the start of the server.
    pub(crate) fn read(&self) -> io::Result<Counts> {
        let name = self.database.url().rsplit('/').next().unwrap_or_default();
        let sql = format!(
            "SELECT query, calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
             WHERE d.datname = '{name}'"
        );
        let mut counts = Counts::new();
        for row in self.counts.rows(&sql).map_err(io::Error::other)? {
            if let [Some(query), Some(calls)] = &row[..] {
                *counts.entry(purpose(query)).or_default() += calls.parse::<u64>().unwrap_or_default();
            }
        }
        Ok(counts)
    }
}

fn purpose(query: &str) -> &'static str {
    let fits = |words: &&[&str]| words.iter().any(|word| query.contains(word));
    PURPOSES.iter().find(|(_, words)| fits(words)).map_or(OTHER, |(purpose, _)| purpose)
}

/// Returns the growth of each count.
pub(crate) fn growth(before: &Counts, after: &Counts) -> Counts {
    let grown = |(purpose, count): (&&'static str, &u64)| {
        (*purpose, count.saturating_sub(before.get(purpose).copied().unwrap_or_default()))
    };
    after.iter().map(grown).collect()
}

/// The commands of a Redis, listed from now on.
pub(crate) struct CountingRedis(ChildProcess);

impl CountingRedis {
    /// Starts to list them.
    pub(crate) fn start(redis: &Redis) -> io::Result<Self> {
        redis.monitor().map(Self).map_err(io::Error::other)
    }

    /// Returns the number of commands so far.
    pub(crate) fn read(&self) -> u64 {
        count_sent(&self.0.lines())
    }
}

/// Returns the number of commands that clients have sent; those within scripts are listed too.
fn count_sent(lines: &[String]) -> u64 {
    lines.iter().filter(|line| line.contains("] \"") && !line.contains(" lua] ")).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_is_counted_for_its_purpose() {
        for (query, expected) in [
            ("UPDATE \"nodes\" SET \"lease_until\" = $1", "leases of nodes"),
            ("UPDATE \"nodes\" SET \"applied_epoch\" = $1", "configuration epoch"),
            (
                "SELECT \"traces\".\"id\" FROM \"traces\" WHERE EXISTS (SELECT FROM \"nodes\")",
                "accepted work",
            ),
            ("SAVEPOINT diesel_savepoint_1", "transactions"),
            ("SELECT EXISTS (SELECT \"nodes\".\"id\", \"nodes\".\"applied_epoch\")", "leases of nodes"),
            ("SELECT (clock_timestamp() AT TIME ZONE $1)", "clock"),
            ("SELECT $1", "checks of pooled connections"),
            ("SELECT \"workflows\".\"id\" FROM \"workflows\"", OTHER),
        ] {
            assert_eq!(purpose(query), expected, "{query}");
        }
    }

    #[test]
    fn growth_is_the_difference_of_two_readings() {
        let (before, after) = (Counts::from([("clock", 2)]), Counts::from([("clock", 5), ("others", 1)]));
        assert_eq!(growth(&before, &after), Counts::from([("clock", 3), ("others", 1)]));
    }

    #[test]
    fn commands_within_scripts_are_not_counted() {
        let lines = [
            "OK",
            "1700000000.1 [0 127.0.0.1:1] \"EVAL\" \"redis.call('INCR', KEYS[1])\" \"1\" \"k\"",
            "1700000000.2 [0 lua] \"INCR\" \"k\"",
            "1700000000.3 [0 127.0.0.1:1] \"PING\"",
        ];
        assert_eq!(count_sent(&lines.map(str::to_owned)), 2);
    }
}
