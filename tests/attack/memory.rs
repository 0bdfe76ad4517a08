//! A database that is stopped while callers go on sending.

use std::io;
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::wait_until;

use crate::Attack;
use crate::target::{AttackTarget, resident_mib, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "memory",
        text: "with the database stalled and 256 MiB allowed in flight, the process stays below 1 GiB",
        before: "1.5 GiB at 250 requests, 5.4 GiB at 1,000",
    },
    attack,
);

/// The bound on bytes in flight is an estimate: buffers and the reserves of the allocator come on top.
const BOUND_MIB: u64 = 1_024;
/// Time for which the table of traces stays locked.
const STALL_SECS: u64 = 15;

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let Some(postgres) = Postgres::shared() else {
        return Ok(AttackOutcome::not_run("there is no PostgreSQL"));
    };
    let database = postgres.database().map_err(io::Error::other)?;
    let server = target.launch()?.env("SVC_STORAGE__URL", database.url()).start()?;
    serve_echo(&mut server.client(), "echo", &json!({"timeout_ms": 60_000}))?;
    let clients: usize = target.pick_size(200, 1_000);
    let row = format!("{{\"sku\":\"{}\",\"qty\":1}},", "x".repeat(24));
    let body = format!("{{\"rows\":[{}0]}}", row.repeat(20_000)).into_bytes();
    let locked = database.clone();
    let stall = thread::spawn(move || {
        locked.rows(&format!(
            "BEGIN; LOCK TABLE traces IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({STALL_SECS}); COMMIT"
        ))
    });
    let address = server.address();
    let asking: Vec<_> = (0..clients)
        .map(|_| {
            let body = body.clone();
            thread::spawn(move || {
                let headers = [("content-type", "application/json")];
                HttpClient::new(address)
                    .send("POST", "/api/v1/data/echo", &headers, &body)
                    .map(|answer| answer.status)
            })
        })
        .collect();
    let mut peak = 0;
    wait_until(Duration::from_secs(2 * STALL_SECS), || {
        peak = peak.max(resident_mib(server.pid())?);
        Ok(stall.is_finished() && asking.iter().all(thread::JoinHandle::is_finished))
    })?;
    drop(stall.join());
    let statuses: Vec<_> = asking.into_iter().filter_map(|client| client.join().ok()?.ok()).collect();
    let answered = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 503).count();
    let served = wait_until(Duration::from_secs(30), || {
        Ok(server.client().json("POST", "/api/v1/data/echo", &json!({}))?.status == 200)
    })?;
    let figure = format!(
        "{peak} MiB at {clients} requests, {answered} answered, {refused} refused with 503; serving afterwards: {served}"
    );
    Ok(AttackOutcome::new(peak <= BOUND_MIB && served, figure))
}
