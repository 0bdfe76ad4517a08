//! File descriptors: as many as the system allows, and a watch over their exhaustion.
//!
//! Exhaustion shows in many places, most of them in libraries that only retry. The watch detects it reliably:
//! by duplicating a descriptor.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rlimit::Resource;
use slog::{Logger, error, info};
use tokio::runtime::Handle;

/// The error of a process at its limit of open files (`EMFILE`).
const PROCESS_LIMIT: i32 = 24;
/// The error of a system whose table of open files is full (`ENFILE`).
const SYSTEM_LIMIT: i32 = 23;
/// Time between two checks of the watch.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of open descriptors assumed if the system does not list them.
const ASSUMED_OPEN: usize = 128;

/// Raises the soft limit of open files to the hard one and returns it; the limit as it is if that is
/// refused.
pub(crate) fn raise_open_file_limit() -> usize {
    let Ok((soft, hard)) = Resource::NOFILE.get() else { return usize::MAX };
    let limit = if Resource::NOFILE.set(hard, hard).is_ok() { hard } else { soft };
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Counts the open descriptors.
pub(crate) fn count_open() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(ASSUMED_OPEN, Iterator::count)
}

/// The exhausted table of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhaustion {
    /// The limit of this process is reached.
    Process,
    /// The table of the whole system is full.
    System,
}

impl Exhaustion {
    /// Returns the kind of exhaustion behind an error, if any.
    pub(crate) fn from_error(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            PROCESS_LIMIT => Some(Self::Process),
            SYSTEM_LIMIT => Some(Self::System),
            _ => None,
        }
    }

    /// Returns the reason for operators.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Process => "the process has no file descriptor left (RLIMIT_NOFILE)",
            Self::System => "the system has no file descriptor left (fs.file-max)",
        }
    }
}

/// A watch over the exhaustion of descriptors, which logs each change once.
#[derive(Debug)]
pub(crate) struct DescriptorWatch {
    probe: Option<File>,
    level: AtomicU8,
    log: Logger,
}

impl DescriptorWatch {
    /// Starts to check every second, on a runtime, until the watch is dropped.
    pub(crate) fn start(runtime: &Handle, log: Logger) -> Arc<Self> {
        let probe = File::open("/dev/null").ok();
        let watch = Arc::new(Self { probe, level: AtomicU8::new(0), log });
        let weak = Arc::downgrade(&watch);
        runtime.spawn(poll_exhaustion(weak));
        watch
    }

    /// Checks now.
    pub(crate) fn check(&self) -> Option<Exhaustion> {
        let probe = self.probe.as_ref()?;
        let exhaustion = probe.try_clone().err().and_then(|error| Exhaustion::from_error(&error));
        let level = match exhaustion {
            None => 0,
            Some(Exhaustion::Process) => 1,
            Some(Exhaustion::System) => 2,
        };
        let previous = self.level.swap(level, Ordering::Relaxed);
        match exhaustion {
            Some(exhaustion) if previous != level => {
                error!(self.log, "file descriptors are exhausted"; "reason" => exhaustion.reason());
            }
            None if previous != 0 => info!(self.log, "file descriptors are available again"),
            _ => {}
        }
        exhaustion
    }
}

async fn poll_exhaustion(watch: Weak<DescriptorWatch>) {
    while let Some(watch) = watch.upgrade() {
        watch.check();
        drop(watch);
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Descriptors set aside, so that a listener for operators can accept when all others are used up.
#[derive(Debug)]
pub(crate) struct DescriptorReserve {
    files: Vec<File>,
    size: usize,
}

impl DescriptorReserve {
    pub(crate) fn new(size: usize) -> Self {
        let mut reserve = Self { files: Vec::with_capacity(size), size };
        reserve.refill();
        reserve
    }

    /// Releases one descriptor; returns `false` if none is left.
    pub(crate) fn release_one(&mut self) -> bool {
        self.files.pop().is_some()
    }

    /// Reopens released descriptors, as far as possible.
    pub(crate) fn refill(&mut self) {
        while self.files.len() < self.size {
            let Ok(file) = File::open("/dev/null") else { return };
            self.files.push(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_exhaustion_count_as_such() {
        let kind = |errno: i32| Exhaustion::from_error(&io::Error::from_raw_os_error(errno));
        assert_eq!(kind(PROCESS_LIMIT), Some(Exhaustion::Process));
        assert_eq!(kind(SYSTEM_LIMIT), Some(Exhaustion::System));
        assert_eq!(kind(103), None);
        assert_eq!(Exhaustion::from_error(&io::Error::other("x")), None);
    }

    #[test]
    fn descriptor_reserve_is_released_and_refilled() {
        let mut reserve = DescriptorReserve::new(2);
        assert!(reserve.release_one() && reserve.release_one() && !reserve.release_one());
        reserve.refill();
        assert_eq!(reserve.files.len(), 2);
    }
}
