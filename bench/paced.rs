//! Load at a fixed rate: requests are due at instants that do not depend on the responses (an open loop).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::load::{Load, Round};

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Replaced in a body by the number of the request, which has as many digits.
pub(crate) const NUMBER: &str = "############";

/// Sends the request `rate` times a second for `length`, over `connections` in turn. The latency of a request counts from
/// the instant at which it was due.
pub(crate) fn paced(
    to: SocketAddr,
    load: &Load,
    connections: usize,
    rate: usize,
    length: Duration,
) -> io::Result<Round> {
    let request = encode(to, load);
    let begin = now();
    let clients = thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|first| {
                let request = &request;
                scope.spawn(move || {
                    let due = (first..).step_by(connections);
                    let due =
                        due.map(|number| (number, Duration::from_secs_f64(number as f64 / rate as f64)));
                    send(to, request.clone(), begin, due.take_while(|(_, due)| *due < length))
                })
            })
            .collect();
        let panicked = || io::Error::other("a client panicked");
        let ended = clients.into_iter().map(|client| client.join().map_err(|_| panicked())?);
        ended.collect::<io::Result<Vec<_>>>()
    })?;
    let took = (now() - begin).as_secs_f64();
    let refused = clients.iter().map(|(_, refused)| refused).sum();
    let mut latencies: Vec<f64> = clients.into_iter().flat_map(|(latencies, _)| latencies).collect();
    latencies.sort_by(f64::total_cmp);
    let at = |share: usize| latencies.get(latencies.len() * share / 100).copied().unwrap_or_default();
    Ok(Round {
        requests: latencies.len() as u64,
        refused,
        requests_per_second: latencies.len() as f64 / took,
        p50: at(50),
        p99: at(99),
        processor: None,
    })
}

/// Sends the requests of these numbers, each at its time after `begin`, or at once if the response before came later.
/// Returns the latencies in milliseconds, and the number of responses with another status than 2xx.
fn send(
    to: SocketAddr,
    mut request: Vec<u8>,
    begin: Instant,
    due: impl Iterator<Item = (usize, Duration)>,
) -> io::Result<(Vec<f64>, u64)> {
    let numbered = request.windows(NUMBER.len()).position(|window| window == NUMBER.as_bytes());
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut latencies, mut refused, mut response) = (Vec::new(), 0, Vec::new());
    for (number, due) in due {
        wait_until(begin + due);
        if let Some(at) = numbered {
            let digits = format!("{number:0width$}", width = NUMBER.len());
            request[at..][..NUMBER.len()].copy_from_slice(digits.as_bytes());
        }
        stream.write_all(&request)?;
        let is_success = receive(&mut stream, &mut response)?;
        latencies.push((now() - begin - due).as_secs_f64() * 1_000.0);
        refused += u64::from(!is_success);
    }
    Ok((latencies, refused))
}

/// Receives one response with a length. Returns whether its status is 2xx.
fn receive(stream: &mut TcpStream, response: &mut Vec<u8>) -> io::Result<bool> {
    response.clear();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        response.extend_from_slice(&chunk[..count]);
        if response_length(response).is_some_and(|length| response.len() >= length) {
            return Ok(response.get(9) == Some(&b'2'));
        }
    }
}

/// Returns the length of a response whose head has arrived.
fn response_length(response: &[u8]) -> Option<usize> {
    const LENGTH: &[u8] = b"content-length: ";
    let head = response.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let line = response[..head].split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(LENGTH))?;
    Some(head + std::str::from_utf8(line).ok()?.trim().parse::<usize>().ok()?)
}

fn encode(to: SocketAddr, load: &Load) -> Vec<u8> {
    let mut text = format!("POST {} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n", load.path);
    for (name, value) in &load.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{}", load.body.len(), load.body));
    text.into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the client of a schedule waits for it")]
fn wait_until(instant: Instant) {
    thread::sleep(instant.saturating_duration_since(now()));
}
