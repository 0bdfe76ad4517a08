//! The metrics of channels. A series of a channel is created when it is first counted: ten thousand idle channels show
//! none.

mod durations;
mod exemplars;
mod guards;
mod totals;

use std::sync::{Arc, OnceLock};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use svc_auth::RefusalReason;
use svc_engine::Flow;
use svc_model::gate::{CompareCounts, OutcomeCounts};
use svc_model::{ErrorReason, WorkflowVersion};

use crate::ended_runs::EndedRuns;
use crate::series::{FlowMeters, RunLabels, SeriesPool, TaskLabels, VersionCountsPool, WorkflowLabels};
use crate::shadows::{ShadowBook, ShadowCounts};

use durations::DurationHistogram;
pub use exemplars::{DurationExemplar, TraceIds};
use guards::GuardMetrics;
pub(crate) use guards::{CredentialKind, SignInLeg};
use totals::CountedChannels;
pub use totals::MessageTotals;

/// Number of outcomes of a message.
const OUTCOMES: usize = MessageOutcome::ALL.len();

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageOutcome {
    /// Answered.
    Ok,
    /// Refused or failed.
    Error,
    /// The deadline passed.
    Timeout,
    /// No acceptable credential.
    Unauthorized,
    /// An idempotency key already seen.
    Duplicate,
    /// An operator cancelled its run.
    Cancelled,
}

impl MessageOutcome {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Ok, "ok"),
        (Self::Error, "error"),
        (Self::Timeout, "timeout"),
        (Self::Unauthorized, "unauthorized"),
        (Self::Duplicate, "duplicate"),
        (Self::Cancelled, "cancelled"),
    ];
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    channel: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChannelLabels {
    channel: String,
}

/// Labels of `svc_errors_total`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ErrorLabels {
    /// The name of an [`ErrorReason`].
    pub reason: &'static str,
}

/// The metric families of all channels. Cheap to clone; label values are channel names, never text of
/// callers.
#[derive(Clone, Debug)]
pub struct ChannelMetrics {
    messages: Family<MessageLabels, Counter>,
    durations: Family<ChannelLabels, DurationHistogram>,
    counted: CountedChannels,
    ended_runs: EndedRuns,
    errors: Family<ErrorLabels, Counter>,
    workflows: SeriesPool<WorkflowLabels>,
    tasks: SeriesPool<TaskLabels>,
    runs: SeriesPool<RunLabels, Counter>,
    versions: VersionCountsPool,
    guards: GuardMetrics,
    shadows: ShadowBook,
}

impl Default for ChannelMetrics {
    /// Every reason of `errors` is there from the beginning: an alert on its increase sees the first one.
    fn default() -> Self {
        let errors = Family::<ErrorLabels, Counter>::default();
        for reason in ErrorReason::ALL {
            drop(errors.get_or_create(&ErrorLabels { reason: reason.as_str() }));
        }
        Self {
            messages: Family::default(),
            durations: Family::default(),
            counted: CountedChannels::default(),
            ended_runs: EndedRuns::default(),
            errors,
            workflows: SeriesPool::default(),
            tasks: SeriesPool::default(),
            runs: SeriesPool::default(),
            versions: VersionCountsPool::default(),
            guards: GuardMetrics::default(),
            shadows: ShadowBook::default(),
        }
    }
}

impl ChannelMetrics {
    /// Registers `messages`, `message_duration_seconds`, `workflow_duration_seconds`,
    /// `task_duration_seconds`, `workflow_runs`, `errors` and what the guards count; the prefix is the
    /// registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("messages", "Messages by channel and outcome", self.messages.clone());
        registry.register("message_duration_seconds", "Time from arrival to answer", self.durations.clone());
        registry.register(
            "workflow_duration_seconds",
            "Time from a workflow's condition to its end",
            self.workflows.family(),
        );
        registry.register("task_duration_seconds", "Time a task ran", self.tasks.family());
        let runs = self.runs.family();
        registry.register("workflow_runs", "Runs by version of their workflow and how they ended", runs);
        registry.register("errors", "Failures by reason", self.errors.clone());
        self.guards.register(registry);
        self.shadows.metrics.register(registry);
    }

    /// Makes the series of these kinds of differences between runs and their shadows.
    pub fn declare_shadow_kinds(&self, kinds: impl Iterator<Item = &'static str>) {
        self.shadows.metrics.declare_kinds(kinds);
    }

    /// Returns what was counted of the shadows of a rollout; `None` if no channel of this node has them.
    pub fn shadow_counts(&self, rollout_id: &str) -> Option<ShadowCounts> {
        self.shadows.counts(rollout_id)
    }

    /// Returns the numbers of runs that were compared with their shadows, by rollout.
    pub fn compared_runs(&self) -> Vec<(Arc<str>, CompareCounts)> {
        self.shadows.compared()
    }

    pub(crate) fn shadows(&self) -> &ShadowBook {
        &self.shadows
    }

    /// Counts one failure in `svc_errors_total`.
    pub fn count_error(&self, reason: ErrorReason) {
        self.errors.get_or_create(&ErrorLabels { reason: reason.as_str() }).inc();
    }

    /// Counts an accepted job that could not be run; `None` for one whose channel is gone.
    pub fn count_lost_job(&self, channel: Option<&str>) {
        let channel = channel.unwrap_or("_unknown").to_owned();
        let (_, status) = MessageOutcome::ALL[MessageOutcome::Error as usize];
        self.messages.get_or_create(&MessageLabels { channel, status }).inc();
    }

    /// Counts a request over a rate limit. `scope` is the name of the channel, or `admin`, `data` or
    /// `operational` for the platform's own limits; a channel named like one of these is counted with it.
    pub fn count_rate_limited(&self, scope: &str) {
        self.guards.rate_limited(scope);
    }

    /// Counts a request whose rate key has no value.
    pub(crate) fn rate_key_unavailable(&self, channel: &str) {
        self.guards.key_unavailable(channel);
    }

    /// Counts a refused credential: the metric and the log alone give the reason.
    pub(crate) fn credential_refused(&self, credential: CredentialKind, reason: RefusalReason) {
        self.guards.record_refusal(credential, reason);
    }

    /// Counts a token whose claims do not allow the call: a 403.
    pub(crate) fn claims_refused(&self) {
        self.guards.forbidden(CredentialKind::Token.name(), "insufficient_scope");
    }

    /// Counts a request of a page that may not call: a 403.
    pub(crate) fn origin_refused(&self) {
        self.guards.forbidden("origin", "origin_not_allowed");
    }

    /// Counts a leg of a sign-in. `provider` is a name of the channel's config, `default` or `unknown`.
    pub(crate) fn count_sign_in(&self, channel: &str, provider: &str, leg: SignInLeg, outcome: &'static str) {
        self.guards.count_sign_in(channel, provider, leg, outcome);
    }

    /// Counts a look into the response cache.
    pub(crate) fn cache_looked_up(&self, channel: &str, found: bool) {
        self.guards.looked_up(channel, found);
    }

    /// Counts a request that the run of an equal one answered.
    pub(crate) fn count_coalesced(&self, channel: &str) {
        self.guards.coalesced(channel);
    }

    /// Counts a body that lost members because it was taken for an envelope.
    pub(crate) fn count_dropped_members(&self, channel: &str) {
        self.guards.members_dropped(channel);
    }

    /// The meters of one channel.
    pub(crate) fn channel_meters(&self, channel: &str) -> ChannelMeters {
        ChannelMeters {
            channel: channel.to_owned(),
            messages: self.messages.clone(),
            durations: self.durations.clone(),
            counted: self.counted.clone(),
            outcomes: Default::default(),
            duration: OnceLock::new(),
        }
    }

    /// The meters of what a channel runs.
    pub(crate) fn flow_meters(&self, flow: &Flow) -> FlowMeters {
        let (workflows, tasks, runs) = (self.workflows.clone(), self.tasks.clone(), self.runs.clone());
        FlowMeters::new(workflows, tasks, runs, &self.versions, flow)
    }

    /// Drops the series of a channel that is gone.
    pub fn remove_channel(&self, channel: &str) {
        for (_, status) in MessageOutcome::ALL {
            self.messages.remove(&MessageLabels { channel: channel.to_owned(), status });
        }
        self.durations.remove(&ChannelLabels { channel: channel.to_owned() });
        self.counted.remove(channel);
        self.guards.forget(channel);
    }

    /// Hands the name and the totals of every channel that has counted a message to a visitor, in no order.
    pub fn visit_totals(&self, visitor: impl FnMut(&str, MessageTotals)) {
        self.counted.visit(visitor);
    }

    /// Hands the name and the exemplars of every channel that has some to a visitor, in no order. They are by bucket:
    /// the bounds of [`DURATION_BUCKETS`](svc_model::DURATION_BUCKETS), and beyond.
    pub fn visit_exemplars(&self, visitor: impl FnMut(&str, &[Option<DurationExemplar>])) {
        self.counted.visit_exemplars(visitor);
    }

    /// Returns the outcomes of the versions that share the traffic of their workflow with another one, or did so before.
    pub fn version_outcomes(&self) -> Vec<(WorkflowVersion, OutcomeCounts)> {
        self.versions.outcomes()
    }

    /// Returns the ends of runs, for those who watch them.
    pub fn ended_runs(&self) -> &EndedRuns {
        &self.ended_runs
    }
}

/// The meters of one channel. Each series is looked up once.
#[derive(Debug)]
pub(crate) struct ChannelMeters {
    channel: String,
    messages: Family<MessageLabels, Counter>,
    durations: Family<ChannelLabels, DurationHistogram>,
    counted: CountedChannels,
    outcomes: [OnceLock<Counter>; OUTCOMES],
    duration: OnceLock<DurationHistogram>,
}

impl ChannelMeters {
    /// Counts a message. `trace` is set if its trace can be looked up.
    pub(crate) fn count(&self, outcome: MessageOutcome, seconds: f64, trace: Option<TraceIds>) {
        self.outcomes[outcome as usize].get_or_init(|| self.make_counter(outcome)).inc();
        self.duration.get_or_init(|| self.make_durations()).observe(seconds, trace);
    }

    fn make_counter(&self, outcome: MessageOutcome) -> Counter {
        let (_, status) = MessageOutcome::ALL[outcome as usize];
        let labels = MessageLabels { channel: self.channel.clone(), status };
        let counter = self.messages.get_or_create_owned(&labels);
        self.counted.add_outcome(&self.channel, outcome, &counter);
        counter
    }

    fn make_durations(&self) -> DurationHistogram {
        let durations = self.durations.get_or_create_owned(&ChannelLabels { channel: self.channel.clone() });
        self.counted.add_durations(&self.channel, &durations);
        durations
    }
}
