//! The live data of the console; absent if the console is off.

use std::sync::Arc;

use svc_api::{LiveCounts, LiveNode};
use svc_cluster::nodes::NodeHandle;
use svc_console::{ConsoleHandle, ConsoleParts, ServiceView, Settings};
use svc_cron::{CronHandle, CronMetrics};
use svc_registry::Registry;
use svc_store::Store;
use svc_traces::Traces;
use tokio::time::Instant;

use crate::assembly::context::Assembly;
use crate::assembly::row::{RunsOn, ServicePart, TreeRow};
use crate::error::ServiceStartError;

/// The group of the live data.
static CONSOLE: TreeRow = TreeRow::group("console");
/// The sampler, which works while somebody watches.
static LIVE: TreeRow = TreeRow::actor("console/live", RunsOn::SharedThread);
/// The writer of the figures of this node.
static FIGURES: TreeRow = TreeRow::actor("console/figures", RunsOn::SharedThread).needs(&["store", "nodes"]);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart { nodes: &[&CONSOLE, &LIVE, &FIGURES], tasks: &[] };

/// The parts of the service that samples read.
pub(crate) struct SampledParts<'p> {
    pub(crate) store: &'p Store,
    pub(crate) nodes: &'p NodeHandle,
    pub(crate) registry: &'p Registry,
    pub(crate) traces: &'p Traces,
    pub(crate) cron: Option<&'p CronHandle>,
    /// The name of this process.
    pub(crate) instance_id: &'p str,
}

/// Starts the live data; `None` if the console is off.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    sampled: SampledParts<'_>,
) -> Result<Option<ConsoleHandle>, ServiceStartError> {
    if !assembly.config.console_is_on() {
        return Ok(None);
    }
    let SampledParts { store, nodes, registry, traces, cron, instance_id } = sampled;
    let view = RunningService {
        nodes: nodes.clone(),
        registry: registry.clone(),
        traces: traces.clone(),
        cron: cron.cloned(),
        cron_metrics: assembly.metrics.cron.clone(),
        instance_id: instance_id.to_owned(),
        started_at: Instant::now(),
    };
    let parts = ConsoleParts {
        store: store.clone(),
        channels: assembly.metrics.channels.clone(),
        view: Arc::new(view),
        settings: Settings {
            max_viewers: assembly.config.server.console.max_viewers,
            needs: FIGURES.need_paths(),
        },
        metrics: assembly.metrics.console.clone(),
        log: assembly.log.clone(),
    };
    let thread = assembly.thread_of(&LIVE)?;
    let started = ConsoleHandle::supervise(&assembly.tree, CONSOLE.path, thread, parts).await;
    started.map(Some).map_err(ServiceStartError::tree)
}

/// The running service as samples show it.
struct RunningService {
    nodes: NodeHandle,
    registry: Registry,
    traces: Traces,
    cron: Option<CronHandle>,
    cron_metrics: CronMetrics,
    instance_id: String,
    started_at: Instant,
}

impl ServiceView for RunningService {
    fn node_id(&self) -> Arc<str> {
        self.nodes.id()
    }

    fn node(&self) -> LiveNode {
        LiveNode {
            id: self.nodes.id().to_string(),
            name: self.instance_id.clone(),
            version: crate::VERSION.to_owned(),
            uptime_secs: self.started_at.elapsed().as_secs(),
        }
    }

    fn counts(&self) -> LiveCounts {
        let (work, snapshot) = (self.traces.work_counts(), self.registry.snapshot());
        let paused = if snapshot.has_pauses() { snapshot.paused_channels().len() } else { 0 };
        LiveCounts {
            queue_depth: work.queue_depth,
            workers_active: work.workers_active,
            workers_total: work.workers_total,
            waiting_paused: work.paused,
            waiting_scheduled: work.scheduled,
            waiting_share: work.share,
            waiting_retrying: work.retrying,
            dead_letters_waiting: work.letters_waiting,
            dead_letters_exhausted: work.letters_exhausted,
            occurrences_due: self.cron_metrics.due_occurrences(),
            oldest_due_secs: self.cron.as_ref().and_then(|cron| cron.health().oldest_pending_age_secs),
            channels: snapshot.channels_count(),
            channels_quarantined: snapshot.quarantined_count(),
            channels_paused: paused,
        }
    }

    fn quarantined_channels(&self, limit: usize) -> (Vec<String>, usize) {
        let snapshot = self.registry.snapshot();
        let number = snapshot.quarantined_count();
        if number == 0 {
            return (Vec::new(), 0);
        }
        let channels = snapshot.quarantined_channels();
        (channels.into_iter().take(limit).map(|(channel, _)| channel.name().to_owned()).collect(), number)
    }
}
