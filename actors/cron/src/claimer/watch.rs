//! Watches a run whose start is recorded.

use std::time::Duration;

use futures_util::future::AbortHandle;
use svc_channels::{ScheduledRunOutcome, ScheduledRunResult};
use svc_ledger::HeldSlot;
use tokio::time::{Instant, timeout};

use super::attempt::CronAttempt;
use super::lease::{ClaimLease, LeaseLoss};

/// Time in which a cancelled run must confirm that it has stopped.
const ABORT_GRACE: Duration = Duration::from_secs(2);

/// The end of an attempt.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// The run ended by itself.
    Ended(ScheduledRunResult),
    /// The run was cancelled because the node stops; nothing of it continues.
    CalledOff,
    /// The claim was lost first, or the run did not stop in time: nothing may be written about it.
    Lost(Option<LeaseLoss>),
}

impl CronAttempt {
    /// Waits for a run and renews its lease meanwhile.
    pub(super) async fn watch(
        &self,
        run: impl Future<Output = ScheduledRunResult>,
        abort: AbortHandle,
        slot: Option<&HeldSlot>,
        begun: Instant,
    ) -> AttemptEnd {
        tokio::pin!(run);
        let lease = ClaimLease::new(&self.shared, &self.claim.key, slot, begun);
        tokio::select! {
            biased;
            // Looked at first: a process that was stopped and wakes up has lost its claim, whatever else is
            // ready.
            lost = lease.hold() => {
                abort.abort();
                AttemptEnd::Lost(Some(lost))
            }
            result = &mut run => {
                if lease.is_over() { AttemptEnd::Lost(Some(LeaseLoss::Fenced)) } else { AttemptEnd::Ended(result) }
            }
            () = self.attempts.wait_until_ending() => {
                abort.abort();
                match timeout(ABORT_GRACE, run).await {
                    Ok(ScheduledRunResult { outcome: ScheduledRunOutcome::Aborted, .. }) => AttemptEnd::CalledOff,
                    Ok(result) => AttemptEnd::Ended(result),
                    Err(_) => AttemptEnd::Lost(None),
                }
            }
        }
    }
}
