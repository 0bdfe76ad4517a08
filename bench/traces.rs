//! The cost of storing a trace of every request.

use std::io;

use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;

use crate::figures::{self, Figure};
use crate::process::resident_mib;
use crate::{BenchContext, compare};

/// The modes, each with its name in the report and its aim: a ratio to the bare handler.
const MODES: [(&str, &str, &str); 3] = [
    ("off", "traces off", "0.95, 1.4 × bare"),
    ("sync", "traces sync (row before answer)", "0.6, 5 ms, 2.5 × bare"),
    ("batch", "traces batch (row behind answer)", "0.8, 1.7 × bare"),
];

/// A release in one mode.
struct Side {
    work: &'static str,
    aim: &'static str,
    is_earlier: bool,
    server: ServerProcess,
}

impl Side {
    fn name(&self) -> String {
        if self.is_earlier { format!("earlier: {}", self.work) } else { self.work.to_owned() }
    }
}

/// The quickstart order with traces off, stored before the answer, and stored behind it; stored before the answer in
/// PostgreSQL; and the earlier release with these.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let (postgres, earlier) = (Postgres::own(), setting.earlier());
    let mut servers = Vec::new();
    for (is_earlier, release) in [(false, Some(setting)), (true, earlier.as_ref())] {
        let Some(release) = release else { continue };
        for (mode, work, aim) in MODES {
            servers.push(Side { work, aim, is_earlier, server: release.serve(mode)? });
        }
        if let Some(postgres) = &postgres {
            let database = postgres.database().map_err(io::Error::other)?;
            let launch = release.launch()?.env("SVC_STORAGE__URL", database.url());
            let server = release.load(launch, "sync")?;
            servers.push(Side { work: "traces sync, PostgreSQL", aim: "0.35", is_earlier, server });
        }
    }
    let order = setting.order()?;
    let names: Vec<_> = servers.iter().map(Side::name).collect();
    let mut sides = vec![("bare actix-web handler", bare.address(), order.clone().answered_by(bare.pid()))];
    sides.extend(names.iter().zip(&servers).map(|(name, Side { server, .. })| {
        (&**name, server.address(), order.clone().answered_by(server.pid()))
    }));
    let rounds = compare("The quickstart order", &sides)?;
    let (mut measured, mut before) = (Vec::new(), Vec::new());
    for ((name, side), round) in names.iter().zip(&servers).zip(&rounds[1..]) {
        let (stored, memory) = (count_stored(&side.server)?, resident_mib(side.server.pid())?);
        println!("  {name:<41} {stored:>7} rows, {memory:.1} MiB");
        let ratio = round.requests_per_second / rounds[0].requests_per_second;
        let processor = round.processor.unwrap_or_default() / rounds[0].processor.unwrap_or(f64::NAN);
        let text = format!("{ratio:.2}, p99 {:.1} ms, processor {processor:.2} × bare", round.p99);
        let figure = Figure::new(side.work, side.aim, text);
        if side.is_earlier { before.push(figure) } else { measured.push(figure) }
    }
    figures::set_beside(&mut measured, before);
    setting.note(measured);
    Ok(())
}

/// Traces in the database, as its API counts them.
pub(crate) fn count_stored(server: &ServerProcess) -> io::Result<u64> {
    let answer = server.client().get("/api/v1/admin/traces?limit=1&include_total=true")?;
    answer.json()["total"].as_u64().ok_or_else(|| io::Error::other(format!("no total: {}", answer.text())))
}
