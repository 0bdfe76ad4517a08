//! The bounds that an engine sets to workflows.

use std::time::Duration;

use crate::bounds::budget;

/// Bounds of what a workflow may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// The largest `loop.max`; 0 = no bound.
    pub max_loop_iterations: i64,
    /// The most elements of one `for_each`; 0 = no bound.
    pub max_fan_out: usize,
    /// Bytes all that tasks write to one message may take: those of its text, and 32 for every value and key.
    pub max_message_bytes: usize,
    /// Processor time a run may use; waiting does not count.
    pub cpu_budget: Duration,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_loop_iterations: 10_000,
            max_fan_out: 100_000,
            max_message_bytes: 64 << 20,
            cpu_budget: budget::DEFAULT,
        }
    }
}
