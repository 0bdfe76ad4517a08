//! Commands that start runs, follow them and act on those that wait or have failed.

pub(crate) mod backtests;
pub(crate) mod benchmark;
pub(crate) mod cron;
pub(crate) mod dlq;
pub(crate) mod recordings;
pub(crate) mod send;
mod send_lines;
mod trace_tail;
mod trace_view;
mod trace_wait;
pub(crate) mod traces;
