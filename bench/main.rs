//! `make bench`: the service and a bare actix-web handler, in one run on one machine.
//!
//! Closed loop (`wrk`), but for load with other work (`paced`): each of the connections sends its next request when the
//! last was answered, so latencies are those of a saturated server. Rounds of all sides alternate, so that what else the machine does falls on all of them. With
//! names of parts as arguments only those are measured.

mod admin;
mod calls;
mod cluster;
mod connectors;
mod credentials;
mod cron;
mod engine;
mod figures;
mod guards;
mod kafka;
mod latency;
mod lists;
mod load;
mod paced;
mod plugins;
mod population;
mod prices;
mod process;
mod project;
mod shadows;
mod slow_disk;
mod soak;
mod statements;
mod submissions;
mod tls;
mod traces;

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_testkit::example;
use svc_testkit::server::{ServerCommand, ServerProcess, free_port};

use crate::figures::Figure;
use crate::load::{Load, Round, wrk};
use crate::prices::Price;
use crate::process::Bare;

/// Rounds of each side; the median counts.
const ROUNDS: usize = 5;
/// Length of one round.
const ROUND: Duration = Duration::from_secs(4);
/// Connections of a round.
const CONNECTIONS: usize = 50;
/// The bare handler and the quickstart channel listen on the same path.
const ORDERS: &str = "/api/v1/data/orders";

/// A part of the report. It prints what it measures, and notes the figures that have an aim.
type Part = fn(&BenchContext) -> io::Result<()>;

/// The parts that can be measured; soaks and the price list take minutes and run only if named.
const PARTS: [(&str, Part); 20] = [
    ("engine", engine::measure),
    ("traces", traces::measure),
    ("submissions", submissions::measure),
    ("latency", latency::measure),
    ("slow-disk", slow_disk::measure),
    ("credentials", credentials::measure),
    ("guards", guards::measure),
    ("shadows", shadows::measure),
    ("prices", prices::measure),
    ("population", population::measure),
    ("admin", admin::measure),
    ("tls", tls::measure),
    ("connectors", connectors::measure),
    ("plugins", plugins::measure),
    ("kafka", kafka::measure),
    ("cron", cron::measure),
    ("cluster", cluster::measure),
    ("project", project::measure),
    ("soak", soak::measure),
    ("soak-kafka", kafka::soak::measure),
];
const ON_DEMAND: [&str; 3] = ["prices", "soak", "soak-kafka"];
/// Parts that are measured a second time for the earlier release; in those with a yardstick it takes part in the rounds.
const REPEATED: [&str; 7] = ["latency", "slow-disk", "population", "admin", "connectors", "kafka", "cron"];

/// The variable that names the `svc-server` of an earlier release, which is measured with this one.
const PREVIOUS: &str = "SVC_BENCH_PREVIOUS";

/// The locations of binaries and inputs, and the figures noted so far.
struct BenchContext {
    binaries: PathBuf,
    /// The service under measurement.
    server: PathBuf,
    quickstart: PathBuf,
    /// The service of the earlier release.
    earlier: Option<PathBuf>,
    figures: RefCell<Vec<Figure>>,
    prices: RefCell<Vec<Price>>,
}

impl BenchContext {
    /// A server without logs, not yet started.
    fn launch(&self) -> io::Result<ServerCommand> {
        Ok(ServerCommand::new(&self.server)?.env("RUST_LOG", "warn"))
    }

    /// The same measurements of the earlier release, if one is named.
    fn earlier(&self) -> Option<Self> {
        let server = self.earlier.clone()?;
        let (binaries, quickstart) = (self.binaries.clone(), self.quickstart.clone());
        let (figures, prices) = (RefCell::default(), RefCell::default());
        Some(Self { binaries, server, quickstart, earlier: None, figures, prices })
    }

    /// Notes figures that have an aim.
    fn note(&self, figures: impl IntoIterator<Item = Figure>) {
        self.figures.borrow_mut().extend(figures);
    }

    /// Notes prices for the list of the manual.
    fn price(&self, prices: impl IntoIterator<Item = Price>) {
        self.prices.borrow_mut().extend(prices);
    }

    /// A server that stores traces in this mode, with the quickstart loaded.
    fn serve(&self, traces: &str) -> io::Result<ServerProcess> {
        self.load(self.launch()?, traces)
    }

    /// Starts a server that stores traces in this mode, and loads the quickstart.
    fn load(&self, launch: ServerCommand, traces: &str) -> io::Result<ServerProcess> {
        let server = launch.env("SVC_TRACE_STORAGE__MODE", traces).start()?;
        example::load(&mut server.client(), &self.quickstart)?;
        Ok(server)
    }

    /// The yardstick.
    fn bare(&self) -> io::Result<Bare> {
        Bare::start(&self.binaries.join("bare"), free_port()?)
    }

    /// The quickstart order.
    fn order(&self) -> io::Result<Load> {
        let body = std::fs::read_to_string(self.quickstart.join("order.json"))?;
        Ok(Load::post(ORDERS, body.trim()))
    }
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(binaries), Some(quickstart)) = (args.next(), args.next()) else {
        return Err(io::Error::other(
            "usage: bench DIRECTORY_OF_RELEASE_BINARIES QUICKSTART_DIRECTORY [PART…]",
        ));
    };
    let earlier = std::env::var_os(PREVIOUS).filter(|path| !path.is_empty()).map(PathBuf::from);
    let server = binaries.join("svc-server");
    let (figures, prices) = (RefCell::default(), RefCell::default());
    let setting = BenchContext { binaries, server, quickstart, earlier, figures, prices };
    let wanted: Vec<PathBuf> = args.collect();
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| Path::new(part) == *name))
    {
        let known: Vec<_> = PARTS.iter().map(|(part, _)| *part).collect();
        let text = format!("no part is named {}; there are {}", unknown.display(), known.join(", "));
        return Err(io::Error::other(text));
    }
    for (name, measure) in PARTS {
        let asked = wanted.iter().any(|part| part == Path::new(name));
        if asked || (wanted.is_empty() && !ON_DEMAND.contains(&name)) {
            measure(&setting)?;
            if let Some(earlier) = setting.earlier().filter(|_| REPEATED.contains(&name)) {
                println!("The same of the earlier release: {name}");
                measure(&earlier)?;
                figures::set_beside(&mut setting.figures.borrow_mut(), earlier.figures.take());
            }
        }
    }
    figures::report(&setting.figures.borrow());
    match std::env::var_os(prices::FILE).filter(|path| !path.is_empty()) {
        Some(file) => prices::write(Path::new(&file), &setting.prices.borrow()),
        None => Ok(()),
    }
}

/// Sides measured in alternating rounds, the first being the yardstick.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn compare(title: &str, sides: &[(&str, SocketAddr, Load)]) -> io::Result<Vec<Round>> {
    let mut rounds = vec![Vec::new(); sides.len()];
    for _ in 0..ROUNDS {
        for ((_, to, load), rounds) in sides.iter().zip(&mut rounds) {
            rounds.push(wrk(*to, load, CONNECTIONS, ROUND)?.clean()?);
        }
    }
    let medians: Vec<Round> = rounds.into_iter().map(Round::median).collect();
    println!("{title}, {CONNECTIONS} connections, closed loop, median of {ROUNDS} alternating rounds");
    let has_processor = medians[0].processor.is_some();
    let processor = if has_processor { " processor" } else { "" };
    println!("  {:<41} {:>10} {:>11} {:>11}{processor} {:>6}", "", "requests/s", "p50", "p99", "ratio");
    for ((name, ..), median) in sides.iter().zip(&medians) {
        let ratio = median.requests_per_second / medians[0].requests_per_second;
        println!("  {name:<41} {median} {ratio:>6.2}");
    }
    Ok(medians)
}
