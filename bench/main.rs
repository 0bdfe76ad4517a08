//! `make bench`: the service beside a bare actix-web handler, in one run on one machine.
//!
//! Closed loop (`wrk`): each of the connections sends its next request when the last was answered, so latencies are those
//! of a saturated server. Rounds of both sides alternate, so that what else the machine does falls on both.

mod load;
mod population;
mod process;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_testkit::example;
use svc_testkit::server::{Launch, free_port};

use crate::load::{Round, wrk};
use crate::population::{create_channels, median_change};
use crate::process::{Bare, resident_mib, started_in};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const CONNECTIONS: usize = 50;
const MANY: usize = 5_000;
const FEW: usize = 10;

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(binaries), Some(quickstart)) = (args.next(), args.next()) else {
        return Err(io::Error::other("usage: bench DIRECTORY_OF_RELEASE_BINARIES QUICKSTART_DIRECTORY"));
    };
    throughput(&binaries, &quickstart)?;
    populations(&binaries, &quickstart)
}

fn launch(binaries: &Path) -> io::Result<Launch> {
    let launch = Launch::new(binaries.join("svc-server"))?;
    Ok(launch.env("SVC_TRACE_STORAGE__MODE", "off").env("RUST_LOG", "warn"))
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn throughput(binaries: &Path, quickstart: &Path) -> io::Result<()> {
    let server = launch(binaries)?.start()?;
    example::load(&mut server.client(), quickstart)?;
    let bare = Bare::start(&binaries.join("bare"), free_port()?)?;
    let order = quickstart.join("order.json");
    let (mut ours, mut yardstick) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        yardstick.push(wrk(bare.address(), &order, CONNECTIONS, ROUND)?);
        ours.push(wrk(server.address(), &order, CONNECTIONS, ROUND)?);
    }
    let (yardstick, ours) = (Round::median(yardstick), Round::median(ours));
    println!(
        "The quickstart order, {CONNECTIONS} connections, closed loop, median of {ROUNDS} alternating rounds"
    );
    println!("  {:<28} {:>12} {:>10} {:>10}", "", "requests/s", "p50", "p99");
    println!("  {:<28} {yardstick}", "bare actix-web handler");
    println!("  {:<28} {ours}", "the service, traces off");
    println!("  ratio {:.2}", ours.requests_per_second / yardstick.requests_per_second);
    println!("  resident memory after it     {:.1} MiB", resident_mib(server.pid())?);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn populations(binaries: &Path, quickstart: &Path) -> io::Result<()> {
    let mut changes = Vec::new();
    for count in [0, FEW, MANY] {
        let (server, empty_start) = started_in(launch(binaries)?)?;
        if count == 0 {
            println!("An empty service");
            println!("  start until ready            {empty_start:?}");
            println!("  resident memory              {:.1} MiB", resident_mib(server.pid())?);
            continue;
        }
        let mut client = server.client().keep_alive();
        example::load(&mut client, quickstart)?;
        create_channels(&mut client, count)?;
        let change = median_change(&mut client)?;
        changes.push(change);
        println!("{count} channels");
        println!("  one changed channel live in  {change:?}");
        println!("  resident memory              {:.1} MiB", resident_mib(server.pid())?);
        let (server, start) = process::restarted_in(server)?;
        println!("  start until ready            {start:?}");
        println!("  resident memory after start  {:.1} MiB", resident_mib(server.pid())?);
    }
    if let [few, many] = changes[..] {
        let ratio = many.as_secs_f64() / few.as_secs_f64();
        println!("One changed channel: {MANY} against {FEW} channels  {ratio:.2}");
    }
    Ok(())
}
