//! The room of one row among those that wait.

use std::sync::Arc;

use svc_model::ServiceError;
use svc_store::{TraceRepository, WaitReason};

use super::tally::WaitingTally;

/// The room of a row that waits, which dropping it gives back.
pub struct ReservedRoom {
    tally: Arc<WaitingTally>,
    channel: String,
    reason: WaitReason,
}

impl ReservedRoom {
    /// Takes room for one more row of a channel, of which at most `most` may wait; `None` if there is none.
    pub(crate) async fn take(
        tally: &Arc<WaitingTally>,
        store: &TraceRepository,
        (channel, reason): (&str, WaitReason),
        most: u64,
    ) -> Option<Self> {
        let is_taken = tally.reserve(store, (channel, reason), most).await;
        is_taken.then(|| Self { tally: Arc::clone(tally), channel: channel.to_owned(), reason })
    }

    /// Counts the row, which is written.
    pub fn confirm(&self) {
        self.tally.add(&self.channel, self.reason);
        self.tally.announce(self.reason);
    }
}

impl Drop for ReservedRoom {
    fn drop(&mut self) {
        self.tally.release(&self.channel, self.reason);
    }
}

/// Returns the refusal of a row for which there is no room.
pub(crate) fn no_room() -> ServiceError {
    ServiceError::at_capacity("As much work waits as may wait")
}
