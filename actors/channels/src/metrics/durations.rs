//! A histogram of durations whose buckets can be read, which those of the client library cannot.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use svc_model::DURATION_BUCKETS;

use super::exemplars::{DurationExemplar, ExemplarSlots, TraceIds};

/// Number of buckets: the bounds, and one for all that is longer.
pub(crate) const BUCKETS: usize = DURATION_BUCKETS.len() + 1;

/// The durations of the messages of one channel. Counting takes no lock. Cheap to clone; clones share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurationHistogram(Arc<DurationCounts>);

#[derive(Debug, Default)]
struct DurationCounts {
    /// By bound, not cumulative.
    buckets: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
    /// Made with the first message whose trace can be looked up.
    exemplars: OnceLock<Box<ExemplarSlots>>,
}

impl DurationHistogram {
    /// Counts a duration in seconds, of a message that has a trace or has none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest number of the range"
    )]
    pub(crate) fn observe(&self, seconds: f64, trace: Option<TraceIds>) {
        let bucket = DURATION_BUCKETS.iter().position(|bound| seconds <= *bound);
        let bucket = bucket.unwrap_or(DURATION_BUCKETS.len());
        if let Some(count) = self.0.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.0.nanoseconds.fetch_add((seconds * 1e9) as u64, Ordering::Relaxed);
        if let Some(trace) = trace {
            self.0.exemplars.get_or_init(Box::default).keep(bucket, trace, seconds);
        }
    }

    /// Returns the exemplars by bucket; `None` if no message had a trace.
    pub(crate) fn exemplars(&self) -> Option<[Option<DurationExemplar>; BUCKETS]> {
        self.0.exemplars.get().map(|slots| slots.read())
    }

    /// Returns the counts by bucket.
    pub(crate) fn counts(&self) -> [u64; BUCKETS] {
        self.0.buckets.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl TypedMetric for DurationHistogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for DurationHistogram {
    #[expect(clippy::cast_precision_loss, reason = "a sum of durations is no exact number")]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let counts = self.counts();
        let bounds = DURATION_BUCKETS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let seconds = self.0.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        encoder.encode_histogram::<NoLabelSet>(seconds, counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn exposition_equals_that_of_client_library() {
        let (own, other) = (DurationHistogram::default(), Histogram::new(DURATION_BUCKETS));
        for seconds in [0.0, 0.125, 0.25, 1.5, 30.0, 64.0] {
            own.observe(seconds, None);
            other.observe(seconds);
        }
        let mut pages = [String::new(), String::new()];
        let mut registries = [Registry::default(), Registry::default()];
        registries[0].register("message_duration_seconds", "Time", own.clone());
        registries[1].register("message_duration_seconds", "Time", other);
        for (page, registry) in pages.iter_mut().zip(&registries) {
            encode(page, registry).unwrap();
        }
        assert_eq!(pages[0], pages[1]);
        assert_eq!(own.counts().iter().sum::<u64>(), 6);
        assert_eq!(own.counts()[BUCKETS - 1], 1);
    }

    #[test]
    fn bucket_keeps_its_last_traced_message() {
        let durations = DurationHistogram::default();
        durations.observe(0.3, None);
        assert_eq!(durations.exemplars(), None);
        let traced = |id| TraceIds::new(Some([id; 16]), None);
        durations.observe(0.3, traced(1));
        durations.observe(0.4, traced(2));
        durations.observe(90.0, traced(3));
        durations.observe(0.4, None);
        let exemplars = durations.exemplars().unwrap();
        let kept: Vec<_> =
            exemplars.iter().enumerate().filter_map(|(at, kept)| Some((at, (*kept)?))).collect();
        let kept: Vec<_> =
            kept.iter().map(|(bucket, kept)| (*bucket, kept.trace.exported, kept.seconds)).collect();
        assert_eq!(kept, [(9, Some([2; 16]), 0.4), (BUCKETS - 1, Some([3; 16]), 90.0)]);
        assert_eq!(TraceIds::new(None, None), None);
    }
}
