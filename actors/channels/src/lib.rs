//! Channels: guards and execution, one actor per channel and worker thread.
//!
//! A [`CompiledChannel`] is a stored channel made ready: its configuration parsed, its expressions compiled, its workflow
//! attached. It is immutable and shared by the [`ChannelActor`]s that run it, one on every worker thread, so that a
//! request never leaves the thread it came in on. The actors take [`Submit`] and answer with a rendered [`ChannelResponse`] or
//! a [`ServiceError`](svc_model::ServiceError), [`RunJob`] for what was accepted earlier, and [`RunScheduled`] for what is due. Traces
//! and the queue are `svc_traces`' handle; nothing else is called. A workflow reaches other channels through [`call`], which
//! sends no message.
//!
//! Guards run in one fixed order, see `guards::line`. A definition that cannot enforce a guard it was given is not built: its
//! channel is quarantined, never served without the guard. What guards remember (rates, idempotency keys, answers,
//! permits) survives a restart of an actor and a reload that leaves their settings alone, not the process; in a cluster all but
//! the permits is in the [`ClusterStore`] that its nodes share. This crate
//! never reads the database and never decides which channel a request belongs to.

mod actor;
mod answer;
mod body;
pub mod call;
mod compiled_channel;
mod compute_gate;
mod consumer_directory;
mod cron;
mod digest;
mod ended_runs;
mod guards;
mod log_rate_limit;
mod metadata;
mod metrics;
mod profile;
mod reachability;
mod record;
pub mod refusal;
mod request;
mod run;
mod series;
mod serve;
mod services;
mod settings;
mod shadows;
mod shape_limits;
mod shared_cache;

pub use actor::{ChannelActor, PanicFlag, ProbeVersion, RunJob, RunRecords, RunScheduled, Submit};
pub use answer::response::{ChannelResponse, TRACE_ID_HEADER, TraceIdField};
pub use body::{
    BodyKind, CloudEvent, CloudEvents, ContentKind, EventFacts, EventMode, add_field, parse_csv,
    parse_json_text, parse_text, parse_xml, read_batch, read_request, read_structured,
};
pub use compiled_channel::{CompiledChannel, EventGrant};
pub use compute_gate::ComputeGate;
pub use consumer_directory::ConsumerDirectory;
pub use cron::CronConfig;
pub use ended_runs::{EndedRun, EndedRunBatch, EndedRuns, RunSource};
pub use guards::limiter::Limiter;
pub use guards::{
    AnswerStore, CacheNamespaces, CallQuotas, CountedRefusal, GuardTrial, LocalCaches, QuotaKey, QuotaStore,
    RateGroups, RefusalTotals, ReplayServices, ReservedCalls, TrialRefusal, TrialResult, TriedGuard,
};
pub use log_rate_limit::LogRateLimit;
pub use metrics::{ChannelMetrics, DurationExemplar, ErrorLabels, MessageTotals, TraceIds};
pub use reachability::AskedConnectors;
pub use record::TopicRecord;
pub use request::{CrashTrace, DataRequest, Delivery, Ingress, Reservation};
pub use run::{
    BatchProgress, CRASHED, PinnedVersion, RecordBatch, RecordOutcome, RecordResult, RecordRun,
    RecordSettlement, ScheduledRun, ScheduledRunOutcome, ScheduledRunResult,
};
pub use series::{TaskTotals, VersionTotals};
pub use services::ChannelServices;
pub use settings::Settings;
pub use shadows::{CompareRuns, DifferingRun, ShadowCounts, ShadowFinding, ShadowTerms, WorkflowShadow};
pub use shape_limits::ShapeLimits;
pub use shared_cache::{
    CacheError, CacheFuture, CacheUnavailable, ClusterStore, ConnectorAccess, SharedCache,
};
