//! The end of records: traces stored side by side, offsets reported in order.
//!
//! A record is taken over once there is a share for its trace. Meanwhile the worker begins nothing new, and has
//! given the turn of its partition back. Records that have nothing to store are accounted for many at a time.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, FuturesOrdered};
use futures_util::{FutureExt, StreamExt};
use svc_channels::RecordSettlement;
use svc_model::Code;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::sleep;

use super::handle::{PartitionHandle, WorkerStage};
use super::trace_shares::TraceShares;

/// Delay before a trace is stored again that the database did not take.
const STORE_AGAIN: Duration = Duration::from_secs(1);

/// A record whose attempts are over.
pub(super) struct FinishedRecord {
    pub(super) offset: i64,
    pub(super) settlement: Option<RecordSettlement>,
}

impl FinishedRecord {
    fn has_to_store(&self) -> bool {
        self.settlement.as_ref().is_some_and(RecordSettlement::has_to_store)
    }
}

/// A step in the settlement of finished records.
enum SettlementStep {
    /// The records up to this offset are accounted for.
    Done(i64),
    /// A record has something to store, and a share for its trace if it has one.
    Store(Box<FinishedRecord>, Option<OwnedSemaphorePermit>),
}

/// Accounts for finished records until there are no more, or the partition is given up.
pub(super) async fn settle_records(
    handle: Arc<PartitionHandle>,
    shares: &TraceShares,
    finished: mpsc::Receiver<FinishedRecord>,
) {
    let mut steps = pin!(stream::unfold((finished, None), |(mut finished, mut next)| async move {
        let step = next_step(&mut finished, &mut next, shares).await?;
        Some((step, (finished, next)))
    }));
    let mut settling = FuturesOrdered::new();
    let mut is_open = true;
    let mut ending = pin!(handle.wait_for(WorkerStage::Ending));
    while is_open || !settling.is_empty() {
        tokio::select! {
            biased;
            () = &mut ending => return,
            Some(mut offset) = settling.next() => {
                while let Some(Some(next)) = settling.next().now_or_never() {
                    offset = next;
                }
                handle.settle(offset);
            }
            step = steps.next(), if is_open => match step {
                Some(step) => settling.push_back(settle(step)),
                None => is_open = false,
            },
        }
    }
}

/// Accounts for the records at hand that have nothing to store, up to one that does, which is left in `next`; or
/// waits for the share of such a one.
async fn next_step(
    finished: &mut mpsc::Receiver<FinishedRecord>,
    next: &mut Option<FinishedRecord>,
    shares: &TraceShares,
) -> Option<SettlementStep> {
    if next.is_none() {
        *next = finished.recv().await;
    }
    let mut done = None;
    while let Some(record) = next.take_if(|record| !record.has_to_store()) {
        if let Some(settlement) = &record.settlement {
            settlement.count();
        }
        done = Some(record.offset);
        *next = finished.try_recv().ok();
    }
    if let Some(offset) = done {
        return Some(SettlementStep::Done(offset));
    }
    let record = next.take()?;
    let share = match record.settlement.as_ref().and_then(RecordSettlement::trace_bytes) {
        Some(bytes) => shares.acquire(bytes).await,
        None => None,
    };
    Some(SettlementStep::Store(Box::new(record), share))
}

/// Stores the trace of a record, waiting for a database that is away, and settles its idempotency key. Returns the
/// offset that is done then.
async fn settle(step: SettlementStep) -> i64 {
    let (record, share) = match step {
        SettlementStep::Done(offset) => return offset,
        SettlementStep::Store(record, share) => (record, share),
    };
    if let Some(mut settlement) = record.settlement {
        while let Err(error) = settlement.store_trace().await {
            if error.code() != Code::ServiceUnavailable {
                break;
            }
            sleep(STORE_AGAIN).await;
        }
        settlement.count();
        settlement.confirm().await;
    }
    drop(share);
    record.offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn records_with_nothing_to_store_are_done_together() {
        let (sender, mut finished) = mpsc::channel(8);
        for offset in 3..6 {
            sender.send(FinishedRecord { offset, settlement: None }).await.unwrap();
        }
        drop(sender);
        let (mut next, shares) = (None, TraceShares::default());
        let step = next_step(&mut finished, &mut next, &shares).await;
        assert!(matches!(step, Some(SettlementStep::Done(5))));
        assert!(next_step(&mut finished, &mut next, &shares).await.is_none());
    }
}
