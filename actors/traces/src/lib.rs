//! Traces, the asynchronous queue and its dead letters.
//!
//! A synchronous run leaves a trace according to the policy of its channel: before the answer ([`Traces::record`] in
//! mode `sync`), after the answer, or not at all. An asynchronous submission is accepted by [`Traces::submit`] once
//! its row is on disk. Workers run it through a [`Runner`] and write the outcome. A failed job becomes a dead letter,
//! which is retried.
//!
//! Accepted work runs at least once, whatever ends the process: the row is the source of truth, and the queue in
//! memory only makes it run soon. A row names the node that runs it. The other nodes take over the work of a dead
//! node and restart it a bounded number of times. Every queue in memory is bounded; a submission that finds it full
//! is refused at once. Work that may not run yet, because it is due later, its channel is paused or as much of it runs
//! as may run at once, waits in the database alone ([`Traces::submit_waiting`]).
//!
//! ```text
//! traces
//! ├ recorder        writes traces after the answer (async, batch), and recordings
//! ├ worker-1 …      run jobs, one at a time each
//! ├ queue           accepts submissions; takes over the work of dead nodes, and work that waited   needs the workers
//! └ dead-letters    queues failed jobs again                                         needs the queue
//! ```

mod ambiguity;
mod backoff;
mod cancel;
mod claim;
mod dead_letters;
mod early_start;
mod handle;
mod input;
mod job;
mod metrics;
mod policy;
mod queue;
mod record;
mod recorder;
mod recordings;
mod report;
mod settings;
mod shared;
mod submission;
mod token;
mod waiting;
mod worker;

pub use handle::{TraceServices, Traces};
pub use input::write_run_input;
pub use job::{AttemptHold, Job, JobFailure, JobHold, JobKey, JobOutcome, JobResult, JobThread, Runner};
pub use metrics::{TraceMetrics, WorkCounts};
pub use policy::{RecordPolicy, TracePolicy, TracingDefaults, Untraced};
pub use record::Record;
pub use report::{FAILURE_OF, FailureReport, PreparedReport};
pub use settings::{Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecorderSettings, Settings};
pub use submission::{AcceptedJob, SubmitError};
pub use svc_store::{DueTime, NewRunRecording, QueueShares, RERUN, TraceMode};
pub use waiting::{BatchedJob, JobTerms, ReservedRoom};
