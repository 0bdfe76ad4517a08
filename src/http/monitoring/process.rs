//! The process itself as metrics, under the names that every Prometheus client gives them. Read off the
//! system at the scrape.

use std::fmt::Write;
use std::time::Duration;

use rlimit::Resource;
use rustix::time::{ClockId, clock_gettime};

use crate::process::descriptors;

/// Ticks in a second of what the kernel shows to processes: the same on every architecture that is supported.
const TICKS_PER_SECOND: f64 = 100.0;

/// Figures of the process; one that the system does not report is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
    start_seconds: Option<f64>,
}

/// The figures as OpenMetrics text, each with these labels.
pub(crate) fn exposition(labels: &str) -> String {
    let status = read("/proc/self/status");
    let figures = Figures {
        cpu_seconds: Some(cpu_time().as_secs_f64()),
        resident_bytes: memory_bytes(&status, "VmRSS:"),
        virtual_bytes: memory_bytes(&status, "VmSize:"),
        open_fds: u64::try_from(descriptors::count_open()).ok(),
        max_fds: Resource::NOFILE.get().ok().map(|(soft, _)| soft),
        start_seconds: start_seconds(&read("/proc/self/stat"), &read("/proc/stat")),
    };
    render(&figures, labels)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The processor time of all threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A line of `/proc/self/status`, such as `VmRSS:  1234 kB`, in bytes.
fn memory_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Start of the process, in seconds of Unix time: its place after the start of the system, and when that was.
/// The name of the program is in parentheses and may hold blanks.
fn start_seconds(stat: &str, system: &str) -> Option<f64> {
    const START_TIME: usize = 19;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: f64 = fields.split_whitespace().nth(START_TIME)?.parse().ok()?;
    let boot: f64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + ticks / TICKS_PER_SECOND)
}

fn render(figures: &Figures, labels: &str) -> String {
    let mut text = String::new();
    let count = |value: Option<u64>| value.map(|value| value.to_string());
    let seconds = |value: Option<f64>| value.map(|value| value.to_string());
    for (name, kind, help, value) in [
        (
            "process_cpu_seconds",
            "counter",
            "Total user and system CPU time spent in seconds.",
            seconds(figures.cpu_seconds),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            count(figures.resident_bytes),
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Virtual memory size in bytes.",
            count(figures.virtual_bytes),
        ),
        ("process_open_fds", "gauge", "Number of open file descriptors.", count(figures.open_fds)),
        ("process_max_fds", "gauge", "Maximum number of open file descriptors.", count(figures.max_fds)),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            seconds(figures.start_seconds),
        ),
    ] {
        if let Some(value) = value {
            let suffix = if kind == "counter" { "_total" } else { "" };
            // Writing to a string cannot fail.
            let _ =
                write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{suffix}{labels} {value}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_figures_are_read_from_system_files() {
        let status = "Name:\tsvc\nVmSize:\t  4000 kB\nVmRSS:\t     12 kB\n";
        assert_eq!(
            (memory_bytes(status, "VmRSS:"), memory_bytes(status, "VmSize:")),
            (Some(12_288), Some(4_096_000))
        );
        assert_eq!(memory_bytes("", "VmRSS:"), None);
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 250 20";
        assert_eq!(start_seconds(stat, "cpu 1\nbtime 1000\n"), Some(1002.5));
        assert_eq!(start_seconds("", "btime 1000"), None);
    }

    #[test]
    fn unknown_figure_is_left_out() {
        let text = render(&Figures { open_fds: Some(7), ..Figures::default() }, "");
        let expected = "# HELP process_open_fds Number of open file descriptors.\n# TYPE process_open_fds gauge\nprocess_open_fds 7\n";
        assert_eq!(text, expected);
    }
}
