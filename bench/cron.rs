//! Many schedules on one node, and a ledger with a million rows.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use svc_testkit::cron::every_second;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::BenchContext;
use crate::figures::Figure;
use crate::population::{create_channels, expect};
use crate::process::{let_run, measure_time, processor_time, resident_mib, restarted_in};

/// Active schedules of the one node.
const SCHEDULES: usize = 10_000;
/// Those of them that are due every second; the others are due once a year.
const BUSY: usize = 200;
/// Due every second in turn, the most first: more than a node can run, and about as many as it can.
const DUE: [usize; 4] = [20_000, 10_000, 5_000, 3_000];
/// After a start, before anything is measured.
const SETTLE: Duration = Duration::from_secs(10);
/// The measured period.
const WINDOW: Duration = Duration::from_secs(30);
/// Rows of the list.
const ROWS: usize = 1_000_000;
/// Times a page is read; the median is reported.
const READS: usize = 21;

/// The database of a node.
enum Backend<'p> {
    Sqlite,
    Postgres(&'p Postgres),
}

/// Measures the cost of schedules and the capacity of one node, on each available backend.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let postgres = Postgres::own();
    for backend in std::iter::once(Backend::Sqlite).chain(postgres.as_ref().map(Backend::Postgres)) {
        run_many(setting, &backend)?;
        let mut most: f64 = 0.0;
        for due in DUE {
            most = most.max(run_saturated(setting, &backend, due)?);
        }
        let (work, aim) = match backend {
            Backend::Sqlite => ("most settled a second, SQLite", "10,000"),
            Backend::Postgres(_) => ("most settled a second, PostgreSQL", "8,000"),
        };
        setting.note([Figure::new(work, aim, format!("{most:.0}"))]);
    }
    for backend in std::iter::once(Backend::Sqlite).chain(postgres.as_ref().map(Backend::Postgres)) {
        long(setting, &backend)?;
    }
    Ok(())
}

impl Backend<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// A node on an empty database of this kind, not yet started.
    fn launch(&self, setting: &BenchContext) -> io::Result<ServerCommand> {
        let launch = setting.launch()?;
        let launch = match self {
            Self::Sqlite => launch,
            Self::Postgres(server) => {
                let database = server.database().map_err(io::Error::other)?;
                launch.env("SVC_STORAGE__URL", database.url())
            }
        };
        Ok(launch
            .env("SVC_TRACE_STORAGE__MODE", "off")
            .env("SVC_METRICS__ENABLED", "true")
            .env("SVC_CRON__WORKERS", "32")
            .env("SVC_CRON__CLAIM_BATCH_SIZE", "100"))
    }
}

/// A workflow that costs next to nothing, and so many schedules of it.
fn seed(client: &mut HttpClient, busy: usize, all: usize) -> io::Result<()> {
    let mapping =
        json!({"mappings": [{"path": "data.at", "logic": {"var": "metadata.trigger.scheduled_for"}}]});
    let workflow = json!({"workflow_id": "note", "name": "note", "tasks": [
        {"id": "note", "name": "Note", "function": {"name": "map", "input": mapping}}]});
    create_and_activate(client, "workflows", "workflow_id", &workflow)?;
    let channel = |number: usize| {
        let more = if number < busy { json!({}) } else { json!({"schedule": "@yearly"}) };
        every_second(&format!("c{number}"), "note", more)
    };
    create_channels(client, &(0..all).map(channel).collect::<Vec<_>>())
}

/// Many schedules, of which few are due.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn run_many(setting: &BenchContext, backend: &Backend) -> io::Result<()> {
    let server = backend.launch(setting)?.start()?;
    seed(&mut server.client(), BUSY, SCHEDULES)?;
    let (server, start) = restarted_in(server)?;
    let during = observe(&server)?;
    println!("{SCHEDULES} schedules on one node, {BUSY} of them due every second, {}", backend.name());
    println!("  start until ready            {start:?}");
    println!("  runs in a second             {:.0}", during.completed);
    println!("  begin after the instant      p50 ≤ {} s, p99 ≤ {} s", during.lag(0.5), during.lag(0.99));
    println!("  processor                    {:.1} % of one core", during.processor * 100.0);
    let memory = resident_mib(server.pid())?;
    println!("  resident memory              {memory:.1} MiB");
    let work = format!("memory of {SCHEDULES} schedules, {}", backend.name());
    setting.note([Figure::new(work, "100 MiB", format!("{memory:.0} MiB"))]);
    Ok(())
}

/// As many due as can run, or more, with as many workers as share a transaction. Returns the settled ones of a second.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn run_saturated(setting: &BenchContext, backend: &Backend, due: usize) -> io::Result<f64> {
    let launch = backend.launch(setting)?.env("SVC_CRON__MISFIRE_GRACE_SECS", "600");
    let server = launch.env("SVC_CRON__WORKERS", "256").start()?;
    seed(&mut server.client(), due, due)?;
    let during = observe(&server)?;
    println!("{due} due every second on one node, {}", backend.name());
    println!("  put on record in a second    {:.0}", during.recorded);
    println!("  claimed, run and settled     {:.0}", during.completed);
    println!("  processor                    {:.1} % of one core", during.processor * 100.0);
    let work = format!("settled a second of {due} due, {}", backend.name());
    let settled = format!("{:.0}, {:.0} on record", during.completed, during.recorded);
    setting.note([Figure::new(work, "-", settled)]);
    Ok(during.completed)
}

/// The first page of a long list.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn long(setting: &BenchContext, backend: &Backend) -> io::Result<()> {
    let launch = setting.launch()?;
    let database = match backend {
        Backend::Sqlite => None,
        Backend::Postgres(server) => Some(server.database().map_err(io::Error::other)?),
    };
    let launch = match &database {
        Some(database) => launch.env("SVC_STORAGE__URL", database.url()),
        None => launch,
    };
    let server = launch.start()?;
    match &database {
        Some(database) => drop(database.rows(&rows_in_postgres()).map_err(io::Error::other)?),
        None => sqlite(&server.directory().join("svc.db"), &rows_in_sqlite())?,
    }
    let mut client = server.client().keep_alive();
    println!("A ledger of {ROWS} occurrences, {}", backend.name());
    for (title, filter) in [
        ("first page", ""),
        ("first page of a channel", "&channel_id=c7"),
        ("first page of what failed", "&status=failed"),
    ] {
        let path = format!("/api/v1/admin/cron/occurrences?limit=50{filter}");
        let mut times = Vec::new();
        for _ in 0..READS {
            let (page, time) = measure_time(|| expect(client.get(&path)?, 200))?;
            if page.json()["data"].as_array().map(Vec::len) != Some(50) {
                return Err(io::Error::other(format!("not a page: {}", page.text())));
            }
            times.push(time);
        }
        times.sort();
        println!("  {title:<28} {:?}, at most {:?}", times[READS / 2], times[READS - 1]);
        if filter.is_empty() {
            let work = format!("total of a million occurrences, {}", backend.name());
            let median = times[READS / 2].as_secs_f64() * 1e3;
            setting.note([Figure::new(work, "5 ms", format!("{median:.1} ms"))]);
        }
    }
    Ok(())
}

fn rows_in_postgres() -> String {
    format!(
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for, status, attempt,
            created_at)
         SELECT gen_random_uuid(), 'c' || (n % 100), 'c' || (n % 100), 1, at, CASE n % 50 WHEN 0 THEN 'failed' ELSE
            'completed' END, 1, at
         FROM (SELECT n, (now() AT TIME ZONE 'utc') - n * interval '1 millisecond' AS at
            FROM generate_series(1, {ROWS}) n) instants;
         ANALYZE cron_occurrences"
    )
}

fn rows_in_sqlite() -> String {
    format!(
        "WITH RECURSIVE instants(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM instants WHERE n < {ROWS})
         INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for, status, attempt,
            created_at)
         SELECT printf('00000000-0000-4000-8000-%012x', n), 'c' || (n % 100), 'c' || (n % 100), 1, at,
            CASE n % 50 WHEN 0 THEN 'failed' ELSE 'completed' END, 1, at
         FROM (SELECT n, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n / 1000.0) || ' seconds') AS at FROM instants);
         ANALYZE"
    )
}

/// Runs SQL on a file around the service.
pub(crate) fn sqlite(file: &Path, sql: &str) -> io::Result<()> {
    let output =
        std::process::Command::new("sqlite3").args(["-cmd", ".timeout 60000"]).arg(file).arg(sql).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The work of a node in a second of the window.
struct Observed {
    recorded: f64,
    completed: f64,
    /// Cores.
    processor: f64,
    /// Runs that began within so many seconds after their instant.
    lags: Vec<(f64, f64)>,
}

impl Observed {
    /// The smallest bound known to hold for this share of the runs.
    fn lag(&self, share: f64) -> f64 {
        let all = self.lags.last().map_or(0.0, |(_, count)| *count);
        self.lags.iter().find(|(_, count)| *count >= all * share).map_or(f64::INFINITY, |(bound, _)| *bound)
    }
}

fn observe(server: &ServerProcess) -> io::Result<Observed> {
    let_run(SETTLE);
    let (before, processor_before) = (scrape(server)?, processor_time(server.pid())?);
    let (_, took) = measure_time(|| {
        let_run(WINDOW);
        Ok(())
    })?;
    let (after, processor_after) = (scrape(server)?, processor_time(server.pid())?);
    let in_a_second = |name: &str| (value(&after, name) - value(&before, name)) / took.as_secs_f64();
    let status = |status: &str| in_a_second(&format!("svc_cron_occurrences_total{{status=\"{status}\"}}"));
    let bucket = "svc_cron_schedule_lag_seconds_bucket{le=\"";
    let bounds = after.lines().filter_map(|line| line.strip_prefix(bucket)?.split('"').next());
    let lags = bounds
        .map(|bound| {
            let name = format!("{bucket}{bound}\"}}");
            (bound.parse().unwrap_or(f64::INFINITY), value(&after, &name) - value(&before, &name))
        })
        .collect();
    Ok(Observed {
        recorded: status("pending"),
        completed: status("completed"),
        processor: (processor_after - processor_before).as_secs_f64() / took.as_secs_f64(),
        lags,
    })
}

fn scrape(server: &ServerProcess) -> io::Result<String> {
    Ok(expect(server.client().get("/metrics")?, 200)?.text())
}

/// A sample of an exposition.
fn value(exposition: &str, name: &str) -> f64 {
    let line = exposition.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_smallest_bound_holding_for_the_share() {
        let lags = vec![(0.1, 50.0), (0.5, 98.0), (1.0, 99.0), (f64::INFINITY, 100.0)];
        let observed = Observed { recorded: 0.0, completed: 0.0, processor: 0.0, lags };
        assert_eq!([0.5, 0.51, 0.99, 1.0].map(|share| observed.lag(share)), [0.1, 0.5, 1.0, f64::INFINITY]);
    }

    #[test]
    fn a_sample_is_found_by_its_whole_name() {
        let text = "a_total{status=\"x\"} 7\na_total{status=\"xy\"} 9\n";
        assert_eq!(value(text, "a_total{status=\"xy\"}"), 9.0);
        assert_eq!(value(text, "a_total{status=\"z\"}"), 0.0);
    }
}
