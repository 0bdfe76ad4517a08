//! Many clients, slow clients, and clients that use up the descriptors.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, free_port, wait_until};

use crate::Attack;
use crate::target::{AttackTarget, resident_mib, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const BODIES: Attack = (
    Promise {
        name: "bodies",
        text: "bodies of 1 MiB from 1,500 anonymous clients for an unknown channel grow memory by at most 100 MiB",
        before: "70 to 2,460 MiB",
    },
    bodies,
);

pub(crate) const PIPELINE: Attack = (
    Promise { name: "pipeline", text: "two pipelined requests are answered within 10 ms", before: "42 ms" },
    pipeline,
);

pub(crate) const DESCRIPTORS: Attack = (
    Promise {
        name: "descriptors",
        text: "with every descriptor used up the operational listener answers",
        before: "no answer",
    },
    descriptors,
);

const GROWTH_MIB: u64 = 100;
const PIPELINED: Duration = Duration::from_millis(10);
/// Descriptors the attacked process may have, and clients that want one.
const DESCRIPTOR_LIMIT: usize = 256;
const HOLDERS: usize = 400;

fn bodies(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let clients: usize = target.pick_size(300, 1_500);
    let server = target.launch()?.start()?;
    let before = resident_mib(server.pid())?;
    let chunk = vec![b' '; 1 << 20];
    let head = b"POST /api/v1/data/no-such-channel HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1048576\r\n\r\n";
    let (mut held, mut peak) = (Vec::new(), before);
    for _ in 0..clients {
        let mut stream = TcpStream::connect(server.address())?;
        stream.set_write_timeout(Some(Duration::from_millis(50)))?;
        // A server that reads no body takes what the kernel buffers, or closes: both are its right.
        let _ = stream.write_all(head).and_then(|()| stream.write_all(&chunk[..chunk.len() - 1]));
        held.push(stream);
        peak = peak.max(resident_mib(server.pid())?);
    }
    let growth = peak.saturating_sub(before);
    Ok(AttackOutcome::new(growth <= GROWTH_MIB, format!("{before} to {peak} MiB with {clients} clients")))
}

#[expect(clippy::disallowed_methods, reason = "the latency of another process is what is measured")]
fn pipeline(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    serve_echo(&mut server.client(), "echo", &json!({}))?;
    let request = b"POST /api/v1/data/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let mut fastest = Duration::MAX;
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // The fastest of some rounds: a busy machine is slow now and then, a delayed segment is slow every time.
    for _ in 0..20 {
        let begin = Instant::now();
        stream.write_all(&[request.as_slice(), request].concat())?;
        let mut answers = Vec::new();
        while count(&answers, b"HTTP/1.1 200") < 2 || !answers.ends_with(b"}") {
            let mut buffer = [0; 8192];
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                return Err(io::Error::other("the connection was closed between two pipelined requests"));
            }
            answers.extend_from_slice(&buffer[..read]);
        }
        fastest = fastest.min(begin.elapsed());
    }
    let figure = format!("{:.1} ms", fastest.as_secs_f64() * 1e3);
    Ok(AttackOutcome::new(fastest < PIPELINED, figure))
}

fn count(text: &[u8], pattern: &[u8]) -> usize {
    text.windows(pattern.len()).filter(|window| *window == pattern).count()
}

fn descriptors(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let directory = tempfile::tempdir()?;
    let limited = directory.path().join("svc-server");
    let binary = target.binary.canonicalize()?;
    fs::write(
        &limited,
        format!("#!/bin/sh\nulimit -n {DESCRIPTOR_LIMIT}\nexec '{}' \"$@\"\n", binary.display()),
    )?;
    fs::set_permissions(&limited, fs::Permissions::from_mode(0o755))?;
    let port = free_port()?;
    let server = ServerCommand::new(limited)?
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_METRICS__BIND_ADDR", &format!("127.0.0.1:{port}"))
        .start()?;
    // No limit of connections is to answer for the descriptors: they come from as many addresses.
    let mut held = Vec::new();
    for number in 0..HOLDERS {
        let Ok(stream) = TcpStream::connect_timeout(&server.address(), Duration::from_secs(1)) else { break };
        stream.set_nonblocking(true)?;
        held.push((number, stream));
    }
    let mut answered = 0;
    for _ in 0..10 {
        let answer = HttpClient::new(SocketAddr::from(([127, 0, 0, 1], port))).get("/healthz");
        answered += usize::from(answer.is_ok_and(|answer| answer.status == 200));
    }
    let clients = held.len();
    drop(held);
    let recovered = wait_until(Duration::from_secs(60), || {
        Ok(server.client().get("/healthz").is_ok_and(|answer| answer.status == 200))
    })?;
    let figure = format!(
        "{answered} of 10 answered with {clients} clients held; serving again afterwards: {recovered}"
    );
    Ok(AttackOutcome::new(answered == 10 && recovered, figure))
}
