//! Asynchronous submissions, from the first request until the last run is on record.

use std::io;
use std::time::Duration;

use svc_testkit::postgres::Postgres;
use svc_testkit::server::{ServerProcess, wait_until};

use crate::figures::{self, Figure};
use crate::load::{Load, Round, wrk};
use crate::process::{measure_time, processor_time};
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS};

/// Longest time for the queue to drain after a round.
const DRAIN: Duration = Duration::from_secs(60);

/// A server that takes submissions, and the figures of its rounds.
struct Side {
    work: &'static str,
    aim: &'static str,
    is_earlier: bool,
    server: ServerProcess,
    answered: Vec<Round>,
    /// Submissions that were run and on record, in a second.
    recorded: Vec<f64>,
    shed: u64,
}

impl Side {
    fn new(work: &'static str, aim: &'static str, is_earlier: bool, server: ServerProcess) -> Self {
        Self { work, aim, is_earlier, server, answered: Vec::new(), recorded: Vec::new(), shed: 0 }
    }

    /// Submits for one round and waits until all of it is on record.
    fn round(&mut self, submission: &Load) -> io::Result<()> {
        let before = processor_time(self.server.pid())?;
        let (round, took) = measure_time(|| {
            let round = wrk(self.server.address(), submission, CONNECTIONS, ROUND)?;
            drain(&self.server)?;
            Ok(round)
        })?;
        let used = processor_time(self.server.pid())?.saturating_sub(before);
        self.answered.push(round.with_processor_time(used));
        self.shed += round.refused;
        self.recorded.push((round.requests - round.refused) as f64 / took.as_secs_f64());
        Ok(())
    }

    /// Prints the figures of its rounds, and returns the one with an aim.
    #[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
    fn report(mut self, yardstick: &Round) -> Figure {
        self.recorded.sort_by(f64::total_cmp);
        let recorded = self.recorded[self.recorded.len() / 2];
        let earlier = if self.is_earlier { "earlier: " } else { "" };
        println!("  {earlier}{}, {} shed", self.work, self.shed);
        let answered = Round::median(self.answered);
        println!("    {:<32} {answered}", "answered");
        let ratio = recorded / yardstick.requests_per_second;
        println!("    {:<32} {recorded:>10.0}   ratio {ratio:.2}", "run and on record");
        let processor = answered.processor.unwrap_or_default() / yardstick.processor.unwrap_or(f64::NAN);
        let measured = format!("{ratio:.2}, p99 {:.1} ms, processor {processor:.2} × bare", answered.p99);
        Figure::new(self.work, self.aim, measured)
    }
}

/// Alternates bare rounds with rounds of submissions, on SQLite, on PostgreSQL and to the earlier release.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let (postgres, earlier) = (Postgres::own(), setting.earlier());
    let mut sides = Vec::new();
    for (is_earlier, release) in [(false, Some(setting)), (true, earlier.as_ref())] {
        let Some(release) = release else { continue };
        sides.push(Side::new(
            "/async, on record, SQLite",
            "0.45, 4.0 × bare",
            is_earlier,
            release.serve("sync")?,
        ));
        if let Some(postgres) = &postgres {
            let database = postgres.database().map_err(io::Error::other)?;
            let launch = release.launch()?.env("SVC_STORAGE__URL", database.url());
            let server = release.load(launch, "sync")?;
            sides.push(Side::new("/async, on record, PostgreSQL", "0.25", is_earlier, server));
        }
    }
    let order = setting.order()?;
    let measured = order.clone().answered_by(bare.pid());
    let mut submission = order.clone();
    submission.path.push_str("/async");
    let mut yardstick = Vec::new();
    for _ in 0..ROUNDS {
        yardstick.push(wrk(bare.address(), &measured, CONNECTIONS, ROUND)?.clean()?);
        for side in &mut sides {
            side.round(&submission)?;
        }
    }
    let yardstick = Round::median(yardstick);
    println!("Asynchronous submissions, {CONNECTIONS} connections, median of {ROUNDS} alternating rounds");
    println!("  {:<34} {yardstick}", "bare actix-web handler");
    let (before, now): (Vec<_>, Vec<_>) = sides.into_iter().partition(|side| side.is_earlier);
    let report = |sides: Vec<Side>| sides.into_iter().map(|side| side.report(&yardstick)).collect();
    let mut measured: Vec<_> = report(now);
    figures::set_beside(&mut measured, report(before));
    setting.note(measured);
    Ok(())
}

/// Waits until nothing is pending or running.
pub(crate) fn drain(server: &ServerProcess) -> io::Result<()> {
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
