//! A stop while runs wait for what does not answer, compute, or talk to slow clients.

use std::io::{self, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::Attack;
use crate::target::{AttackTarget, expect_soon, serve_call};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "stop",
        text: "with a force timeout of 1 s the process ends within 3 s, whatever waits",
        before: "20.2 s",
    },
    attack,
);

const LIMIT: Duration = Duration::from_secs(3);
/// Time between the bytes of a slow body.
const DRIP: Duration = Duration::from_millis(200);

#[expect(clippy::disallowed_methods, reason = "the time to the end of another process is what is measured")]
fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let upstream = Upstream::start(|_| UpstreamReply::Held)?;
    let mut server = target.launch()?.env("SVC_SERVER__SHUTDOWN_FORCE_TIMEOUT_SECS", "1").start()?;
    serve_call(&mut server.client(), "slow", &upstream.url("/"), &json!({"timeout_ms": 60_000}))?;
    let address = server.address();
    let waiting: Vec<_> = ["/api/v1/data/slow", "/api/v1/data/slow/async"]
        .map(|path| thread::spawn(move || HttpClient::new(address).json("POST", path, &json!({}))))
        .into_iter()
        .collect();
    let dripping = thread::spawn(move || drip(address));
    expect_soon("both runs wait", || Ok(upstream.requests().len() == 2))?;
    let begin = Instant::now();
    server.signal("TERM")?;
    let exit = server.wait(Duration::from_secs(60));
    let took = begin.elapsed();
    upstream.open();
    exit?;
    for client in waiting {
        // A caller whose run was cut gets an answer or a closed connection: both end the thread.
        drop(client.join());
    }
    drop(dripping.join());
    // The short form is run on a binary that is not optimised.
    let limit = if target.short { 2 * LIMIT } else { LIMIT };
    Ok(AttackOutcome::new(took <= limit, format!("{:.1} s", took.as_secs_f64())))
}

/// Sends a body of which a byte comes now and then, until the connection is closed.
#[expect(clippy::disallowed_methods, reason = "a slow client is slow")]
fn drip(address: std::net::SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(
        b"POST /api/v1/data/slow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n",
    )?;
    loop {
        stream.write_all(b" ")?;
        thread::sleep(DRIP);
    }
}
