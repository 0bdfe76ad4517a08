//! `svc-server size`: estimates what a load needs, from the figures of the bench.
//!
//! Estimates, not promises: they take the service alone, at half of its processors, on the machine of the bench. Workflows
//! that compute much cost more; measure yours before a purchase.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use crate::config::Config;
use crate::exit::EXIT_OK;
use crate::settings;

/// A figure of the bench.
#[derive(Clone, Copy, Debug)]
struct BenchFigure {
    value: f64,
    /// The words of `bench/README.md` that it is taken from.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the page"))]
    source: &'static str,
}

const fn figure(value: f64, source: &'static str) -> BenchFigure {
    BenchFigure { value, source }
}

/// The day of the figures, as the page writes it.
const MEASURED: &str = "28 November 2026";
/// Microseconds of processor time of a request without a trace.
const REQUEST: BenchFigure = figure(15.5, "a request without traces 15.5");
/// Further microseconds of a stored trace.
const TRACE: BenchFigure = figure(15.5, "a request cost 15.5 µs more than without traces");
/// Microseconds of an accepted request, its run and its record.
const JOB: BenchFigure = figure(60.0, "a job costs 60 µs");
/// Share of a processor that 5,000 occurrences a second take, on SQLite.
const OCCURRENCES_SQLITE: BenchFigure = figure(0.93, "The service takes 0.93 and 0.40 of a core");
/// Share of a processor that 5,000 occurrences a second take, on PostgreSQL.
const OCCURRENCES_POSTGRES: BenchFigure = figure(0.40, "The service takes 0.93 and 0.40 of a core");
/// Occurrences a second of these shares.
const OCCURRENCES: BenchFigure = figure(5_000.0, "5,000 due every second, settled");
/// Records of one partition a second, without traces, on two processors that the brokers share.
const RECORDS: BenchFigure = figure(381_244.0, "381,244/s (0.29)");
/// Accepted requests a second that one file takes, of which each is two writes.
const FILE_JOBS: BenchFigure = figure(26_984.0, "in place of 26,984");
/// MiB of an empty service.
const EMPTY: BenchFigure = figure(45.0, "45 of an empty service");
/// KB of a channel.
const CHANNEL: BenchFigure = figure(7.4, "7.4 KB of heap for each channel");
/// KB of a schedule.
const SCHEDULE: BenchFigure = figure(12.3, "12.3 KB of heap for each schedule");
/// KB of a connection in use.
const CONNECTION: BenchFigure = figure(28.0, "a connection in use (28 KB");
/// Bytes of a database of a million traces, occurrences and audit entries each.
const ROWS: BenchFigure = figure(1.5e9, "1.5 GB on each backend");

/// All figures.
#[cfg(test)]
const FIGURES: [BenchFigure; 13] = [
    REQUEST,
    TRACE,
    JOB,
    OCCURRENCES_SQLITE,
    OCCURRENCES_POSTGRES,
    OCCURRENCES,
    RECORDS,
    FILE_JOBS,
    EMPTY,
    CHANNEL,
    SCHEDULE,
    CONNECTION,
    ROWS,
];

/// Rows of that database.
const ROW_COUNT: f64 = 3.1e6;
/// Share of a processor that a node plans with: the rest is for peaks, and for the work of a node that dies.
const PLANNED_SHARE: f64 = 0.5;
/// Connections of a node to the database in addition to those of `storage.max_connections`: the writer, announcements.
const FURTHER_CONNECTIONS: u32 = 2;
const SECONDS_A_DAY: f64 = 86_400.0;

/// The load that is sized for. Numbers a second are those of a busy hour, for all nodes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
pub struct SizeArgs {
    /// Synchronous requests a second
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub requests: u32,
    /// Accepted requests (/async) a second
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub jobs: u32,
    /// Occurrences of schedules a second
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub occurrences: u32,
    /// Kafka records a second
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub records: u32,
    /// Channels
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub channels: u32,
    /// Schedules
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub schedules: u32,
    /// Milliseconds of a run, its calls of other systems included
    #[arg(long, default_value_t = 50, value_name = "MS")]
    pub duration_ms: u32,
    /// Bytes of input and result of a run, as they are stored
    #[arg(long, default_value_t = 2048, value_name = "BYTES")]
    pub payload_bytes: u32,
    /// Processors of a node
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SizeEstimate {
    /// The day of the figures that it is made from.
    measured: &'static str,
    database: &'static str,
    nodes: u64,
    cores_needed: f64,
    memory_mib_per_node: u64,
    disk_mib_per_day: u64,
    disk_mib_kept: u64,
    connections: u64,
    database_connections: u64,
    notes: Vec<String>,
}

/// Prints the estimate.
pub(super) fn size(
    args: &SizeArgs,
    config: &Config,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let estimate = estimate_size(args, config);
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &estimate).map_err(io::Error::other)?;
        writeln!(out)?;
        return Ok(EXIT_OK);
    }
    for (name, value) in [
        ("nodes", format!("{} of {} cores, on {}", estimate.nodes, args.cores, estimate.database)),
        ("cores needed", format!("{:.2}, planned at half load", estimate.cores_needed)),
        ("memory of a node", format!("{} MiB", estimate.memory_mib_per_node)),
        ("disk a day", format!("{} MiB", estimate.disk_mib_per_day)),
        ("disk as kept", format!("{} MiB", estimate.disk_mib_kept)),
        ("connections", estimate.connections.to_string()),
        ("database connections", estimate.database_connections.to_string()),
    ] {
        writeln!(out, "{name}: {value}")?;
    }
    estimate.notes.iter().try_for_each(|note| writeln!(err, "note: {note}"))?;
    writeln!(
        err,
        "note: an estimate from the figures of {MEASURED} (bench/README.md); measure your workflows"
    )?;
    Ok(EXIT_OK)
}

/// Estimates what a load needs with these settings of storage.
fn estimate_size(args: &SizeArgs, config: &Config) -> SizeEstimate {
    let is_server = settings::store_config(config).is_server();
    let cores_needed = needed_cores(args, config, is_server);
    let mut notes = Vec::new();
    let planned = f64::from(args.cores) * PLANNED_SHARE;
    let busy = whole(cores_needed / planned).max(1);
    // One node more, so that the others carry the load of one that dies.
    let nodes = if is_server { busy + 1 } else { 1 };
    if !is_server && busy > 1 {
        notes.push(format!("a SQLite file serves one node: use PostgreSQL with {} nodes", busy + 1));
    }
    let writes = f64::from(args.jobs) + f64::from(args.requests);
    if !is_server && writes > FILE_JOBS.value * PLANNED_SHARE {
        notes.push(
            "the one writer of a file is more than half busy: use PostgreSQL, or sample traces".to_owned(),
        );
    }
    let in_flight = whole(writes * f64::from(args.duration_ms) / 1000.0);
    // Callers keep their connections between requests.
    let connections = in_flight.saturating_mul(2).max(1);
    if connections > nodes.saturating_mul(config.server.max_connections as u64) {
        notes.push("raise server.max_connections, or use more nodes".to_owned());
    }
    let rows_a_day = stored_rows(args, config) * SECONDS_A_DAY;
    let row_bytes = ROWS.value / ROW_COUNT + f64::from(args.payload_bytes);
    let a_day = rows_a_day * row_bytes / f64::from(1 << 20);
    let kept_days = match config.trace_queue.retention_hours {
        0 => {
            notes.push("trace_queue.retention_hours is 0: rows are kept for ever".to_owned());
            365.0
        }
        hours => whole_to_float(hours) / 24.0,
    };
    let pool = u64::from(config.storage.max_connections) + u64::from(FURTHER_CONNECTIONS);
    SizeEstimate {
        measured: MEASURED,
        database: if is_server { "PostgreSQL" } else { "SQLite" },
        nodes,
        cores_needed,
        memory_mib_per_node: memory_mib(args, config, connections.div_ceil(nodes)),
        disk_mib_per_day: whole(a_day),
        disk_mib_kept: whole(a_day * kept_days),
        connections,
        database_connections: if is_server { pool * nodes } else { 0 },
        notes,
    }
}

/// Returns the processors that the load keeps busy.
fn needed_cores(args: &SizeArgs, config: &Config, is_server: bool) -> f64 {
    let traced = config.trace_storage.sample_rate;
    let occurrence = if is_server { OCCURRENCES_POSTGRES } else { OCCURRENCES_SQLITE };
    let requests = f64::from(args.requests) * (REQUEST.value + TRACE.value * traced);
    let records = f64::from(args.records) * (2e6 / RECORDS.value + TRACE.value * traced);
    let micros = requests + f64::from(args.jobs) * JOB.value + records;
    micros / 1e6 + f64::from(args.occurrences) * occurrence.value / OCCURRENCES.value
}

/// Returns the rows that are stored each second.
fn stored_rows(args: &SizeArgs, config: &Config) -> f64 {
    let traced = config.trace_storage.sample_rate;
    let traces = (f64::from(args.requests) + f64::from(args.records)) * traced;
    // An occurrence has a row in the ledger and one of its trace.
    traces + f64::from(args.jobs) + f64::from(args.occurrences) * 2.0
}

/// Returns the memory of a node: what is loaded, its connections, and the messages that may be in flight.
fn memory_mib(args: &SizeArgs, config: &Config, connections: u64) -> u64 {
    let loaded = f64::from(args.channels) * CHANNEL.value + f64::from(args.schedules) * SCHEDULE.value;
    let open = whole_to_float(connections) * CONNECTION.value;
    let bounds = config.server.max_in_flight_bytes.saturating_add(config.trace_queue.max_queue_memory_bytes);
    let messages = whole_to_float(bounds as u64) / f64::from(1 << 20);
    whole(EMPTY.value + (loaded + open) * 1000.0 / f64::from(1 << 20) + messages)
}

/// Returns the next whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative numbers are refused")]
fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn whole_to_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> SizeArgs {
        SizeArgs {
            requests: 0,
            jobs: 0,
            occurrences: 0,
            records: 0,
            channels: 100,
            schedules: 0,
            duration_ms: 50,
            payload_bytes: 2048,
            cores: 2,
            json: false,
        }
    }

    fn on_postgres() -> Config {
        let mut config = Config::default();
        config.storage.url = "postgres://db/svc".into();
        config
    }

    #[test]
    fn every_figure_is_in_its_page() {
        let page = include_str!("../../bench/README.md");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&format!("Results of {MEASURED}")), "{MEASURED}");
        for figure in FIGURES {
            assert!(page.contains(figure.source), "{}", figure.source);
        }
    }

    #[test]
    fn nodes_grow_with_the_load_and_survive_one() {
        let nodes = |requests: u32| estimate_size(&SizeArgs { requests, ..load() }, &on_postgres()).nodes;
        assert_eq!(nodes(0), 2);
        assert_eq!(nodes(30_000), 2);
        assert_eq!(nodes(100_000), 5);
    }

    #[test]
    fn file_serves_one_node_and_says_so() {
        let estimate = estimate_size(&SizeArgs { requests: 100_000, ..load() }, &Config::default());
        assert_eq!((estimate.nodes, estimate.database_connections), (1, 0));
        assert!(estimate.notes.iter().any(|note| note.contains("PostgreSQL with 5 nodes")), "{estimate:?}");
    }

    #[test]
    fn rows_kept_follow_the_retention() {
        let mut config = on_postgres();
        let args = SizeArgs { jobs: 100, ..load() };
        let three_days = estimate_size(&args, &config);
        config.trace_queue.retention_hours = 24;
        let one_day = estimate_size(&args, &config);
        assert!(three_days.disk_mib_kept > 2 * one_day.disk_mib_kept, "{three_days:?} {one_day:?}");
        assert_eq!(three_days.connections, 10);
    }
}
