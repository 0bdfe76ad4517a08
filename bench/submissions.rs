//! Asynchronous submissions, from the first request until the last run is on record.

use std::io;
use std::time::Duration;

use svc_testkit::server::{ServerProcess, wait_until};

use crate::load::{Round, wrk};
use crate::process::timed;
use crate::{BenchContext, CONNECTIONS, ROUND, ROUNDS};

/// Longest time for the queue to drain after a round.
const DRAIN: Duration = Duration::from_secs(60);

/// Alternates bare rounds with rounds of submissions. Those that are shed are counted apart.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let server = setting.serve("sync")?;
    let order = setting.order()?;
    let mut submission = order.clone();
    submission.path.push_str("/async");
    let (mut yardstick, mut submitted, mut drained, mut shed) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        yardstick.push(wrk(bare.address(), &order, CONNECTIONS, ROUND)?.clean()?);
        let (round, took) = timed(|| {
            let round = wrk(server.address(), &submission, CONNECTIONS, ROUND)?;
            drain(&server)?;
            Ok(round)
        })?;
        submitted.push(round);
        shed += round.refused;
        drained.push((round.requests - round.refused) as f64 / took.as_secs_f64());
    }
    drained.sort_by(f64::total_cmp);
    let (yardstick, submitted) = (Round::median(yardstick), Round::median(submitted));
    let drained = drained[drained.len() / 2];
    println!("Asynchronous submissions, {CONNECTIONS} connections, {shed} shed, median of {ROUNDS} rounds");
    println!("  {:<34} {yardstick}", "bare actix-web handler");
    println!("  {:<34} {submitted}", "answered");
    println!("  {:<34} {drained:>10.0}", "run and on record");
    println!("  ratio {:.2}", drained / yardstick.requests_per_second);
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
