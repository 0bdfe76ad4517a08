//! Traces, the asynchronous queue and its dead letters.
//!
//! A synchronous run leaves a trace as its channel's policy says: before the answer ([`Traces::record`] in mode
//! `sync`), behind it, or not at all. An asynchronous submission is accepted by [`Traces::submit`] once its row is on
//! disk; workers run it through a [`Runner`] and write how it ended; a failure becomes a dead letter, which is retried.
//!
//! Accepted work runs at least once, whatever ends the process: the row is the truth, the queue in memory is how it
//! gets done soon. A row names the node that runs it; what a dead node left is taken over by the others, and begun
//! again a bounded number of times. Everything in memory is bounded; who comes when it is full is told so at once.
//!
//! ```text
//! traces
//! ├ recorder        writes traces behind the answer (async, batch)
//! ├ worker-1 …      run jobs, one at a time each
//! ├ queue           open for submissions; takes over what other nodes left          needs the workers
//! └ dead-letters    puts failed jobs back in line                                    needs the queue
//! ```

mod ambiguity;
mod backoff;
mod claim;
mod dead_letters;
mod handle;
mod input;
mod job;
mod metrics;
mod policy;
mod queue;
mod record;
mod recorder;
mod report;
mod settings;
mod token;
mod worker;

pub use handle::{AcceptedJob, SubmitError, TraceServices, Traces};
pub use job::{Job, JobFailure, JobHold, JobOutcome, JobResult, Runner};
pub use metrics::TraceMetrics;
pub use policy::{TracePolicy, TracingDefaults};
pub use record::Record;
pub use report::{FAILURE_OF, FailureReport, PreparedReport};
pub use settings::{Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecorderSettings, Settings};
