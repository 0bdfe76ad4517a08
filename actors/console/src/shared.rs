//! The state that survives the actors, and what they sample.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Tree;
use parking_lot::Mutex;
use slog::{Logger, warn};
use svc_api::{LiveTraffic, NodeFigures};
use svc_channels::ChannelMetrics;
use svc_model::Timestamp;
use svc_store::{ErrorGroups, NodeLeases};
use tokio::sync::Notify;

use crate::live::state::{LiveState, Reading, TooManyViewers, WatchRequest};
use crate::live::{HistoryRequest, LiveStream};
use crate::metrics::ConsoleMetrics;
use crate::samples::traffic::{TrafficSample, TrafficState};
use crate::samples::tree::TreeReading;
use crate::view::ServiceView;

/// Channels in one sample at most.
const SAMPLED_CHANNELS: usize = 500;
/// Channels in the figures of a node at most.
const FIGURED_CHANNELS: usize = 50;

/// The viewers, the history, and the sources of samples.
pub(crate) struct ConsoleShared {
    pub(crate) view: Arc<dyn ServiceView>,
    pub(crate) tree: Tree,
    pub(crate) channels: ChannelMetrics,
    pub(crate) leases: NodeLeases,
    pub(crate) groups: ErrorGroups,
    pub(crate) max_viewers: usize,
    pub(crate) metrics: ConsoleMetrics,
    pub(crate) log: Logger,
    pub(crate) live: Mutex<LiveState>,
    /// Wakes the sampler.
    pub(crate) begun: Notify,
    pub(crate) figures: Mutex<FiguresState>,
}

/// The state of the figures of this node.
#[derive(Default)]
pub(crate) struct FiguresState {
    traffic: TrafficState,
    /// The messages of the last period.
    last: LiveTraffic,
}

impl ConsoleShared {
    /// Adds a viewer, and begins to sample if it is the first.
    pub(crate) fn watch(&self, request: &WatchRequest) -> Result<LiveStream, TooManyViewers> {
        let mut live = self.live.lock();
        if !live.is_sampling() {
            self.begin(&mut live);
        }
        let stream = live.watch(request, self.max_viewers);
        self.metrics.viewers.set(i64::try_from(live.count_viewers()).unwrap_or(i64::MAX));
        stream
    }

    /// Returns a stream of one picture; nothing is sampled for it beyond that.
    pub(crate) fn show_once(&self, history: HistoryRequest) -> LiveStream {
        let mut live = self.live.lock();
        if live.is_sampling() {
            return live.show_once(history);
        }
        self.begin(&mut live);
        let stream = live.show_once(history);
        self.end(&mut live);
        stream
    }

    /// Waits until somebody watches.
    pub(crate) async fn wait_for_sampling(&self) {
        while !self.live.lock().is_sampling() {
            self.begun.notified().await;
        }
    }

    /// Takes a sample and sends it. Returns the number of viewers.
    pub(crate) fn sample(&self, elapsed: Duration) -> usize {
        let mut live = self.live.lock();
        let traffic = self.read_traffic(&mut live.traffic, elapsed, SAMPLED_CHANNELS);
        let outcome = live.sample(self.read(), traffic, |path| self.quarantine_reason(path));
        drop(live);
        self.metrics.samples.inc();
        self.metrics.viewers.set(i64::try_from(outcome.viewers).unwrap_or(i64::MAX));
        self.metrics.renewed_pictures.inc_by(outcome.renewed);
        outcome.viewers
    }

    /// Ends the samples unless somebody has begun to watch. Returns `true` if they have ended.
    pub(crate) fn end_sampling(&self) -> bool {
        let mut live = self.live.lock();
        let is_over = live.count_viewers() == 0;
        if is_over {
            self.end(&mut live);
        }
        is_over
    }

    fn begin(&self, live: &mut LiveState) {
        self.channels.ended_runs().watch();
        live.begin(self.read(), self.figures.lock().last, |path| self.quarantine_reason(path));
        // The next sample counts from here.
        let _none = self.read_traffic(&mut live.traffic, Duration::ZERO, 0);
        self.metrics.is_sampling.set(1);
        self.begun.notify_one();
    }

    fn end(&self, live: &mut LiveState) {
        live.end();
        self.channels.ended_runs().unwatch();
        self.metrics.is_sampling.set(0);
    }

    fn read(&self) -> Reading {
        Reading {
            at: Timestamp::now(),
            node: self.view.node(),
            counts: self.view.counts(),
            tree: self.read_tree(),
            runs: self.channels.ended_runs().take(),
        }
    }

    fn read_tree(&self) -> TreeReading {
        let mut reading = TreeReading::default();
        self.tree.visit_gauges(|node| reading.add(node));
        reading
    }

    fn read_traffic(&self, state: &mut TrafficState, elapsed: Duration, limit: usize) -> TrafficSample {
        state.advance(|visitor| self.channels.visit_totals(visitor), elapsed, limit)
    }

    fn quarantine_reason(&self, path: &str) -> Option<String> {
        self.tree.node(path)?.quarantine_reason
    }

    /// Makes the figures of this node, and adds their messages to the history. The first ones are of no period.
    fn make_figures(&self, elapsed: Duration) -> NodeFigures {
        let sample = {
            let mut figures = self.figures.lock();
            let sample = self.read_traffic(&mut figures.traffic, elapsed, FIGURED_CHANNELS);
            figures.last = sample.traffic;
            sample
        };
        let now = Timestamp::now().naive().and_utc().timestamp();
        self.live.lock().history.add_to_minute(now, &sample.counts, elapsed);
        let (quarantined, number) = self.view.quarantined_channels(FIGURED_CHANNELS);
        NodeFigures {
            age_secs: 0,
            traffic: sample.traffic,
            channels: sample.channels,
            channels_left_out: sample.left_out,
            quarantined_left_out: number.saturating_sub(quarantined.len()),
            quarantined,
            tree: self.read_tree().totals(),
        }
    }

    /// Writes the figures of this node and adds the failures that it has counted.
    pub(crate) async fn write_figures(&self, elapsed: Duration) {
        let figures = self.make_figures(elapsed);
        // The type has no value that JSON lacks.
        let json = serde_json::to_string(&figures).unwrap_or_default();
        let written = self.leases.record_figures(&self.view.node_id(), json).await;
        let counted = self.groups.flush_counts().await;
        for error in [written.err(), counted.err()].into_iter().flatten() {
            self.metrics.figure_failures.inc();
            // The status of the database shows an outage.
            if !error.is_outage() {
                warn!(self.log, "the figures of this node were not written"; "error" => %error);
            }
        }
    }

    /// Deletes what no list shows any more.
    pub(crate) async fn delete_old(&self) {
        let counts = self.groups.delete_old_counts().await;
        let figures = self.leases.delete_orphaned_figures().await;
        for error in [counts.err(), figures.err()].into_iter().flatten().filter(|error| !error.is_outage()) {
            warn!(self.log, "old figures were not deleted"; "error" => %error);
        }
    }
}
