//! The requests that the node serves during a backtest, at a steady rate.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerProcess, wait_until};

/// The channel that serves them. It records nothing.
const CHANNEL: &str = "/api/v1/data/plain";
/// Clients: enough for a rate of a thousand while each call takes up to 32 ms.
const CLIENTS: usize = 32;
/// Longest wait for the rate.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requests that were answered during some work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedLoad {
    /// Those with the status 200.
    pub(crate) served: u64,
    /// The others.
    pub(crate) failed: u64,
    /// The time that the work took.
    pub(crate) took: Duration,
}

impl ServedLoad {
    /// Returns the requests that were served in a second.
    pub(crate) fn rate(&self) -> f64 {
        let served = u32::try_from(self.served).unwrap_or(u32::MAX);
        f64::from(served) / self.took.as_secs_f64()
    }
}

/// The state that the clients share.
struct SteadyLoad<'m> {
    message: &'m Value,
    /// Requests in a second.
    rate: u64,
    begin: Instant,
    next: AtomicU64,
    served: AtomicU64,
    failed: AtomicU64,
    is_over: AtomicBool,
}

/// Does some work while clients send a message so many times a second, once they do so.
///
/// # Errors
/// The rate is not reached in time, or the work fails.
pub(crate) fn work_under_load<T>(
    server: &ServerProcess,
    rate: u64,
    message: &Value,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, ServedLoad)> {
    let load = SteadyLoad {
        message,
        rate,
        begin: now(),
        next: AtomicU64::new(0),
        served: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| load.send_all(server));
        }
        let done = load.measure(work);
        load.is_over.store(true, Ordering::Relaxed);
        done
    })
}

impl SteadyLoad<'_> {
    fn measure<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<(T, ServedLoad)> {
        // The requests of the first second find connections that are not open yet.
        if !wait_until(PATIENCE, || Ok(self.served.load(Ordering::Relaxed) >= self.rate))? {
            return Err(io::Error::other(format!("{} requests were not served in time", self.rate)));
        }
        let (served, failed) = (self.served.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed));
        let began = now();
        let done = work()?;
        let load = ServedLoad {
            served: self.served.load(Ordering::Relaxed) - served,
            failed: self.failed.load(Ordering::Relaxed) - failed,
            took: began.elapsed(),
        };
        Ok((done, load))
    }

    fn send_all(&self, server: &ServerProcess) {
        let mut client = HttpClient::new(server.address()).keep_alive();
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            pause_until(self.begin + Duration::from_micros(number * 1_000_000 / self.rate));
            let answer = client.json("POST", CHANNEL, self.message);
            let is_served = answer.is_ok_and(|answer| answer.status == 200);
            let count = if is_served { &self.served } else { &self.failed };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn pause_until(due: Instant) {
    loop {
        let left = due.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

#[expect(clippy::disallowed_methods, reason = "clients of another process keep a pace in real time")]
fn now() -> Instant {
    Instant::now()
}
