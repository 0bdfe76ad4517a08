//! One round of load by `wrk`, and its figures.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The figures of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Answered requests in a second.
    pub(crate) requests_per_second: f64,
    /// Median latency in milliseconds.
    pub(crate) p50: f64,
    /// 99th percentile latency in milliseconds.
    pub(crate) p99: f64,
}

impl Round {
    /// The round in the middle by throughput.
    pub(crate) fn median(mut rounds: Vec<Self>) -> Self {
        rounds.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
        rounds[rounds.len() / 2]
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.0} {:>7.2} ms {:>7.2} ms", self.requests_per_second, self.p50, self.p99)
    }
}

/// Posts the file's content over `connections` for `length`; an answer other than 2xx fails the round.
pub(crate) fn wrk(to: SocketAddr, body: &Path, connections: usize, length: Duration) -> io::Result<Round> {
    let script = tempfile::NamedTempFile::with_suffix(".lua")?;
    let body = std::fs::read_to_string(body)?.trim().replace('\\', "\\\\").replace('\'', "\\'");
    let lua = format!(
        "wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\nwrk.body = '{body}'\n\
         done = function(s, l) io.write(string.format('FIGURES %f %f %f %d\\n', \
         s.requests / (s.duration / 1e6), l:percentile(50) / 1000, l:percentile(99) / 1000, \
         s.errors.status + s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout)) end\n"
    );
    std::fs::write(script.path(), lua)?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{}s", length.as_secs()), "-s"])
        .arg(script.path())
        .arg(format!("http://{to}/api/v1/data/orders"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text
        .lines()
        .find_map(|line| line.strip_prefix("FIGURES "))
        .ok_or_else(|| io::Error::other(format!("wrk gave no figures: {text}")))?;
    let figures: Vec<f64> = figures.split(' ').filter_map(|figure| figure.parse().ok()).collect();
    match figures[..] {
        [requests_per_second, p50, p99, 0.0] => Ok(Round { requests_per_second, p50, p99 }),
        _ => Err(io::Error::other(format!("requests failed during the round: {text}"))),
    }
}
