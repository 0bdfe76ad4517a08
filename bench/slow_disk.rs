//! A disk that takes 5 and 20 ms to sync: `fsync` and `fdatasync` of the service are delayed by a library in front of the
//! one of the system. Needs a C compiler.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use svc_testkit::server::ServerProcess;

use crate::figures::Figure;
use crate::load::{Load, Round, wrk};
use crate::submissions::drain;
use crate::traces::count_stored;
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS};

/// The library that delays.
const LIBRARY: &str = include_str!("slow_disk.c");
/// Milliseconds of a sync in addition to those of the disk, each with the aim for the p99: three syncs.
const DELAYS: [(u64, &str); 3] = [(0, "-"), (5, "p99 15 ms, 0 lost"), (20, "p99 60 ms, 0 lost")];

/// The quickstart order, synchronous and submitted, with every trace on disk, over each disk; then the process is killed
/// and what was answered is looked for.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let directory = tempfile::tempdir()?;
    let library = directory.path().join("slow_disk.so");
    compile(&library)?;
    let order = setting.order()?;
    let mut submission = order.clone();
    submission.path.push_str("/async");
    println!("A slow disk, SQLite, {CONNECTIONS} connections, closed loop, median of {ROUNDS} rounds");
    println!("  {:<34} {:>10} {:>11} {:>11} {:>16}", "", "requests/s", "p50", "p99", "least of a batch");
    for (delay, aim) in DELAYS {
        for (work, load) in [("sync", &order), ("/async", &submission)] {
            let launch = setting.launch()?.env("LD_PRELOAD", &library.to_string_lossy());
            let server = setting.load(launch.env("SYNC_DELAY_US", &(delay * 1000).to_string()), "sync")?;
            let work = format!("{work}, {delay} ms more a sync");
            let Survived { round, answered, lost } = survive(server, load)?;
            // As many syncs as fit one after the other: batches are at least that large.
            let least = round.requests_per_second * delay as f64 / 1000.0;
            println!("  {work:<34} {round} {least:>16.0}, {lost} of {answered} lost");
            if delay > 0 {
                let rate = round.requests_per_second;
                let measured = format!("p99 {:.1} ms, {lost} lost, {rate:.0}/s", round.p99);
                setting.note([Figure::new(work, aim, measured)]);
            }
        }
    }
    Ok(())
}

/// The rounds of a server that was killed behind them.
struct Survived {
    round: Round,
    answered: u64,
    /// Answered requests without a trace.
    lost: u64,
}

/// Measures a server, kills it and counts what it has kept.
fn survive(server: ServerProcess, load: &Load) -> io::Result<Survived> {
    let (mut rounds, mut answered) = (Vec::with_capacity(ROUNDS), 0);
    let before = count_stored(&server)?;
    for _ in 0..ROUNDS {
        let round = wrk(server.address(), load, CONNECTIONS, ROUND)?;
        answered += round.requests - round.refused;
        rounds.push(round);
    }
    let server = server.crash_and_restart()?;
    drain(&server)?;
    let stored = count_stored(&server)?.saturating_sub(before);
    Ok(Survived { round: Round::median(rounds), answered, lost: answered.saturating_sub(stored) })
}

/// Compiles the library with the C compiler of the system.
fn compile(library: &Path) -> io::Result<()> {
    let mut compiler = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-x", "c", "-o"])
        .arg(library)
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut source) = compiler.stdin.take() {
        source.write_all(LIBRARY.as_bytes())?;
    }
    let status = compiler.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cc: {status}"))) }
}
