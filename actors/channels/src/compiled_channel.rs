//! A channel compiled to run: its row, its guards, its workflow.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use svc_contract::ResponseShaper;
use svc_engine::Flow;
use svc_model::config::auth::ConsumerSelection;
use svc_model::config::{
    BodyMode, ContentEncoding, QuotaTerms, RecordFormat, RepeatedFailureConfig, RequestBodyFormat,
    RequestMode, ResponseConfig, ResponseMode, TombstonePolicy,
};
use svc_model::{Channel, ChannelConfig, Protocol, ServiceError, WorkflowVersion, is_unreadable};
use svc_secrets::Resolver;
use svc_traces::{QueueShares, TracePolicy};
use uuid::Uuid;

use crate::cron::CronConfig;
use crate::digest::{Digest, DigestBuilder};
use crate::guards::{CacheKeyInputs, Guards, RefusalCounts, RefusalTotals};
use crate::log_rate_limit::LogRateLimit;
use crate::metadata;
use crate::metrics::ChannelMeters;
use crate::run::{ChannelRecorder, WorkQueue};
use crate::series::{FlowMeters, VersionTotals};
use crate::services::ChannelServices;
use crate::shadows::{ChannelShadow, WorkflowShadow};

/// Names of dropped members in a line of the log, and letters of each: a caller chose them.
const SHOWN_MEMBERS: usize = 5;
const SHOWN_LETTERS: usize = 64;

/// A channel compiled to run. Immutable but for the state of its guards; shared by its actors on all threads.
pub struct CompiledChannel {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    /// The chain of calls of a message that came in here: this channel alone.
    pub(crate) chain: Arc<[Arc<str>]>,
    pub(crate) flow: Flow,
    pub(crate) envelope: bool,
    body_format: RequestBodyFormat,
    /// The encodings of compressed bodies that are decoded.
    decompress: Box<[ContentEncoding]>,
    /// Set once a body was taken for an envelope and lost members.
    has_dropped_members: Arc<AtomicBool>,
    /// Calls over HTTP are accepted and run later.
    accepts: bool,
    /// The interpretation of the value of a record.
    pub(crate) record_format: RecordFormat,
    pub(crate) tombstones: TombstonePolicy,
    pub(crate) cookies: Vec<String>,
    pub(crate) guards: Guards,
    /// The refusals of its messages on this node.
    pub(crate) refusals: Arc<RefusalCounts>,
    /// The bounds of its accepted work.
    pub(crate) queue: WorkQueue,
    pub(crate) timeout: Option<Duration>,
    /// Set if the workflow may shape the response.
    pub(crate) shaper: Option<ResponseShaper>,
    /// The origins of pages that may read its answers, if it lists its own.
    cors_origins: Option<Box<[Value]>>,
    /// The senders that may deliver events, if it lists them.
    event_senders: Option<Box<EventSenders>>,
    /// Set for a scheduled channel.
    cron: Option<Box<CronConfig>>,
    /// The failures after which the channel pauses itself.
    repeated_failure: Option<RepeatedFailureConfig>,
    /// The bodies of error responses.
    pub(crate) response: ResponseConfig,
    /// The tracing policy; `None` if nothing is recorded.
    pub(crate) tracing: Option<TracePolicy>,
    /// The recorder of runs for backtests; `None` if none are recorded.
    pub(crate) recorder: Option<Box<ChannelRecorder>>,
    /// The shadow of its workflow; `None` for most.
    pub(crate) shadow: Option<Arc<ChannelShadow>>,
    /// Set if a run may show the metadata of its message: to its workflow, to a guard, or in the trace of a synchronous
    /// run. The trace of a record always does.
    pub(crate) reads_metadata: bool,
    pub(crate) services: Arc<ChannelServices>,
    /// The bound on log lines about failed requests.
    pub(crate) failure_lines: LogRateLimit,
    pub(crate) meters: ChannelMeters,
    pub(crate) flow_meters: FlowMeters,
    version: i64,
    /// Content hash of the stored channel; set if responses are cached.
    content_hash: Option<Box<str>>,
}

/// The senders that may deliver events.
struct EventSenders {
    /// Their names; `*` for any.
    origins: Vec<String>,
    /// The requests of a minute that the rate of the channel admits; `None` without one.
    rate: Option<u64>,
}

/// The permission to deliver events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventGrant {
    /// Every sender has it.
    pub is_for_all: bool,
    /// The requests of a minute; `None` without a limit.
    pub rate: Option<u64>,
}

impl CompiledChannel {
    /// Compiles a channel from its stored row and the workflow it names.
    ///
    /// `previous` is what served until now: what its guards remember is carried over if their own settings
    /// are the same. Cached responses are carried over only if neither the channel nor its workflow changed.
    ///
    /// `references` are the secrets read for this load; without them the credentials of `previous` are kept.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a config that does not parse, an undeclared value, a credential that
    /// cannot be verified with what is configured, an expression that does not compile. A channel is never served
    /// without a guard it was given.
    pub fn build(
        row: &Channel,
        flow: Flow,
        services: &Arc<ChannelServices>,
        references: Option<&dyn Resolver>,
        previous: Option<&Self>,
    ) -> Result<Self, String> {
        let resolved = services.settings.resolve_values(row)?;
        let row: &Channel = &resolved;
        let config = read_config(row)?;
        warn_of_misspellings(row, &config, services);
        let cron = read_schedule(row, services)?;
        let keeps = config.cache.as_ref().is_some_and(|cache| cache.enabled);
        let content_hash = keeps.then(|| row.content.content_hash().into_boxed_str());
        let unchanged = previous.is_some_and(|previous| {
            previous.content_hash == content_hash && is_same_flow(&previous.flow, &flow)
        });
        let inputs = CacheKeyInputs { definition: channel_digest(content_hash.as_deref(), &flow), unchanged };
        let served = previous.map(|previous| &previous.guards);
        let guards = Guards::build(row, &config, services, references, served, &inputs)?;
        let queue = WorkQueue::build(&config.queue, services)?;
        let shaped = config.response.mode == ResponseMode::Shaped;
        let name: Arc<str> = row.content.name.as_str().into();
        let tracing = services.traces.as_ref().map(|traces| traces.policy(&config.tracing));
        let recorder = ChannelRecorder::build(&config.tracing, config.validation_logic.as_ref(), services)?;
        let reads_metadata = flow.reads_metadata()
            || recorder.is_some()
            || guards.read_metadata()
            || tracing.as_ref().is_some_and(|policy| policy.task_details || policy.keep_input);
        Ok(Self {
            id: row.channel_id.as_str().into(),
            failure_lines: LogRateLimit::default(),
            chain: Arc::new([Arc::clone(&name)]),
            name,
            flow_meters: services.metrics.flow_meters(&flow),
            flow,
            accepts: config.request.mode == RequestMode::Accept,
            envelope: config.request.body_mode == BodyMode::Auto,
            body_format: config.request.body_format,
            has_dropped_members: previous
                .filter(|previous| previous.envelope && config.request.body_mode == BodyMode::Auto)
                .map(|previous| Arc::clone(&previous.has_dropped_members))
                .unwrap_or_default(),
            record_format: config.request.body_format.record_format().unwrap_or_default(),
            decompress: config.request.decompress.into_boxed_slice(),
            tombstones: config.kafka.tombstones,
            cookies: config.request.cookies_to_metadata,
            guards,
            refusals: previous.map(|previous| Arc::clone(&previous.refusals)).unwrap_or_default(),
            queue,
            timeout: config.timeout_ms.map(Duration::from_millis),
            shaper: shaped.then(|| ResponseShaper::new(&config.response)),
            cors_origins: config
                .request
                .cors_origins
                .map(|origins| origins.into_iter().map(Value::from).collect()),
            event_senders: config.request.cloudevents_origins.map(|origins| {
                let rate = config.rate_limit.as_ref().map(|limit| limit.requests_per_second);
                Box::new(EventSenders { origins, rate: rate.map(|rate| rate.saturating_mul(60)) })
            }),
            cron: cron.map(Box::new),
            repeated_failure: config.on_repeated_failure,
            response: config.response,
            tracing,
            recorder,
            shadow: None,
            reads_metadata,
            meters: services.metrics.channel_meters(&row.content.name),
            services: Arc::clone(services),
            version: row.version,
            content_hash,
        })
    }

    /// Gives it the shadow of its workflow.
    #[must_use]
    pub fn with_shadow(self, shadow: Option<WorkflowShadow>) -> Self {
        let metrics = &self.services.metrics;
        let shadow = shadow.map(|workflow| {
            let tally = metrics.shadows().join(&workflow.terms.rollout_id);
            Arc::new(ChannelShadow { workflow, tally })
        });
        Self { shadow, ..self }
    }

    /// Returns the origins of pages that may read its answers, if it lists its own.
    pub fn cors_origins(&self) -> Option<&[Value]> {
        self.cors_origins.as_deref()
    }

    /// Returns the schedule configuration; `None` for a channel that is not scheduled.
    pub fn cron(&self) -> Option<&CronConfig> {
        self.cron.as_deref()
    }

    /// Returns the failures after which the channel pauses itself; `None` if it never does.
    pub fn repeated_failure(&self) -> Option<RepeatedFailureConfig> {
        self.repeated_failure
    }

    /// Returns `true` if calls over HTTP are accepted and run later.
    pub fn accepts(&self) -> bool {
        self.accepts
    }

    /// Returns `true` if the workflow may shape the answers over HTTP.
    pub(crate) fn shapes_answers(&self) -> bool {
        self.shaper.is_some()
    }

    /// Returns the version of the workflow that runs an accepted job of that bucket and id.
    pub fn workflow_for(&self, bucket: Option<u8>, id: Uuid) -> Option<WorkflowVersion> {
        self.flow.version_for(bucket, id)
    }

    /// Returns `true` if that version of the workflow serves here.
    pub fn has_version(&self, version: &WorkflowVersion) -> bool {
        self.flow.has_version(version)
    }

    /// Returns the counts of a version of its workflow on this node, over all channels that run it; `None` if the channel
    /// does not run that version.
    pub fn version_totals(&self, version: &WorkflowVersion) -> Option<VersionTotals> {
        self.flow_meters.totals(version)
    }

    /// Returns the shares of its accepted work that run at once, over all nodes.
    pub fn queue_shares(&self) -> QueueShares {
        self.queue.shares(&self.id)
    }

    /// Returns the most of its accepted work that may wait.
    pub fn max_waiting(&self) -> u64 {
        self.queue.max_waiting()
    }

    /// Returns the number of messages that may begin on this node now; `None` if the channel does not limit them.
    pub fn free_permits(&self) -> Option<usize> {
        self.guards.free_permits()
    }

    /// Returns the bounds of its quota; `None` for a channel without one.
    pub fn quota_terms(&self) -> Option<QuotaTerms> {
        self.guards.quota_terms()
    }

    /// Returns the consumers whom it accepts; `None` for a channel with keys of its own.
    pub fn consumers(&self) -> Option<&ConsumerSelection> {
        self.guards.consumers()
    }

    /// Returns the refusals of its messages on this node. They go on through reloads.
    pub fn refusals(&self) -> RefusalTotals {
        self.refusals.totals()
    }

    /// Counts a refusal outside of the guards. `place` and `reason` are names of the program.
    pub fn record_refusal(&self, place: &'static str, reason: &'static str, error: &ServiceError) {
        self.refusals.count(place, error.status(), reason);
    }

    /// Returns `true` if a run may leave a trace.
    pub fn is_traced(&self) -> bool {
        self.tracing.is_some()
    }

    /// Returns the reading of the bodies of its requests.
    pub fn body_format(&self) -> RequestBodyFormat {
        self.body_format
    }

    /// Returns `true` if it asks its callers for a credential.
    pub fn asks_for_credentials(&self) -> bool {
        self.guards.ask_for_credentials()
    }

    /// Returns `true` if its requests are events of CloudEvents.
    pub fn takes_events(&self) -> bool {
        self.body_format == RequestBodyFormat::CloudEvents
    }

    /// Returns the answer to the validation request of a sender of events, if the channel admits that sender.
    pub fn event_grant(&self, sender: &str) -> Option<EventGrant> {
        let origins = self.event_senders.as_deref()?;
        let is_admitted = |origin: &&String| *origin == "*" || origin.eq_ignore_ascii_case(sender);
        let origin = origins.origins.iter().find(is_admitted)?;
        Some(EventGrant { is_for_all: origin == "*", rate: origins.rate })
    }

    /// Returns the encodings of compressed bodies that are decoded.
    pub fn decompress(&self) -> &[ContentEncoding] {
        &self.decompress
    }

    /// Returns `true` if members of a body were dropped because the body was taken for an envelope.
    pub fn has_dropped_members(&self) -> bool {
        self.has_dropped_members.load(Ordering::Relaxed)
    }

    /// Counts a body that loses members because it is taken for an envelope; the first one is logged.
    pub(crate) fn note_dropped_members(&self, body: &Value) {
        let mut dropped = metadata::dropped_members(body).peekable();
        if dropped.peek().is_none() {
            return;
        }
        self.services.metrics.count_dropped_members(&self.name);
        if self.has_dropped_members.swap(true, Ordering::Relaxed) {
            return;
        }
        let names: Vec<String> =
            dropped.take(SHOWN_MEMBERS).map(|name| name.chars().take(SHOWN_LETTERS).collect()).collect();
        slog::warn!(self.services.log, "members of a body were dropped, it was taken for an envelope";
            "channel" => &*self.name, "members" => names.join(", "),
            "remedy" => "set request.body_mode to payload");
    }

    /// The name callers use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the channel this was built from.
    pub fn version(&self) -> i64 {
        self.version
    }
}

/// Reads the config of a stored channel.
fn read_config(row: &Channel) -> Result<ChannelConfig, String> {
    ChannelConfig::parse(&row.content.config).map_err(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        format!("config_json does not parse: {}", errors.join("; "))
    })
}

/// Reads the schedule of a stored channel; `None` for one that is not scheduled.
fn read_schedule(row: &Channel, services: &ChannelServices) -> Result<Option<CronConfig>, String> {
    if is_unreadable(&row.content.transport_config) {
        return Err("transport_config_json does not parse".to_owned());
    }
    if row.content.protocol != Protocol::Cron {
        return Ok(None);
    }
    if !services.settings.cron_enabled {
        return Err("cron scheduler disabled".to_owned());
    }
    let cron = CronConfig::parse(&row.channel_id, &row.content);
    cron.map(Some).map_err(|reason| format!("cron schedule: {reason}"))
}

/// Logs the unknown operators of a stored channel, for which it would be refused today. The stored channel
/// goes on.
fn warn_of_misspellings(row: &Channel, config: &ChannelConfig, services: &ChannelServices) {
    for expression in config.expressions() {
        for call in services.engine.unknown_calls(&format!("config.{}", expression.name), expression.logic) {
            slog::warn!(services.log, "a stored channel calls an operator that does not exist";
                "channel" => &row.content.name, "path" => &call.path, "reason" => call.refusal().message);
        }
    }
}

impl fmt::Debug for CompiledChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledChannel")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Computes a digest that identifies a channel with its workflow, equal in every process.
fn channel_digest(content_hash: Option<&str>, flow: &Flow) -> Digest {
    let mut hash = DigestBuilder::default();
    hash.text(content_hash.unwrap_or_default());
    for (workflow, share) in &flow.versions {
        hash.text(workflow.content_hash());
        hash.json(&json!([workflow.id(), workflow.version(), share]));
    }
    hash.finish()
}

/// Returns `true` if messages run through the same compiled versions, in the same shares.
fn is_same_flow(one: &Flow, other: &Flow) -> bool {
    let same = |((a, share_a), (b, share_b)): (&(Arc<_>, u8), &(Arc<_>, u8))| {
        Arc::ptr_eq(a, b) && share_a == share_b
    };
    one.versions.len() == other.versions.len() && one.versions.iter().zip(&other.versions).all(same)
}
