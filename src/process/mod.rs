//! The process around a service: file descriptors, threads, the log, signals.

pub(crate) mod descriptors;
pub(crate) mod io_runtime;
mod log_queue;
pub mod logging;
pub mod signals;
pub(crate) mod watchdog;
pub(crate) mod worker_threads;
