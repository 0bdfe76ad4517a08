//! Bodies about runs: what starts them, what they leave, and what waits to be run.

pub(crate) mod backtests;
pub(crate) mod cron;
pub(crate) mod data;
pub(crate) mod dead_letters;
pub(crate) mod kafka;
pub(crate) mod recordings;
pub(crate) mod traces;
