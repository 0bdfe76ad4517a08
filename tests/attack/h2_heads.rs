//! Heads of HTTP/2 whose bodies never come: few bytes on the wire, much memory.

use std::io;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http2::{END_HEADERS, HEADERS, RawClient, field, frame, post};
use svc_testkit::server::wait_until;
use svc_testkit::tls::issue_certificate;

use crate::Attack;
use crate::target::{AttackTarget, resident_mib, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "h2_heads",
        text: "100 requests on each of 40 connections, with as many fields as fit, grow memory by at most 200 MiB",
        before: "1,530 MiB at 40 connections, 38 MiB each",
    },
    attack,
);

const GROWTH_MIB: u64 = 200;
/// Requests of one connection that are open at once.
const REQUESTS: u32 = 100;
/// Fields of a head: as many as the service takes, and as many as fit into 32 KiB.
const FIELDS: [usize; 2] = [96, 900];

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let connections: usize = target.pick_size(10, 40);
    let issued = issue_certificate().map_err(io::Error::other)?;
    let server = target.launch()?.over_tls(&issued)?.start()?;
    serve_echo(&mut server.client(), "e", &json!({}))?;
    let before = resident_mib(server.pid())?;
    let (mut held, mut peak) = (Vec::new(), before);
    for count in FIELDS {
        let fields: Vec<u8> = (0..count).flat_map(|number| field(&format!("{number:x}"), "")).collect();
        let head = [post(), fields].concat();
        for _ in 0..connections {
            let mut client = RawClient::open(&server, &issued, &[])?;
            for number in 0..REQUESTS {
                // A service that closes the connection is in its right.
                let _ = client.send(&frame(HEADERS, END_HEADERS, 2 * number + 1, &head));
            }
            let _ = client.sync();
            held.push(client);
            peak = peak.max(resident_mib(server.pid())?);
        }
    }
    drop(held);
    let served = wait_until(Duration::from_secs(30), || {
        Ok(server.client().json("POST", "/api/v1/data/e", &json!({}))?.status == 200)
    })?;
    let growth = peak.saturating_sub(before);
    let figure =
        format!("{before} to {peak} MiB with {} connections; serving afterwards: {served}", 2 * connections);
    Ok(AttackOutcome::new(growth <= GROWTH_MIB && served, figure))
}
