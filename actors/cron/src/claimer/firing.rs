//! A run, once it is on record that it began.

use std::time::Duration;

use futures_util::future::AbortHandle;
use svc_channels::{ScheduledRunOutcome, ScheduledRunResult};
use svc_ledger::HeldSlot;
use tokio::time::{Instant, timeout};

use super::lease::{Lease, Lost};
use super::run::Attempt;

/// How long a run that is called off may take to say that nothing of it goes on.
const LET_GO: Duration = Duration::from_secs(2);

/// How a run came to its end.
#[derive(Debug)]
pub(super) enum Over {
    /// By itself.
    Ended(ScheduledRunResult),
    /// It was called off, because the node ends; nothing of it goes on.
    CalledOff,
    /// Its claim was lost first, or it cannot be called off: nothing may be written about it.
    Lost(Option<Lost>),
}

impl Attempt {
    /// Waits for a run while its lease is renewed.
    pub(super) async fn watch(
        &self,
        run: impl Future<Output = ScheduledRunResult>,
        abort: AbortHandle,
        slot: Option<&HeldSlot>,
        begun: Instant,
    ) -> Over {
        tokio::pin!(run);
        let lease = Lease::new(&self.desk, &self.claim.key, slot, begun);
        tokio::select! {
            biased;
            // Looked at first: a process that was stopped and wakes up has lost its claim, whatever else is ready.
            lost = lease.hold() => {
                abort.abort();
                Over::Lost(Some(lost))
            }
            fired = &mut run => {
                if lease.is_over() { Over::Lost(Some(Lost::Fenced)) } else { Over::Ended(fired) }
            }
            () = self.runs.ending() => {
                abort.abort();
                match timeout(LET_GO, run).await {
                    Ok(ScheduledRunResult { outcome: ScheduledRunOutcome::Aborted, .. }) => Over::CalledOff,
                    Ok(fired) => Over::Ended(fired),
                    Err(_) => Over::Lost(None),
                }
            }
        }
    }
}
