//! Shares of the traces that a node stores at the same time: a bound on their memory, over all partitions.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::handle::{PartitionHandle, WorkerStage};

/// Number of shares: as many as a transaction has rows. A partition that has them all keeps no more from the
/// others than one transaction takes.
const SHARES: u32 = 1024;
/// Bytes of a trace for each share beyond its first, so that all traces have at most 128 MiB.
const SHARE_BYTES: usize = 64 * 1024;

/// The shares that are free.
pub(crate) struct TraceShares(Arc<Semaphore>);

impl TraceShares {
    /// Waits until a trace of so many bytes may be stored beside those of all partitions. Who waits longest
    /// comes first. Returns `None` if the partition is given up meanwhile.
    pub(super) async fn acquire(
        &self,
        bytes: usize,
        handle: &PartitionHandle,
    ) -> Option<OwnedSemaphorePermit> {
        let shares = shares_for(bytes);
        if let Ok(share) = Arc::clone(&self.0).try_acquire_many_owned(shares) {
            return Some(share);
        }
        tokio::select! {
            biased;
            () = handle.wait_for(WorkerStage::Ending) => None,
            share = Arc::clone(&self.0).acquire_many_owned(shares) => share.ok(),
        }
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
    use std::time::Duration;

    use futures_util::FutureExt;
    use tokio::sync::mpsc;

    use super::*;
    use crate::partition::RetryBudget;

    fn partition() -> PartitionHandle {
        let budget = RetryBudget::new(Duration::from_secs(300), Duration::from_secs(60));
        let (orders, _) = mpsc::unbounded_channel();
        PartitionHandle::new(("orders".into(), 0), "svc".into(), budget, 1024, orders)
    }

    #[test]
    fn large_trace_takes_a_share_for_each_64_kib_and_at_most_all() {
        let cases =
            [(0, 1), (65_535, 1), (65_536, 2), (10 << 20, 161), (1 << 30, SHARES), (usize::MAX, SHARES)];
        for (bytes, expected) in cases {
            assert_eq!(shares_for(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn traces_of_all_partitions_are_bounded_together() {
        let (shares, one, other) = (TraceShares::default(), partition(), partition());
        let acquire = |bytes, handle| shares.acquire(bytes, handle).now_or_never().flatten();
        let large: Vec<_> = (0..6).map(|_| acquire(10 << 20, &one).unwrap()).collect();
        assert!(acquire(10 << 20, &other).is_none(), "7 × 161 shares are more than there are");
        let small: Vec<_> = (0..58).map(|_| acquire(0, &other).unwrap()).collect();
        assert!(acquire(0, &one).is_none());
        drop(large);
        assert!(acquire(10 << 20, &one).is_some());
        drop(small);
        assert!(acquire(usize::MAX, &one).is_some());
    }

    #[test]
    fn partition_that_is_given_up_waits_for_no_share() {
        let (shares, one, other) = (TraceShares::default(), partition(), partition());
        let all = shares.acquire(usize::MAX, &one).now_or_never().flatten();
        let mut waiting = Box::pin(shares.acquire(0, &other));
        assert!(all.is_some() && waiting.as_mut().now_or_never().is_none());
        other.advance(WorkerStage::Ending);
        assert!(waiting.now_or_never().unwrap().is_none());
    }
}
