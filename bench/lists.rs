//! Lists of traces and dead letters with a million rows, and their groups of errors.

use std::io;
use std::time::Duration;

use svc_testkit::postgres::Postgres;

use crate::BenchContext;
use crate::cron::sqlite;
use crate::figures::Figure;
use crate::population::expect;
use crate::process::measure_time;

/// Rows of traces; one of ten failed and has a dead letter.
const ROWS: usize = 1_000_000;
/// Times a page is read.
const READS: usize = 101;
const ADMIN: &str = "/api/v1/admin";

/// The lists, each with its path and the aim of its p99.
const LISTS: [(&str, &str, &str); 12] = [
    ("traces", "/traces?limit=50", "5 ms"),
    ("traces of a channel", "/traces?limit=50&channel=c7", "5 ms"),
    ("traces of a channel without any", "/traces?limit=50&channel=none", "5 ms"),
    ("traces of a run key", "/traces?run_key=t500000", "5 ms"),
    ("traces that failed", "/traces?limit=50&status=failed", "5 ms"),
    ("traces of a version", "/traces?limit=50&workflow=w3&version=1", "5 ms"),
    ("traces of an error group", "/traces?limit=50&error_group=000000000000000a", "5 ms"),
    ("one trace", "/traces?trace_id=t500000", "5 ms"),
    ("traces of an hour", "/traces?limit=50&since=-2h&until=-1h", "5 ms"),
    ("20,000 traces without an index", "/traces?limit=50&error_code=NO_SUCH", "50 ms"),
    ("counts of traces", "/traces?limit=1&include_counts=true", "50 ms"),
    ("errors, 100,000 dead letters", "/errors", "1,000 ms"),
];

/// Measures the lists on each available backend.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let postgres = Postgres::own();
    for backend in std::iter::once(None).chain(postgres.as_ref().map(Some)) {
        let database = match backend {
            Some(server) => Some(server.database().map_err(io::Error::other)?),
            None => None,
        };
        let launch = setting.launch()?;
        let launch = match &database {
            Some(database) => launch.env("SVC_STORAGE__URL", database.url()),
            None => launch,
        };
        let server = launch.start()?;
        match &database {
            Some(database) => {
                let sql = rows(
                    "generate_series(1, 1000000) n",
                    "(now() AT TIME ZONE 'utc') - n * interval '20 milliseconds'",
                );
                drop(database.rows(&sql).map_err(io::Error::other)?);
            }
            None => {
                let numbers = "(WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1000000) SELECT n FROM i)";
                let instant = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n / 50.0) || ' seconds')";
                sqlite(&server.directory().join("svc.db"), &rows(numbers, instant))?;
            }
        }
        let name = if database.is_some() { "PostgreSQL" } else { "SQLite" };
        println!("Lists with {ROWS} traces, {name}");
        let mut client = server.client().keep_alive();
        for (title, path, aim) in LISTS {
            let path = format!("{ADMIN}{path}");
            let mut times: Vec<Duration> = Vec::new();
            for _ in 0..READS {
                times.push(measure_time(|| expect(client.get(&path)?, 200).map(drop))?.1);
            }
            times.sort_unstable();
            let at =
                |share: usize| times.get(READS * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3);
            println!("  {title:<32} p50 {:>8.2} ms  p99 {:>8.2} ms", at(50), at(99));
            let p99 = format!("{:.1} ms", at(99));
            setting.note([Figure::new(format!("{title}, p99, {name}"), aim, p99)]);
        }
    }
    Ok(())
}

/// Returns the statements that write the rows: `numbers` is a table of them, and `instant` the time of row `n`.
fn rows(numbers: &str, instant: &str) -> String {
    let group = "'000000000000000' || CASE (n / 10) % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END";
    format!(
        "INSERT INTO error_groups (id, channel, message)
            VALUES ('000000000000000a', 'c0', 'x'), ('000000000000000b', 'c0', 'y'), ('000000000000000c', 'c0', 'z');
         INSERT INTO traces (id, channel, mode, status, workflow_id, workflow_version, error_group, created_at)
         SELECT 't' || n, 'c' || (n % 50), CASE n % 10 WHEN 0 THEN 'async' ELSE 'sync' END,
            CASE n % 10 WHEN 0 THEN 'failed' ELSE 'completed' END, 'w' || (n % 7), 1,
            CASE n % 10 WHEN 0 THEN {group} END, {instant}
         FROM {numbers};
         INSERT INTO trace_dlq (id, trace_id, channel, payload_json, error_message, next_retry_at, error_group, created_at)
         SELECT 'l' || id, id, channel, '{{}}', 'x', created_at, error_group, created_at FROM traces
         WHERE status = 'failed';
         ANALYZE"
    )
}
