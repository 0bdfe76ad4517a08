//! A seeded source of random numbers, so that a simulation is the same every time.

use std::time::Duration;

/// SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// Returns a time between `from` and `to`.
    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let share = self.next_u64() as f64 / u64::MAX as f64;
        from + (to - from).mul_f64(share)
    }

    /// Returns true once in `count` times.
    pub(super) const fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
