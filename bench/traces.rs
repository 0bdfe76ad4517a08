//! The cost of storing a trace of every request.

use std::io;

use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;

use crate::process::resident_mib;
use crate::{BenchContext, compare};

/// The modes, and what the report calls them.
const MODES: [(&str, &str); 3] = [
    ("off", "the service, traces off"),
    ("sync", "traces sync (row before answer)"),
    ("batch", "traces batch (row behind answer)"),
];

/// The quickstart order with traces off, stored before the answer, and stored behind it; stored before the answer in
/// PostgreSQL; and the earlier release beside these.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let mut servers = Vec::new();
    for (mode, name) in MODES {
        servers.push((name.to_owned(), setting.serve(mode)?));
    }
    let postgres = Postgres::own();
    if let Some(postgres) = &postgres {
        let database = postgres.database().map_err(io::Error::other)?;
        let launch = setting.launch()?.env("SVC_STORAGE__URL", database.url());
        servers.push(("traces sync, PostgreSQL".to_owned(), setting.load(launch, "sync")?));
    }
    for (mode, _) in MODES {
        if let Some(server) = setting.serve_previous(mode) {
            servers.push((format!("earlier release, traces {mode}"), server?));
        }
    }
    let order = setting.order()?;
    let mut sides = vec![("bare actix-web handler", bare.address(), order.clone())];
    sides.extend(servers.iter().map(|(name, server)| (name.as_str(), server.address(), order.clone())));
    compare("The quickstart order", &sides)?;
    for (name, server) in &servers {
        println!("  {name:<34} {:>7} rows, {:.1} MiB", count_stored(server)?, resident_mib(server.pid())?);
    }
    Ok(())
}

/// Traces in the database, as its API counts them.
pub(crate) fn count_stored(server: &ServerProcess) -> io::Result<u64> {
    let answer = server.client().get("/api/v1/admin/traces?limit=1&include_total=true")?;
    answer.json()["total"].as_u64().ok_or_else(|| io::Error::other(format!("no total: {}", answer.text())))
}
