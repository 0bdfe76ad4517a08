//! Five minutes of load, with the growth of memory.

use std::io;
use std::time::Duration;

use crate::load::wrk;
use crate::process::resident_mib;
use crate::{BenchContext, CONNECTIONS};

/// Length of one slice; memory is read after each.
const SLICE: Duration = Duration::from_secs(10);
const SLICES: usize = 15;

/// Stored traces and submissions, half of the time each, on one server.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let server = setting.serve("sync")?;
    let order = setting.order()?;
    let mut submission = order.clone();
    submission.path.push_str("/async");
    println!("Five minutes of load, {CONNECTIONS} connections: resident memory in MiB after each slice");
    for slice in 0..SLICES {
        let sync = wrk(server.address(), &order, CONNECTIONS, SLICE)?.clean()?;
        let submitted = wrk(server.address(), &submission, CONNECTIONS, SLICE)?;
        println!(
            "  {slice:>2}  {:>8.1} MiB   {:>8.0} sync/s   {:>8.0} async/s   {:>4} shed",
            resident_mib(server.pid())?,
            sync.requests_per_second,
            submitted.requests_per_second,
            submitted.refused
        );
    }
    Ok(())
}
