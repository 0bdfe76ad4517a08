//! Traces, the asynchronous queue and its dead letters.
//!
//! A stub until its parts land.

mod job;
mod policy;

pub use job::{Completed, Ended, Hold, Job, Runner};
pub use policy::{Policy, Tracing};
