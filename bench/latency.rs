//! Latency at 80 % of what the server and its clients can take, sent at a fixed rate that waits for no response.

use std::io;
use std::time::Duration;

use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;

use crate::figures::Figure;
use crate::load::{Load, Round};
use crate::paced::paced;
use crate::process::measure_time;
use crate::soak::{PROBE, SHARE, TOO_MANY};
use crate::submissions::drain;
use crate::{BenchContext, CONNECTIONS};

/// Rounds at the rate; the one in the middle by its p99 counts.
const ROUNDS: usize = 3;
/// Length of one round.
const LENGTH: Duration = Duration::from_secs(10);

/// The quickstart order, synchronous and submitted, with every trace on disk.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let order = setting.order()?;
    let mut submission = order.clone();
    submission.path.push_str("/async");
    let postgres = Postgres::own();
    println!("At 80 % of the peak, {CONNECTIONS} connections, fixed rate, median of {ROUNDS} rounds by p99");
    println!("  {:<34} {:>10} {:>10} {:>11} {:>11}", "", "peak", "requests/s", "p50", "p99");
    for (work, load, aim) in [("sync", &order, "5 ms"), ("/async", &submission, "10 ms")] {
        let server = setting.serve("sync")?;
        report(setting, &format!("{work} at 80 %, SQLite"), aim, measure_side(&server, load)?);
        if let Some(postgres) = &postgres {
            let database = postgres.database().map_err(io::Error::other)?;
            let launch = setting.launch()?.env("SVC_STORAGE__URL", database.url());
            let server = setting.load(launch, "sync")?;
            report(setting, &format!("{work} at 80 %, PostgreSQL"), "10 ms", measure_side(&server, load)?);
        }
    }
    Ok(())
}

/// A rate that a server can keep up, and its round at 80 % of that.
struct Paced {
    peak: f64,
    round: Round,
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn report(setting: &BenchContext, work: &str, aim: &'static str, Paced { peak, round }: Paced) {
    println!("  {work:<34} {peak:>10.0} {round}");
    let measured = format!("p99 {:.1} ms at {:.0}/s", round.p99, round.requests_per_second);
    setting.note([Figure::new(work, aim, measured)]);
}

/// Finds the peak of a load, of submissions that of their runs on record, and measures its latency.
fn measure_side(server: &ServerProcess, load: &Load) -> io::Result<Paced> {
    let (probe, took) = measure_time(|| {
        let probe = paced(server.address(), load, CONNECTIONS, TOO_MANY, PROBE)?;
        drain(server)?;
        Ok(probe)
    })?;
    let peak = (probe.requests - probe.refused) as f64 / took.as_secs_f64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is small and positive"
    )]
    let rate = (peak * SHARE) as usize;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push(paced(server.address(), load, CONNECTIONS, rate, LENGTH)?.clean()?);
        drain(server)?;
    }
    rounds.sort_by(|a, b| a.p99.total_cmp(&b.p99));
    Ok(Paced { peak, round: rounds[ROUNDS / 2] })
}
