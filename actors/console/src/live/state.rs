//! The viewers, what they get, and the samples that it is made of.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use svc_api::{
    LiveChanges, LiveCounts, LiveHistory, LiveNode, LivePicture, LiveRun, LiveTraffic, LiveTreeChanges,
};
use svc_channels::{EndedRun, EndedRunBatch};
use svc_model::{RunEnd, Timestamp};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};
use uuid::Uuid;

use super::event::{EndReason, EventId, write_event};
use super::journal::Journal;
use super::stream::LiveStream;
use crate::samples::history::History;
use crate::samples::traffic::{TrafficSample, TrafficState};
use crate::samples::tree::{TreeReading, TreeState};

/// Events that wait for one viewer at most. A viewer that is further behind gets a new picture.
const QUEUE: usize = 16;

/// The history that a viewer asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryRequest {
    /// The last hour by seconds.
    pub hour: bool,
    /// The last day by minutes.
    pub day: bool,
}

/// The wish of a viewer.
pub struct WatchRequest {
    /// The value of `Last-Event-ID`, if it was sent.
    pub last_event_id: Option<String>,
    /// The history that it asks for.
    pub history: HistoryRequest,
    /// Returns `true` as long as the viewer may watch. Called once a second.
    pub is_allowed: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for WatchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchRequest")
            .field("last_event_id", &self.last_event_id)
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

/// The streams that may be open are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} streams of live data are open, as many as server.console.max_viewers allows")]
pub struct TooManyViewers(pub usize);

struct Viewer {
    events: Sender<Bytes>,
    is_allowed: Arc<dyn Fn() -> bool + Send + Sync>,
    /// `true` if it has lost events, and waits for a new picture.
    is_behind: bool,
}

/// What one sample reads.
pub(crate) struct Reading {
    pub(crate) at: Timestamp,
    pub(crate) node: LiveNode,
    pub(crate) counts: LiveCounts,
    pub(crate) tree: TreeReading,
    pub(crate) runs: EndedRunBatch,
}

/// The result of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleOutcome {
    /// Number of open streams.
    pub(crate) viewers: usize,
    /// Pictures that were sent anew to viewers that had fallen behind.
    pub(crate) renewed: u64,
}

/// The state of the stream.
pub(crate) struct LiveState {
    sampler: Uuid,
    viewers: Vec<Viewer>,
    journal: Journal,
    pub(crate) traffic: TrafficState,
    tree: TreeState,
    /// The last sample, from which pictures are made.
    last: LastSample,
    pub(crate) history: History,
    is_sampling: bool,
}

#[derive(Default)]
struct LastSample {
    traffic: TrafficSample,
    counts: LiveCounts,
    node: Option<LiveNode>,
    at: Option<Timestamp>,
}

impl LiveState {
    pub(crate) fn new() -> Self {
        Self {
            sampler: Uuid::now_v7(),
            viewers: Vec::new(),
            journal: Journal::default(),
            traffic: TrafficState::default(),
            tree: TreeState::default(),
            last: LastSample::default(),
            history: History::default(),
            is_sampling: false,
        }
    }

    pub(crate) fn is_sampling(&self) -> bool {
        self.is_sampling
    }

    /// Returns the number of open streams, and frees the places of those that were closed.
    pub(crate) fn count_viewers(&mut self) -> usize {
        self.viewers.retain(|viewer| !viewer.events.is_closed());
        self.viewers.len()
    }

    /// Begins to sample: what comes next does not follow the samples before.
    pub(crate) fn begin(
        &mut self,
        reading: Reading,
        traffic: LiveTraffic,
        reason: impl Fn(&str) -> Option<String>,
    ) {
        self.is_sampling = true;
        self.journal.clear();
        self.traffic = TrafficState::default();
        self.take(&reading, TrafficSample { traffic, ..TrafficSample::default() });
        self.tree.advance(reading.tree, reason);
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        self.is_sampling = false;
        self.journal.clear();
    }

    /// Adds a viewer to a state that is sampled. Its first events are those that it missed, or a picture.
    ///
    /// # Errors
    /// [`TooManyViewers`] if `limit` streams are open.
    pub(crate) fn watch(
        &mut self,
        request: &WatchRequest,
        limit: usize,
    ) -> Result<LiveStream, TooManyViewers> {
        if self.count_viewers() >= limit {
            return Err(TooManyViewers(limit));
        }
        let last = request.last_event_id.as_deref().and_then(EventId::parse);
        let missed =
            last.filter(|id| id.sampler == self.sampler).and_then(|id| self.journal.after(id.number));
        let first = missed.unwrap_or_else(|| VecDeque::from([self.write_picture(request.history)]));
        let (events, received) = channel(QUEUE);
        let is_allowed = Arc::clone(&request.is_allowed);
        self.viewers.push(Viewer { events, is_allowed, is_behind: false });
        Ok(LiveStream::new(first, Some(received)))
    }

    /// Returns a stream of one picture.
    pub(crate) fn show_once(&self, history: HistoryRequest) -> LiveStream {
        LiveStream::new(VecDeque::from([self.write_picture(history), EndReason::Once.to_event()]), None)
    }

    /// Takes a sample and sends it to every viewer.
    pub(crate) fn sample(
        &mut self,
        reading: Reading,
        traffic: TrafficSample,
        reason: impl Fn(&str) -> Option<String>,
    ) -> SampleOutcome {
        self.history.add_second(reading.at.naive().and_utc().timestamp(), &traffic.traffic);
        self.take(&reading, traffic);
        let tree = self.tree.advance(reading.tree, reason);
        let event = self.write_changes(reading.at, tree, reading.runs);
        self.journal.push(event.clone());
        let wants_picture = self.viewers.iter().any(|viewer| viewer.is_behind && viewer.has_read_all());
        let picture = wants_picture.then(|| self.write_picture(HistoryRequest::default()));
        let mut renewed = 0;
        self.viewers.retain_mut(|viewer| {
            if viewer.events.is_closed() {
                return false;
            }
            if !(viewer.is_allowed)() {
                // A viewer whose queue is full learns it by the end of the stream alone.
                let _ = viewer.events.try_send(EndReason::KeyWithdrawn.to_event());
                return false;
            }
            renewed += u64::from(viewer.send(&event, picture.as_ref()));
            true
        });
        SampleOutcome { viewers: self.viewers.len(), renewed }
    }

    fn take(&mut self, reading: &Reading, traffic: TrafficSample) {
        self.last = LastSample {
            traffic,
            counts: reading.counts,
            node: Some(reading.node.clone()),
            at: Some(reading.at),
        };
    }

    fn write_changes(&self, at: Timestamp, tree: LiveTreeChanges, runs: EndedRunBatch) -> Bytes {
        let EndedRunBatch { runs, total } = runs;
        let runs_left_out = total.saturating_sub(runs.len() as u64);
        let TrafficSample { traffic, channels, left_out, .. } = self.last.traffic.clone();
        let changes = LiveChanges {
            at,
            traffic,
            channels,
            channels_left_out: left_out,
            tree,
            counts: self.last.counts,
            runs: runs.into_iter().map(to_live_run).collect(),
            runs_left_out,
        };
        let id = EventId { sampler: self.sampler, number: self.journal.next() };
        write_event("changes", Some(id), &changes)
    }

    /// Writes a picture of the last sample. Its id is that of the last event, which the next one follows.
    fn write_picture(&self, history: HistoryRequest) -> Bytes {
        let TrafficSample { traffic, channels, left_out, .. } = self.last.traffic.clone();
        let asked = history != HistoryRequest::default();
        let node = self.last.node.clone();
        let picture = LivePicture {
            node: node.unwrap_or_else(|| LiveNode {
                id: String::new(),
                name: String::new(),
                version: String::new(),
                uptime_secs: 0,
            }),
            at: self.last.at.unwrap_or_else(Timestamp::now),
            traffic,
            channels,
            channels_left_out: left_out,
            tree: self.tree.to_tree(),
            counts: self.last.counts,
            history: asked.then(|| LiveHistory {
                seconds: history.hour.then(|| self.history.seconds()),
                minutes: history.day.then(|| self.history.minutes()),
            }),
        };
        let id = EventId { sampler: self.sampler, number: self.journal.next() - 1 };
        write_event("picture", Some(id), &picture)
    }
}

impl Viewer {
    fn has_read_all(&self) -> bool {
        self.events.capacity() == self.events.max_capacity()
    }

    /// Sends an event, or a picture to a viewer that has lost some and has read all the others. Returns `true` for a
    /// picture.
    fn send(&mut self, event: &Bytes, picture: Option<&Bytes>) -> bool {
        if self.is_behind {
            let Some(picture) = picture.filter(|_| self.has_read_all()) else { return false };
            self.is_behind = self.events.try_send(picture.clone()).is_err();
            return !self.is_behind;
        }
        self.is_behind = matches!(self.events.try_send(event.clone()), Err(TrySendError::Full(_)));
        false
    }
}

fn to_live_run(run: EndedRun) -> LiveRun {
    let EndedRun { id, ended_at, channel, source, workflow, end, error_code, took } = run;
    let (workflow, version) = workflow.map(|workflow| (workflow.id.to_string(), workflow.version)).unzip();
    LiveRun {
        id: id.to_string(),
        ended_at,
        channel: channel.to_string(),
        mode: source.name().to_owned(),
        workflow,
        version,
        status: end_name(end).to_owned(),
        error_code: error_code.map(str::to_owned),
        took_ms: milliseconds(took),
    }
}

const fn end_name(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "completed",
        RunEnd::Failed => "failed",
        RunEnd::TimedOut => "timed_out",
        RunEnd::Cancelled => "cancelled",
    }
}

/// Returns milliseconds with three decimals.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests;
