//! One round of load by `wrk`, and its figures.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use uuid::Uuid;

use crate::process::processor_time;

/// One request, sent over and over.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// The URL.
    pub(crate) path: String,
    /// Headers other than the content type.
    pub(crate) headers: Vec<(String, String)>,
    /// A header that has another value in each request.
    pub(crate) numbered: Option<&'static str>,
    /// The posted body.
    pub(crate) body: String,
    /// `true` for requests within TLS.
    pub(crate) is_encrypted: bool,
    /// The process that answers, whose processor time is measured.
    pub(crate) answered_by: Option<u32>,
}

impl Load {
    /// A body posted to a path, without a credential.
    pub(crate) fn post(path: &str, body: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            headers: Vec::new(),
            numbered: None,
            body: body.into(),
            is_encrypted: false,
            answered_by: None,
        }
    }

    /// The same with one more header.
    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The same with a header that has another value in each request of each round.
    pub(crate) fn with_numbered_header(mut self, name: &'static str) -> Self {
        self.numbered = Some(name);
        self
    }

    /// The same within TLS; the certificate is not checked.
    pub(crate) fn over_tls(mut self) -> Self {
        self.is_encrypted = true;
        self
    }

    /// The same with the processor time of the process that answers.
    pub(crate) fn answered_by(mut self, process: u32) -> Self {
        self.answered_by = Some(process);
        self
    }

    fn script(&self) -> String {
        let mut lua = String::from("wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\n");
        for (name, value) in &self.headers {
            lua.push_str(&format!("wrk.headers['{}'] = '{}'\n", quote(name), quote(value)));
        }
        lua.push_str(&format!("wrk.body = '{}'\n", quote(&self.body)));
        if let Some(name) = self.numbered {
            let round = Uuid::new_v4();
            lua.push_str(&format!(
                "local n = 0\nrequest = function() n = n + 1 wrk.headers['{name}'] = '{round}-' .. n return wrk.format() end\n"
            ));
        }
        lua.push_str(
            "done = function(s, l) io.write(string.format('FIGURES %d %f %f %f %d\\n', s.requests, \
             s.requests / (s.duration / 1e6), l:percentile(50) / 1000, l:percentile(99) / 1000, \
             s.errors.status + s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout)) end\n",
        );
        lua
    }
}

/// A text between the single quotes of Lua.
fn quote(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")
}

/// The figures of one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Requests answered in it.
    pub(crate) requests: u64,
    /// Those of them that were answered with something else than 2xx, or not at all.
    pub(crate) refused: u64,
    /// Answered requests in a second.
    pub(crate) requests_per_second: f64,
    /// Median latency in milliseconds.
    pub(crate) p50: f64,
    /// 99th percentile latency in milliseconds.
    pub(crate) p99: f64,
    /// Processor time of a request in the process that answers, in microseconds, if it is measured.
    pub(crate) processor: Option<f64>,
}

impl Round {
    /// The round in the middle by throughput.
    pub(crate) fn median(mut rounds: Vec<Self>) -> Self {
        rounds.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
        rounds[rounds.len() / 2]
    }

    /// The same with the processor time of its requests in the process that answered.
    pub(crate) fn with_processor_time(self, time: Duration) -> Self {
        let processor = time.as_secs_f64() * 1e6 / (self.requests.max(1) as f64);
        Self { processor: Some(processor), ..self }
    }
}

impl Round {
    /// The round, if every request was answered with 2xx.
    pub(crate) fn clean(self) -> io::Result<Self> {
        if self.refused == 0 {
            return Ok(self);
        }
        Err(io::Error::other(format!(
            "{} of {} requests failed during the round",
            self.refused, self.requests
        )))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.0} {:>8.2} ms {:>8.2} ms", self.requests_per_second, self.p50, self.p99)?;
        match self.processor {
            Some(processor) => write!(f, " {processor:>7.1} µs"),
            None => Ok(()),
        }
    }
}

/// Sends the request over `connections` for `length`, each connection the next one when the last was
/// answered.
pub(crate) fn wrk(to: SocketAddr, load: &Load, connections: usize, length: Duration) -> io::Result<Round> {
    let script = tempfile::NamedTempFile::with_suffix(".lua")?;
    std::fs::write(script.path(), load.script())?;
    let scheme = if load.is_encrypted { "https" } else { "http" };
    let before = load.answered_by.map(processor_time).transpose()?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{}s", length.as_secs()), "-s"])
        .arg(script.path())
        .arg(format!("{scheme}://{to}{}", load.path))
        .output()?;
    let used = match (before, load.answered_by) {
        (Some(before), Some(process)) => Some(processor_time(process)?.saturating_sub(before)),
        _ => None,
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text
        .lines()
        .find_map(|line| line.strip_prefix("FIGURES "))
        .ok_or_else(|| io::Error::other(format!("wrk gave no figures: {text}")))?;
    let figures: Vec<f64> = figures.split(' ').filter_map(|figure| figure.parse().ok()).collect();
    match figures[..] {
        [requests, requests_per_second, p50, p99, refused] => {
            let (requests, refused) = (requests as u64, refused as u64);
            let round = Round { requests, refused, requests_per_second, p50, p99, processor: None };
            Ok(used.map_or(round, |used| round.with_processor_time(used)))
        }
        _ => Err(io::Error::other(format!("wrk gave other figures: {text}"))),
    }
}
