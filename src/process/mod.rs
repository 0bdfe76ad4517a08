//! The process around a service: file descriptors, threads, the log, signals, the service manager.

pub(crate) mod descriptors;
pub(crate) mod heartbeat;
pub(crate) mod io_runtime;
mod journal;
mod log_queue;
pub(crate) mod log_tap;
pub mod logging;
mod printable_log;
pub(crate) mod service_manager;
pub mod signals;
pub(crate) mod watchdog;
pub(crate) mod worker_threads;
