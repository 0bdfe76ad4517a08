//! Which runs of a channel leave a trace, and when it is written.

use svc_model::config::{TracingConfig, TracingMode};

/// The server's settings, which a channel's `tracing` block goes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracing {
    /// When a trace is written.
    pub mode: TracingMode,
    /// Share of the runs that are traced, 0 to 1.
    pub sample_rate: f64,
    /// Whether clean traces are dropped.
    pub errors_only: bool,
}

/// What holds for one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// When a trace is written.
    pub mode: TracingMode,
    /// Share of the runs that are traced, 0 to 1.
    pub sample_rate: f64,
    /// Whether clean traces are dropped.
    pub errors_only: bool,
    /// Whether snapshots of every task are kept.
    pub task_details: bool,
}

impl Tracing {
    /// What holds for a channel with this block.
    pub fn of(&self, block: &TracingConfig) -> Policy {
        Policy {
            mode: block.mode.unwrap_or(self.mode),
            sample_rate: block.sample_rate.unwrap_or(self.sample_rate),
            errors_only: block.errors_only.unwrap_or(self.errors_only),
            task_details: block.task_details,
        }
    }
}
