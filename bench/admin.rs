//! The admin API during data traffic, and the start of the command-line client.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::example;
use svc_testkit::http::HttpClient;

use crate::figures::Figure;
use crate::lists;
use crate::paced::paced;
use crate::population::{IMPORT_BATCH, channel, expect};
use crate::process::measure_time;
use crate::{BenchContext, ROUND};

/// Channels that the server holds.
const CHANNELS: usize = 5_000;
/// Connections of the data traffic, and its requests in a second.
const CONNECTIONS: usize = 16;
const RATE: usize = 20_000;
/// Single requests of each kind without traffic, and starts of the client.
const SINGLES: usize = 200;
const ADMIN: &str = "/api/v1/admin";

/// The reads, each with its path; `%` is replaced by a number.
const READS: [(&str, &str); 7] = [
    ("list of 50", "/channels?limit=50&offset=%"),
    ("list of 50 active", "/channels?limit=50&status=active&offset=%"),
    ("one channel", "/channels/bench-%"),
    ("workflows", "/workflows?limit=50"),
    ("connectors", "/connectors?limit=50"),
    ("audit log", "/audit-logs?limit=50&offset=%"),
    ("traces", "/traces?limit=50"),
];

/// Measures imports, single changes and reads with many channels, the reads during data traffic too.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let server = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off").start()?;
    let mut client = server.client().keep_alive();
    example::load(&mut client, &setting.quickstart)?;
    println!("The admin API with {CHANNELS} channels");
    let channels: Vec<_> = (0..CHANNELS).map(channel).collect();
    let ((), import) = measure_time(|| {
        for batch in channels.chunks(IMPORT_BATCH) {
            expect(client.json("POST", &format!("{ADMIN}/channels/import"), &json!(batch))?, 200)?;
        }
        Ok(())
    })?;
    println!("  import                          {:>10.0} ms", millis(import));
    let ((), activation) = measure_time(|| {
        for number in 0..CHANNELS {
            activate(&mut client, number, "?reload=defer")?;
        }
        expect(client.json("POST", &format!("{ADMIN}/engine/reload"), &json!({}))?, 200).map(drop)
    })?;
    println!("  activation, one reload          {:>10.0} ms", millis(activation));
    let work = format!("activation of {CHANNELS} channels, one reload");
    setting.note([Figure::new(work, "5 s", format!("{:.1} s", activation.as_secs_f64()))]);
    let (mut creations, mut activations) = (Vec::new(), Vec::new());
    for number in CHANNELS..CHANNELS + SINGLES {
        let create =
            || expect(client.json("POST", &format!("{ADMIN}/channels"), &channel(number))?, 201).map(drop);
        creations.push(measure_time(create)?.1);
        activations.push(measure_time(|| activate(&mut client, number, ""))?.1);
    }
    print_times("create", creations);
    print_times("activate", activations);
    let is_over = AtomicBool::new(true);
    for (name, times) in read(&mut client, &is_over)? {
        print_times(name, times);
    }
    let order = setting.order()?;
    is_over.store(false, Ordering::SeqCst);
    let (round, reads) = thread::scope(|scope| {
        let reading = scope.spawn(|| read(&mut server.client().keep_alive(), &is_over));
        let round = paced(server.address(), &order, CONNECTIONS, RATE, ROUND * 2);
        is_over.store(true, Ordering::SeqCst);
        let reads = reading.join().unwrap_or_else(|_| Err(io::Error::other("the reader panicked")));
        (round.and_then(|round| round.clean()), reads)
    });
    println!("  beside data traffic, {RATE} requests/s due: requests/s, p50, p99");
    println!("  {:<30} {}", "data traffic", round?);
    for (name, times) in reads? {
        print_times(name, times);
    }
    let starts = (0..SINGLES).map(|_| start_of_the_client(setting)).collect::<io::Result<_>>()?;
    print_times("svc-cli --version", starts);
    lists::measure(setting)
}

/// Makes each read in turn, until the end is ordered, at least `SINGLES` times.
fn read(client: &mut HttpClient, is_over: &AtomicBool) -> io::Result<Vec<(&'static str, Vec<Duration>)>> {
    let mut reads: Vec<_> = READS.iter().map(|(name, _)| (*name, Vec::new())).collect();
    let mut number = 0;
    while number < SINGLES || !is_over.load(Ordering::SeqCst) {
        for ((_, path), (_, times)) in READS.iter().zip(&mut reads) {
            let path = format!("{ADMIN}{}", path.replace('%', &(number % CHANNELS).to_string()));
            times.push(measure_time(|| expect(client.get(&path)?, 200).map(drop))?.1);
        }
        number += 1;
    }
    Ok(reads)
}

fn activate(client: &mut HttpClient, number: usize, query: &str) -> io::Result<()> {
    let path = format!("{ADMIN}/channels/bench-{number}/status{query}");
    expect(client.json("PATCH", &path, &json!({"status": "active"}))?, 200).map(drop)
}

/// Runs `svc-cli --version`.
fn start_of_the_client(setting: &BenchContext) -> io::Result<Duration> {
    let mut command = Command::new(setting.binaries.join("svc-cli"));
    let (status, time) = measure_time(|| command.arg("--version").stdout(Stdio::null()).status())?;
    if status.success() { Ok(time) } else { Err(io::Error::other(format!("svc-cli: {status}"))) }
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn print_times(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0.0, |time| millis(*time));
    println!("  {name:<30} p50 {:>8.2} ms  p99 {:>8.2} ms  of {}", at(50), at(99), times.len());
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
