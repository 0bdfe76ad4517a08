//! The batches in which a queue is exported.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Items of one batch at most, the default of the specification of OpenTelemetry.
const BATCH: usize = 512;
/// Longest time that an item waits for others. The specification has 5 s; an operator who looks at what is exported should
/// not wait for it.
const DELAY: Duration = Duration::from_secs(1);

/// Waits for the next batch of a queue: until it is full, or its first item has waited for a second, or `stop` becomes true.
/// Then `at_stop` is called, the queue takes nothing more, and its rest comes in batches. Returns `None`
/// once the queue is closed and empty.
pub async fn next_batch<T>(
    receiver: &mut mpsc::Receiver<T>,
    stop: &mut watch::Receiver<bool>,
    at_stop: impl FnOnce(),
) -> Option<Vec<T>> {
    let mut batch = Vec::new();
    {
        let collected = async {
            if receiver.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let full = async {
                while let Some(room) = BATCH.checked_sub(batch.len()).filter(|room| *room > 0) {
                    if receiver.recv_many(&mut batch, room).await == 0 {
                        return;
                    }
                }
            };
            let _ = timeout(DELAY, full).await;
        };
        tokio::select! {
            biased;
            // A sender that is gone means the same.
            _ = stop.wait_for(|is_stopped| *is_stopped) => {}
            () = collected => return Some(batch).filter(|batch| !batch.is_empty()),
        }
    }
    at_stop();
    receiver.close();
    let room = BATCH.saturating_sub(batch.len());
    if room > 0 {
        receiver.recv_many(&mut batch, room).await;
    }
    Some(batch).filter(|batch| !batch.is_empty())
}
