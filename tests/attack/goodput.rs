//! Far more clients than are served, none of which pauses after a refusal.

use std::io;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use svc_testkit::server::ServerProcess;

use crate::Attack;
use crate::target::{AttackTarget, serve};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const SUBMISSIONS: Attack = (
    Promise {
        name: "goodput-async",
        text: "submissions accepted from 1,000 clients that do not pause, at least 0.9 of the peak",
        before: "323/s of 9,706/s: 0.03",
    },
    |target| attack(target, "/api/v1/data/busy/async"),
);

pub(crate) const REQUESTS: Attack = (
    Promise {
        name: "goodput-sync",
        text: "requests served of 1,000 clients that do not pause, at least 0.9 of the peak",
        before: "not measured",
    },
    |target| attack(target, "/api/v1/data/busy"),
);

/// Connections below and at what is served, whose best goodput is the peak.
const PEAK: [usize; 3] = [50, 100, 200];
/// Connections of the attack.
const OVERLOAD: usize = 1_000;
const SHARE: f64 = 0.9;
/// Rounds of each number of connections. They alternate and their medians count, so that neither what else the machine
/// does nor the growth of the database falls on one side alone.
const ROUNDS: usize = 3;

fn attack(target: &AttackTarget, path: &str) -> io::Result<AttackOutcome> {
    if Command::new("wrk").arg("-v").output().is_err() {
        return Ok(AttackOutcome::not_run("wrk is missing"));
    }
    // The share says something of an optimised binary only: an unoptimised one spends its time elsewhere.
    if target.short {
        return Ok(AttackOutcome::not_run("not part of the short form"));
    }
    let length = Duration::from_secs(5);
    let server = target.launch()?.start()?;
    serve(&mut server.client(), "busy", &json!({}), &work())?;
    let mut peaks = PEAK.map(|_| Vec::new());
    let mut attacked = Vec::new();
    for _ in 0..ROUNDS {
        for (connections, goodputs) in PEAK.iter().zip(&mut peaks) {
            goodputs.push(goodput(&server, path, *connections, length)?);
        }
        attacked.push(goodput(&server, path, OVERLOAD, length)?);
    }
    let (peak, attacked) = (peaks.into_iter().map(median).fold(0.0, f64::max), median(attacked));
    let share = attacked / peak;
    Ok(AttackOutcome::new(share >= SHARE, format!("{attacked:.0}/s of {peak:.0}/s: {share:.2}")))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// A few tasks, so that a run costs more than a refusal.
fn work() -> serde_json::Value {
    let mappings: Vec<_> = (0..20)
        .map(|number| json!({"path": format!("data.v{number}"), "logic": {"+": [{"var": "payload.n"}, number]}}))
        .collect();
    json!([{"id": "map", "name": "Map", "function": {"name": "map", "input": {"mappings": mappings}}}])
}

/// Answers with 2xx in a second.
fn goodput(server: &ServerProcess, path: &str, connections: usize, length: Duration) -> io::Result<f64> {
    let script = tempfile::NamedTempFile::with_suffix(".lua")?;
    std::fs::write(
        script.path(),
        "wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\nwrk.body = '{\"n\": 7}'\n\
         done = function(s, l) io.write(string.format('GOODPUT %f\\n', (s.requests - s.errors.status) / (s.duration / 1e6))) end\n",
    )?;
    let output = Command::new("wrk")
        .args([
            "-t1",
            &format!("-c{connections}"),
            &format!("-d{}s", length.as_secs()),
            "--timeout",
            "30s",
            "-s",
        ])
        .arg(script.path())
        .arg(format!("http://{}{path}", server.address()))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figure = text.lines().find_map(|line| line.strip_prefix("GOODPUT ")?.trim().parse().ok());
    figure.ok_or_else(|| io::Error::other(format!("wrk gave no figure: {text}")))
}
