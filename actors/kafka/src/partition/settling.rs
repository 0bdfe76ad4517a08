//! The end of records: traces stored side by side, offsets reported in order.
//!
//! A record is taken over once there is a share for its trace. Meanwhile the worker begins nothing new, and has
//! given the turn of its partition back.

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

/// Accounts for finished records until there are no more, or the partition is given up.
pub(super) async fn settle_records(
    handle: Arc<PartitionHandle>,
    shares: &TraceShares,
    finished: mpsc::Receiver<FinishedRecord>,
) {
    let mut finished = pin!(stream::unfold(finished, |mut finished| async move {
        let record = finished.recv().await?;
        let share = acquire_share(shares, &record).await;
        Some(((record, share), finished))
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
            next = finished.next(), if is_open => match next {
                Some((record, share)) => settling.push_back(settle(record, share)),
                None => is_open = false,
            },
        }
    }
}

/// Waits until the trace of a record may be stored; `None` if it has none.
async fn acquire_share(shares: &TraceShares, record: &FinishedRecord) -> Option<OwnedSemaphorePermit> {
    shares.acquire(record.settlement.as_ref()?.trace_bytes()?).await
}

/// Stores the trace of a record, waiting for a database that is away, and settles its idempotency key.
async fn settle(record: FinishedRecord, share: Option<OwnedSemaphorePermit>) -> i64 {
    if let Some(mut settlement) = record.settlement {
        while let Err(error) = settlement.store_trace().await {
            if error.code() != Code::ServiceUnavailable {
                break;
            }
            sleep(STORE_AGAIN).await;
        }
        settlement.confirm().await;
    }
    drop(share);
    record.offset
}
