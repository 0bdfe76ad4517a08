//! The share of requests that leave a line in the log.

use std::sync::atomic::{AtomicU64, Ordering};

/// The share of all requests, as the bound of a random number of 64 bits.
const ALL: u64 = u64::MAX;

/// Decides which requests are logged. Cheap while none is.
#[derive(Debug, Default)]
pub(crate) struct AccessSample {
    bound: AtomicU64,
    count: AtomicU64,
}

impl AccessSample {
    /// Logs a share of the requests, from 0 to 1.
    pub(crate) fn new(share: f64) -> Self {
        let sample = Self::default();
        sample.set_share(share);
        sample
    }

    /// Changes the share.
    pub(crate) fn set_share(&self, share: f64) {
        // A conversion of floats saturates, and a share is no exact number.
        let bound = if share >= 1.0 { ALL } else { (share * ALL as f64) as u64 };
        self.bound.store(bound, Ordering::Relaxed);
    }

    /// Returns `true` for a request that is logged.
    pub(crate) fn takes_next(&self) -> bool {
        match self.bound.load(Ordering::Relaxed) {
            0 => false,
            ALL => true,
            bound => mix(self.count.fetch_add(1, Ordering::Relaxed)) < bound,
        }
    }
}

/// Returns a number that depends on every bit of the count, so that requests that alternate are sampled alike
/// (SplitMix64).
const fn mix(count: u64) -> u64 {
    let mut bits = count.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_taken(share: f64) -> usize {
        let sample = AccessSample::new(share);
        (0..10_000).filter(|_| sample.takes_next()).count()
    }

    #[test]
    fn share_of_requests_is_taken() {
        assert_eq!((count_taken(0.0), count_taken(1.0)), (0, 10_000));
        for (share, expected) in [(0.5, 5_000), (0.1, 1_000), (0.01, 100)] {
            let taken = count_taken(share);
            assert!(taken.abs_diff(expected) < 150, "{share}: {taken}");
        }
    }

    #[test]
    fn alternating_requests_are_sampled_alike() {
        let sample = AccessSample::new(0.5);
        let taken: Vec<_> = (0..10_000).map(|_| sample.takes_next()).collect();
        let even = taken.iter().step_by(2).filter(|taken| **taken).count();
        assert!(even.abs_diff(2_500) < 150, "{even}");
    }
}
