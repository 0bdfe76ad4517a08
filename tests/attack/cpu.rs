//! Bodies whose comparison costs the square of their size.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::Attack;
use crate::target::{AttackTarget, serve, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "cpu",
        text: "while bodies of 58,000 keys are compared, neighbours lose no request, p99 below 50 ms",
        before: "48 of 48 probes refused with 408, 4.6 to 7.3 s a call",
    },
    attack,
);

/// Members of each of the two objects; both fit a body of 1 MiB.
const KEYS: usize = 58_000;
/// Attackers at once; one for each worker thread of a small machine.
const ATTACKERS: usize = 2;
const PROBERS: usize = 4;
const P99: Duration = Duration::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "the latency of another process is what is measured")]
fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    // Objects that wide are refused by default; an operator may allow them.
    let server = target.launch()?.env("SVC_INGEST__MAX_OBJECT_MEMBERS", "200000").start()?;
    let mut client = server.client();
    serve_echo(&mut client, "neighbour", &json!({}))?;
    let operands = json!([{"var": "payload.a"}, {"var": "payload.b"}]);
    let compare: Vec<Value> = ["===", "!==", "in"]
        .iter()
        .map(|operator| json!({"path": "data.same", "logic": {*operator: operands}}))
        .collect();
    let tasks = json!([{"id": "compare", "name": "Compare", "function": {"name": "map", "input": {"mappings": compare}}}]);
    serve(&mut client, "compare", &json!({"timeout_ms": 1000}), &tasks)?;
    let (address, body) = (server.address(), body());
    let probes = target.pick_size(50, 250);
    let stop = AtomicBool::new(false);
    let (lost, mut latencies, attacked) = thread::scope(|scope| {
        let attackers: Vec<_> = (0..ATTACKERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut answered = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let headers = [("content-type", "application/json")];
                        let answer =
                            HttpClient::new(address).send("POST", "/api/v1/data/compare", &headers, &body);
                        answered += usize::from(answer.is_ok());
                    }
                    answered
                })
            })
            .collect();
        let probers: Vec<_> = (0..PROBERS)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut lost, mut latencies) =
                        (HttpClient::new(address).keep_alive(), 0, Vec::new());
                    for _ in 0..probes {
                        let begin = Instant::now();
                        match client.json("POST", "/api/v1/data/neighbour", &json!({"n": 1})) {
                            Ok(answer) if answer.status == 200 => latencies.push(begin.elapsed()),
                            _ => {
                                lost += 1;
                                client = HttpClient::new(address).keep_alive();
                            }
                        }
                        thread::sleep(Duration::from_millis(20));
                    }
                    (lost, latencies)
                })
            })
            .collect();
        let (mut lost, mut latencies) = (0, Vec::new());
        for (refused, measured) in probers.into_iter().filter_map(|prober| prober.join().ok()) {
            lost += refused;
            latencies.extend(measured);
        }
        stop.store(true, Ordering::Relaxed);
        let attacked: usize = attackers.into_iter().filter_map(|attacker| attacker.join().ok()).sum();
        (lost, latencies, attacked)
    });
    latencies.sort();
    let p99 = latencies.get(latencies.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(Duration::MAX);
    // An unoptimised binary on a busy machine is slow by itself: there only lost requests count.
    let held = lost == 0 && attacked > 0 && (target.short || p99 < P99);
    let probe_count = probes * PROBERS;
    Ok(AttackOutcome::new(
        held,
        format!("{lost} of {probe_count} lost, p99 {:.0} ms", p99.as_secs_f64() * 1e3),
    ))
}

fn body() -> Vec<u8> {
    let object = |last: &str| {
        let members: Vec<_> = (0..KEYS).map(|key| format!("\"{key:x}\":1")).collect();
        format!("{{{},\"{last}\":2}}", members.join(","))
    };
    format!("{{\"a\":{},\"b\":{}}}", object("y"), object("z")).into_bytes()
}
