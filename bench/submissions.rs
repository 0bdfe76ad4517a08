//! Asynchronous submissions, from the first request until the last run is on record.

use std::io;
use std::time::Duration;

use svc_testkit::postgres::Postgres;
use svc_testkit::server::{ServerProcess, wait_until};

use crate::load::{Load, Round, wrk};
use crate::process::measure_time;
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS};

/// Longest time for the queue to drain after a round.
const DRAIN: Duration = Duration::from_secs(60);

/// A server that takes submissions, and the figures of its rounds.
struct Side {
    name: &'static str,
    server: ServerProcess,
    answered: Vec<Round>,
    /// Submissions that were run and on record, in a second.
    recorded: Vec<f64>,
    shed: u64,
}

impl Side {
    fn new(name: &'static str, server: ServerProcess) -> Self {
        Self { name, server, answered: Vec::new(), recorded: Vec::new(), shed: 0 }
    }

    /// Submits for one round and waits until all of it is on record.
    fn round(&mut self, submission: &Load) -> io::Result<()> {
        let (round, took) = measure_time(|| {
            let round = wrk(self.server.address(), submission, CONNECTIONS, ROUND)?;
            drain(&self.server)?;
            Ok(round)
        })?;
        self.answered.push(round);
        self.shed += round.refused;
        self.recorded.push((round.requests - round.refused) as f64 / took.as_secs_f64());
        Ok(())
    }

    #[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
    fn report(mut self, yardstick: &Round) {
        self.recorded.sort_by(f64::total_cmp);
        let recorded = self.recorded[self.recorded.len() / 2];
        println!("  {}, {} shed", self.name, self.shed);
        println!("    {:<32} {}", "answered", Round::median(self.answered));
        let ratio = recorded / yardstick.requests_per_second;
        println!("    {:<32} {recorded:>10.0}   ratio {ratio:.2}", "run and on record");
    }
}

/// Alternates bare rounds with rounds of submissions, on SQLite, on PostgreSQL and to the earlier release.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let mut sides = vec![Side::new("the service", setting.serve("sync")?)];
    let postgres = Postgres::own();
    if let Some(postgres) = &postgres {
        let database = postgres.database().map_err(io::Error::other)?;
        let launch = setting.launch()?.env("SVC_STORAGE__URL", database.url());
        sides.push(Side::new("the service on PostgreSQL", setting.load(launch, "sync")?));
    }
    if let Some(server) = setting.serve_previous("sync") {
        sides.push(Side::new("the earlier release", server?));
    }
    let order = setting.order()?;
    let mut submission = order.clone();
    submission.path.push_str("/async");
    let mut yardstick = Vec::new();
    for _ in 0..ROUNDS {
        yardstick.push(wrk(bare.address(), &order, CONNECTIONS, ROUND)?.clean()?);
        for side in &mut sides {
            side.round(&submission)?;
        }
    }
    let yardstick = Round::median(yardstick);
    println!("Asynchronous submissions, {CONNECTIONS} connections, median of {ROUNDS} alternating rounds");
    println!("  {:<34} {yardstick}", "bare actix-web handler");
    sides.into_iter().for_each(|side| side.report(&yardstick));
    Ok(())
}

/// Waits until nothing is pending or running.
fn drain(server: &ServerProcess) -> io::Result<()> {
    let mut client = server.client();
    let done = wait_until(DRAIN, || {
        for status in ["pending", "running"] {
            let path = format!("/api/v1/admin/traces?status={status}&mode=async&limit=1");
            let rows = client.get(&path)?.json()["data"].as_array().map_or(1, Vec::len);
            if rows > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    if done { Ok(()) } else { Err(io::Error::other("submissions were still waiting after a minute")) }
}
