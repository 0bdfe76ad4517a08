//! Watches a run whose start is recorded.

use std::time::Duration;

use futures_util::future::AbortHandle;
use svc_channels::{ScheduledRunOutcome, ScheduledRunResult};
use svc_ledger::HeldSlot;
use svc_model::Cancellation as _;
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
    /// The occurrence was cancelled; nothing of the run continues.
    Cancelled,
    /// The claim was lost first, or the run did not stop in time: nothing may be written about it.
    Lost(Option<LeaseLoss>),
}

impl CronAttempt {
    /// Waits for a run and renews its lease meanwhile. A run that is cancelled is dropped at its current step, and keeps its
    /// claim until no part of it runs any more.
    pub(super) async fn watch(
        &self,
        run: impl Future<Output = ScheduledRunResult>,
        abort: AbortHandle,
        slot: Option<&HeldSlot>,
        begun: Instant,
    ) -> AttemptEnd {
        tokio::pin!(run);
        let lease = ClaimLease::new(&self.shared, &self.claim.key, slot, begun);
        let hold = lease.hold();
        tokio::pin!(hold);
        loop {
            tokio::select! {
                biased;
                // Looked at first: a process that was stopped and wakes up has lost its claim, whatever else is
                // ready.
                lost = &mut hold => {
                    abort.abort();
                    return AttemptEnd::Lost(Some(lost));
                }
                result = &mut run => return match result.outcome {
                    _ if lease.is_over() => AttemptEnd::Lost(Some(LeaseLoss::Fenced)),
                    ScheduledRunOutcome::Aborted if self.cancellation.is_requested() => AttemptEnd::Cancelled,
                    _ => AttemptEnd::Ended(result),
                },
                () = self.cancellation.wait(), if !abort.is_aborted() => abort.abort(),
                () = self.attempts.wait_until_ending() => {
                    abort.abort();
                    return match timeout(ABORT_GRACE, run).await {
                        Ok(ScheduledRunResult { outcome: ScheduledRunOutcome::Aborted, .. }) => AttemptEnd::CalledOff,
                        Ok(result) => AttemptEnd::Ended(result),
                        Err(_) => AttemptEnd::Lost(None),
                    };
                }
            }
        }
    }
}
