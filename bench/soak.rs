//! A server at 80 % of what it can take, with every guard on: the growth of its memory.

use std::io;
use std::time::Duration;

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::server::ServerProcess;

use crate::credentials::find_credential;
use crate::load::Load;
use crate::paced::{NUMBER, paced};
use crate::process::resident_mib;
use crate::{BenchContext, CONNECTIONS};

/// Length of a slice; memory is read after each.
const SLICE: Duration = Duration::from_secs(60);
const SLICES: usize = 30;
/// More requests a second than a server can answer.
pub(crate) const TOO_MANY: usize = 1_000_000;
/// The time in which so many are due that the server needs some seconds for them: they show what it can take.
pub(crate) const PROBE: Duration = Duration::from_millis(100);
/// The share of it that a load at a fixed rate asks for.
pub(crate) const SHARE: f64 = 0.8;
/// Slices after which caches, windows and pools have their size.
const WARM: usize = 5;

/// Paced load on one channel with every guard; a tenth of the runs is on record before the answer.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let server = setting.serve("sync")?;
    let load = guarded(setting, &server)?;
    // Each body of the soak is another one: no request is answered from the cache, or refused as a duplicate.
    let send = |slice: usize, rate, length| {
        let mut load = load.clone();
        load.body = json!({"order_id": "A-1", "qty": 3, "price": 50, "note": format!("{slice} {NUMBER}")})
            .to_string();
        paced(server.address(), &load, CONNECTIONS, rate, length)?.clean()
    };
    let most = send(0, TOO_MANY, PROBE)?.requests_per_second;
    let rate = most * SHARE;
    println!("Thirty minutes at {rate:.0}/s, 80 % of {most:.0}/s, with every guard on");
    println!("  {:>6} {:>12} {:>10} {:>11} {:>11}", "minute", "memory", "requests/s", "p50", "p99");
    let mut memory = Vec::with_capacity(SLICES);
    for slice in 1..=SLICES {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate is small and positive"
        )]
        let round = send(slice, rate as usize, SLICE)?;
        memory.push(resident_mib(server.pid())?);
        println!("  {slice:>6} {:>8.1} MiB {round}", memory.last().copied().unwrap_or_default());
    }
    let warm = memory.iter().skip(WARM);
    let (least, most) = warm.fold((f64::MAX, 0.0), |(least, most), now| (now.min(least), now.max(most)));
    println!("  after minute {WARM}: {least:.1} to {most:.1} MiB");
    Ok(())
}

/// Creates the channel, and returns a request that its guards let pass.
fn guarded(setting: &BenchContext, server: &ServerProcess) -> io::Result<Load> {
    let order = setting.order()?;
    let (auth, header, token) = find_credential(&order.body, "jwt EdDSA")?;
    let limit = json!({"requests_per_second": TOO_MANY, "burst": TOO_MANY});
    let mut principal_limit = limit.clone();
    principal_limit["key_logic"] = json!({"var": "auth.claims.sub"});
    let channel = json!({
        "channel_id": "guarded", "name": "guarded", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/guarded", "workflow_id": "order-intake",
        "config": {
            "auth": auth,
            "rate_limit": limit,
            "principal_rate_limit": principal_limit,
            "origin_allow_list": ["https://shop.example"],
            "validation_logic": {">": [{"var": "data.qty"}, 0]},
            "deduplication": {"key_logic": {"var": "data.note"}, "window_secs": 5},
            "cache": {"enabled": true, "ttl_secs": 5, "per_principal": true},
            "backpressure": {"max_concurrent_per_node": 1000},
            "timeout_ms": 5000,
            "tracing": {"mode": "sync", "sample_rate": 0.1},
        },
    });
    create_and_activate(&mut server.client(), "channels", "channel_id", &channel)?;
    let load = Load::post("/api/v1/data/guarded", order.body);
    Ok(load.with_header(header, token).with_header("origin", "https://shop.example"))
}
