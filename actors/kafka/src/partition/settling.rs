//! The end of records: traces stored side by side, offsets reported in order.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use svc_channels::RecordSettlement;
use svc_model::Code;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::sleep;

use super::handle::{PartitionHandle, WorkerStage};

/// Delay before a trace is stored again that the database did not take.
const STORE_AGAIN: Duration = Duration::from_secs(1);

/// A record whose attempts are over.
pub(super) struct FinishedRecord {
    pub(super) offset: i64,
    pub(super) settlement: Option<RecordSettlement>,
    /// Its share of what a node stores at the same time; `None` where nothing is to be stored.
    pub(super) share: Option<OwnedSemaphorePermit>,
}

impl FinishedRecord {
    pub(super) fn new(offset: i64, settlement: Option<RecordSettlement>) -> Self {
        Self { offset, settlement, share: None }
    }
}

/// Accounts for finished records until there are no more, or the partition is given up.
pub(super) async fn settle_records(
    handle: Arc<PartitionHandle>,
    mut finished: mpsc::Receiver<FinishedRecord>,
) {
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
            next = finished.recv(), if is_open => match next {
                Some(record) => settling.push_back(settle(record)),
                None => is_open = false,
            },
        }
    }
}

/// Stores the trace of a record, waiting for a database that is away, and settles its idempotency key.
async fn settle(record: FinishedRecord) -> i64 {
    if let Some(mut settlement) = record.settlement {
        while let Err(error) = settlement.store_trace().await {
            if error.code() != Code::ServiceUnavailable {
                break;
            }
            sleep(STORE_AGAIN).await;
        }
        settlement.confirm().await;
    }
    drop(record.share);
    record.offset
}
