//! The limits of the system against the settings: descriptors, threads, memory, the queue of the kernel.

use std::fs;
use std::thread;

use rlimit::Resource;

use super::report::DoctorReport;
use crate::config::Config;
use crate::listeners::limits;
use crate::process::descriptors;

/// Threads that the blocking work of the runtimes may take, and those of drivers.
const BLOCKING_THREADS: u64 = 640;
/// Threads for each processor: HTTP, runtimes, supervision.
const THREADS_PER_PROCESSOR: u64 = 4;
/// Share of the memory that messages may take, in hundredths; the rest is the program, its caches and its connections.
const MEMORY_SHARE: u64 = 75;

/// Checks the limits that the system sets.
pub(super) fn check_system(config: &Config, report: &mut DoctorReport) {
    check_descriptors(config, report);
    check_threads(report);
    check_memory(config, report);
    check_backlog(config, report);
}

fn check_descriptors(config: &Config, report: &mut DoctorReport) {
    const KEY: &str = "server.max_connections";
    let limit = descriptors::raise_open_file_limit();
    let configured = config.server.max_connections;
    let served = limits::affordable(limit, descriptors::count_open());
    if served < configured {
        let message =
            format!("{configured} connections are configured, {limit} open files leave room for {served}");
        let remedy = "raise the hard limit of open files (ulimit -Hn, LimitNOFILE), or set a lower number";
        report.add_warning("descriptors", KEY, message, remedy);
    } else {
        report.add_note("descriptors", KEY, format!("{limit} open files are enough for {configured}"));
    }
}

fn check_threads(report: &mut DoctorReport) {
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let needed = BLOCKING_THREADS + THREADS_PER_PROCESSOR * processors;
    let user = Resource::NPROC.get().map_or(u64::MAX, |(soft, _)| soft);
    let group = read_limit("/sys/fs/cgroup/pids.max").unwrap_or(u64::MAX);
    let limit = user.min(group);
    if limit < needed {
        let message = format!("at most {limit} threads may run, under load the service has up to {needed}");
        let remedy = "raise the limit of processes (ulimit -u, TasksMax, the pids limit of the container)";
        report.add_warning("threads", "the system", message, remedy);
    }
}

fn check_memory(config: &Config, report: &mut DoctorReport) {
    let bounds = [
        ("server.max_in_flight_bytes", config.server.max_in_flight_bytes),
        ("trace_queue.max_queue_memory_bytes", config.trace_queue.max_queue_memory_bytes),
    ];
    for (key, _) in bounds.iter().filter(|(_, bytes)| *bytes == 0) {
        let remedy = "set a number of bytes, so that callers get 503 before the memory is used up";
        report.add_warning("memory", key, "0 sets no bound on the memory of messages", remedy);
    }
    let Some(memory) = memory_bytes() else { return };
    let messages = bounds.iter().map(|(_, bytes)| *bytes as u64).fold(0, u64::saturating_add);
    let [(key, _), _] = bounds;
    if messages > memory / 100 * MEMORY_SHARE {
        let message = format!(
            "messages in flight and waiting may take {} MiB of {} MiB of memory",
            to_mib(messages),
            to_mib(memory)
        );
        let remedy = "lower it or trace_queue.max_queue_memory_bytes, or give the service more memory";
        report.add_warning("memory", key, message, remedy);
    }
}

fn check_backlog(config: &Config, report: &mut DoctorReport) {
    let (configured, kernel) = (config.server.backlog, read_limit("/proc/sys/net/core/somaxconn"));
    if let Some(kernel) = kernel.filter(|kernel| *kernel < u64::from(configured)) {
        let message = format!("the kernel keeps at most {kernel} connections until they are accepted");
        report.add_warning("backlog", "server.backlog", message, "raise net.core.somaxconn, or set less");
    }
}

/// Returns the memory of the machine, or that of the control group if it is less.
fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_total(&text));
    let group = read_limit("/sys/fs/cgroup/memory.max");
    [machine, group].into_iter().flatten().min()
}

/// Reads the total memory of `/proc/meminfo`, in bytes.
fn parse_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads a limit of the kernel; `None` for `max`, and if there is none.
fn read_limit(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns whole MiB.
pub(super) const fn to_mib(bytes: u64) -> u64 {
    bytes >> 20
}

#[cfg(test)]
mod tests {
    use svc_project::Severity;

    use super::*;

    #[test]
    fn total_memory_is_read_in_bytes() {
        assert_eq!(parse_total("MemTotal:        2048 kB\nMemFree: 1 kB\n"), Some(2_097_152));
        assert_eq!(parse_total("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn unbounded_and_oversized_memory_are_warnings() {
        let mut config = Config::default();
        config.server.max_in_flight_bytes = usize::MAX;
        config.trace_queue.max_queue_memory_bytes = 0;
        let mut report = DoctorReport::default();
        check_memory(&config, &mut report);
        let keys: Vec<_> = report.findings().iter().map(|finding| finding.entity.as_str()).collect();
        assert_eq!(keys, ["trace_queue.max_queue_memory_bytes", "server.max_in_flight_bytes"]);
    }

    #[test]
    fn more_connections_than_descriptors_is_a_warning() {
        let mut config = Config::default();
        config.server.max_connections = usize::MAX;
        let mut report = DoctorReport::default();
        check_descriptors(&config, &mut report);
        config.server.max_connections = 1;
        check_descriptors(&config, &mut report);
        let weights: Vec<_> = report.findings().iter().map(|finding| finding.severity).collect();
        assert_eq!(weights, [Severity::Warning, Severity::Note]);
    }
}
