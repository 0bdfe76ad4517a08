//! Traces, the asynchronous queue and its dead letters.

mod job;
mod metrics;
mod policy;
mod record;
mod settings;
mod traces;

pub use job::{Completed, Ended, Hold, Job, Runner};
pub use metrics::TraceMetrics;
pub use policy::{Policy, Tracing};
pub use record::Record;
pub use settings::{Callback, DeadLetterSettings, Overflow, QueueSettings, RecorderSettings, Settings};
pub use traces::{Accepted, Traces};
