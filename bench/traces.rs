//! The cost of storing a trace of every request.

use std::io;

use svc_testkit::server::ServerProcess;

use crate::process::resident_mib;
use crate::{BenchContext, compare};

/// The quickstart order with traces off, stored before the answer, and stored behind it.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let (off, sync, batch) = (setting.serve("off")?, setting.serve("sync")?, setting.serve("batch")?);
    let order = setting.order()?;
    compare(
        "The quickstart order",
        &[
            ("bare actix-web handler", bare.address(), order.clone()),
            ("the service, traces off", off.address(), order.clone()),
            ("traces sync (row before answer)", sync.address(), order.clone()),
            ("traces batch (row behind answer)", batch.address(), order),
        ],
    )?;
    println!("  rows stored in mode sync           {}", stored(&sync)?);
    for (mode, server) in [("off", &off), ("sync", &sync), ("batch", &batch)] {
        println!("  resident memory, {mode:<5}             {:.1} MiB", resident_mib(server.pid())?);
    }
    Ok(())
}

/// Traces in the database, as its API counts them.
pub(crate) fn stored(server: &ServerProcess) -> io::Result<u64> {
    let answer = server.client().get("/api/v1/admin/traces?limit=1&include_total=true")?;
    answer.json()["total"].as_u64().ok_or_else(|| io::Error::other(format!("no total: {}", answer.text())))
}
