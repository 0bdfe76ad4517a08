//! A histogram of durations whose buckets can be read, which those of the client library cannot.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use svc_model::DURATION_BUCKETS;

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
}

impl DurationHistogram {
    /// Counts a duration in seconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest number of the range"
    )]
    pub(crate) fn observe(&self, seconds: f64) {
        let bucket = DURATION_BUCKETS.iter().position(|bound| seconds <= *bound);
        if let Some(count) = self.0.buckets.get(bucket.unwrap_or(DURATION_BUCKETS.len())) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.0.nanoseconds.fetch_add((seconds * 1e9) as u64, Ordering::Relaxed);
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
            own.observe(seconds);
            other.observe(seconds);
        }
        let mut pages = [String::new(), String::new()];
        let mut registries = [Registry::default(), Registry::default()];
        registries[0].register("took", "Time", own.clone());
        registries[1].register("took", "Time", other);
        for (page, registry) in pages.iter_mut().zip(&registries) {
            encode(page, registry).unwrap();
        }
        assert_eq!(pages[0], pages[1]);
        assert_eq!(own.counts().iter().sum::<u64>(), 6);
        assert_eq!(own.counts()[BUCKETS - 1], 1);
    }
}
