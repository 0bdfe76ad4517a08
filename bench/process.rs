//! Processes under measurement: start time and memory.

use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};

/// The bare handler as a child process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Bare(Child, SocketAddr);

impl Bare {
    /// Starts it and waits until it answers.
    pub(crate) fn start(binary: &Path, port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bare = Self(Command::new(binary).arg(port.to_string()).spawn()?, address);
        let answers = wait_until(Duration::from_secs(10), || Ok(HttpClient::new(address).get("/").is_ok()))?;
        if answers { Ok(bare) } else { Err(io::Error::other("the bare handler does not answer")) }
    }

    /// The listening address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.1
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A child process that prints a line when it is ready; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Companion(Child, String);

impl Companion {
    /// Starts it and waits for its first line.
    pub(crate) fn start(binary: &Path) -> io::Result<Self> {
        let mut child = Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut said)?;
        }
        Ok(Self(child, said.trim().to_owned()))
    }

    /// Returns its first line.
    pub(crate) fn output_text(&self) -> &str {
        &self.1
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `work` and returns its duration.
#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
pub(crate) fn measure_time<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Duration)> {
    let begin = Instant::now();
    let done = work()?;
    Ok((done, begin.elapsed()))
}

/// Starts a server; the time runs from the process's birth to `/readyz`.
pub(crate) fn started_in(launch: ServerCommand) -> io::Result<(ServerProcess, Duration)> {
    measure_time(|| launch.start())
}

/// Kills a server and starts it on the same database.
pub(crate) fn restarted_in(server: ServerProcess) -> io::Result<(ServerProcess, Duration)> {
    measure_time(|| server.crash_and_restart())
}

/// Resident memory of a process in MiB.
pub(crate) fn resident_mib(pid: u32) -> io::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse::<f64>().ok())
        .ok_or_else(|| io::Error::other("no VmRSS"))?;
    Ok(kib / 1024.0)
}

/// Processor time a process has used so far, on all cores.
pub(crate) fn processor_time(pid: u32) -> io::Result<Duration> {
    // User and system time are fields 14 and 15.
    ticks(&pid.to_string(), 14)
}

/// Processor time of the children of this process that have ended.
pub(crate) fn children_time() -> io::Result<Duration> {
    // Those of the children are fields 16 and 17.
    ticks("self", 16)
}

/// Sums two neighbouring times of a process, the first in the field of that number (proc_pid_stat(5)).
fn ticks(pid: &str, field: usize) -> io::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The command is field 2, stands in parentheses and may hold anything.
    let ticks = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(field - 3).take(2));
    let ticks: u64 = ticks.into_iter().flatten().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Linux counts a hundred of them a second for whoever asks.
    Ok(Duration::from_millis(ticks * 10))
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "a bench lets a process run undisturbed")]
pub(crate) fn let_run(time: Duration) {
    std::thread::sleep(time);
}
