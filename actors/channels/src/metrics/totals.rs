//! The counts of every channel, for those who sample them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;

use super::durations::{BUCKETS, DurationHistogram};
use super::exemplars::DurationExemplar;
use super::{MessageOutcome, OUTCOMES};

/// The series of one channel that were counted.
#[derive(Debug, Default)]
struct CountedSeries {
    outcomes: [Option<Counter>; OUTCOMES],
    durations: Option<DurationHistogram>,
}

/// The series of all channels, by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedChannels(Arc<Mutex<HashMap<String, CountedSeries>>>);

impl CountedChannels {
    /// Adds the counter of an outcome.
    pub(super) fn add_outcome(&self, channel: &str, outcome: MessageOutcome, counter: &Counter) {
        let mut channels = self.0.lock();
        if let Some(slot) = channels.entry(channel.to_owned()).or_default().outcomes.get_mut(outcome as usize)
        {
            *slot = Some(counter.clone());
        }
    }

    pub(super) fn add_durations(&self, channel: &str, durations: &DurationHistogram) {
        self.0.lock().entry(channel.to_owned()).or_default().durations = Some(durations.clone());
    }

    /// Removes a channel that is gone.
    pub(super) fn remove(&self, channel: &str) {
        self.0.lock().remove(channel);
    }

    /// Hands the totals of every channel to a visitor, in no order.
    pub(super) fn visit(&self, mut visitor: impl FnMut(&str, MessageTotals)) {
        for (channel, series) in self.0.lock().iter() {
            visitor(channel, series.totals());
        }
    }

    /// Hands the exemplars of every channel that has some to a visitor, in no order.
    pub(super) fn visit_exemplars(&self, mut visitor: impl FnMut(&str, &[Option<DurationExemplar>])) {
        for (channel, series) in self.0.lock().iter() {
            if let Some(exemplars) = series.durations.as_ref().and_then(DurationHistogram::exemplars) {
                visitor(channel, &exemplars);
            }
        }
    }
}

impl CountedSeries {
    fn totals(&self) -> MessageTotals {
        let count = |outcome: MessageOutcome| {
            self.outcomes.get(outcome as usize).and_then(Option::as_ref).map_or(0, Counter::get)
        };
        MessageTotals {
            completed: count(MessageOutcome::Ok),
            failed: count(MessageOutcome::Error) + count(MessageOutcome::Timeout),
            refused: count(MessageOutcome::Unauthorized) + count(MessageOutcome::Duplicate),
            cancelled: count(MessageOutcome::Cancelled),
            durations: self.durations.as_ref().map(DurationHistogram::counts).unwrap_or_default(),
        }
    }
}

/// The messages of a channel since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTotals {
    /// Answered without an error.
    pub completed: u64,
    /// Ended with an error or at their deadline.
    pub failed: u64,
    /// Without an acceptable credential, or seen before.
    pub refused: u64,
    /// Cancelled by an operator.
    pub cancelled: u64,
    /// By duration: the bounds of [`DURATION_BUCKETS`](svc_model::DURATION_BUCKETS), and beyond; not cumulative.
    pub durations: [u64; BUCKETS],
}
