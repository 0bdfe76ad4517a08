//! Shares of the traces that a node stores at the same time: a bound on their memory, over all partitions.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of shares: as many as a transaction has rows. A partition that has them all keeps no more from the
/// others than one transaction takes.
const SHARES: u32 = 1024;
/// Bytes of a trace for each share beyond its first, so that all traces have at most 128 MiB.
const SHARE_BYTES: usize = 64 * 1024;

/// The shares that are free.
pub(crate) struct TraceShares(Arc<Semaphore>);

impl TraceShares {
    /// Waits until a trace of so many bytes may be stored in addition to those of all partitions. Who waits longest
    /// comes first.
    pub(super) async fn acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        // They are never closed.
        Arc::clone(&self.0).acquire_many_owned(shares_for(bytes)).await.ok()
    }
}

impl Default for TraceShares {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SHARES as usize)))
    }
}

/// Returns the shares of a trace. One that is larger than all of them together takes them all.
fn shares_for(bytes: usize) -> u32 {
    u32::try_from(1 + bytes / SHARE_BYTES).unwrap_or(SHARES).min(SHARES)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn large_trace_takes_shares_by_its_size() {
        let cases =
            [(0, 1), (65_535, 1), (65_536, 2), (10 << 20, 161), (1 << 30, SHARES), (usize::MAX, SHARES)];
        for (bytes, expected) in cases {
            assert_eq!(shares_for(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn traces_of_all_partitions_are_bounded_together() {
        let shares = TraceShares::default();
        let acquire = |bytes| shares.acquire(bytes).now_or_never().flatten();
        let large: Vec<_> = (0..6).map(|_| acquire(10 << 20).unwrap()).collect();
        assert!(acquire(10 << 20).is_none(), "7 × 161 shares are more than there are");
        let small: Vec<_> = (0..58).map(|_| acquire(0).unwrap()).collect();
        assert!(acquire(0).is_none());
        drop(large);
        assert!(acquire(10 << 20).is_some());
        drop(small);
        assert!(acquire(usize::MAX).is_some());
    }

    #[test]
    fn trace_that_waits_for_many_shares_is_not_overtaken() {
        let shares = TraceShares::default();
        let one = shares.acquire(0).now_or_never().flatten();
        let mut all = Box::pin(shares.acquire(usize::MAX));
        assert!(one.is_some() && all.as_mut().now_or_never().is_none());
        assert!(shares.acquire(0).now_or_never().is_none());
        drop(one);
        assert!(all.now_or_never().flatten().is_some());
    }
}
