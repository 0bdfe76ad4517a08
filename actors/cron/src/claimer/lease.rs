//! The lease of a claim, renewed while its attempt runs.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use slog::warn;
use svc_ledger::{ClaimKey, HeldSlot, lease_fence};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::shared::CronShared;

/// The reason why a claim is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseLoss {
    /// The ledger refused the renewal: another worker has it.
    Taken,
    /// No renewal succeeded before the fence: another worker may have it.
    Fenced,
}

/// The times of renewal and loss of a lease; pure.
#[derive(Clone, Copy, Debug)]
struct LeaseTimer {
    heartbeat: Duration,
    fence: Duration,
    /// Instant at which the latest successful renewal was sent.
    renewed: Instant,
}

impl LeaseTimer {
    fn new(lease: Duration, heartbeat: Duration, begun: Instant) -> Self {
        Self { heartbeat, fence: lease_fence(lease, heartbeat), renewed: begun }
    }

    /// Returns the instant at which the lease counts as lost, unless it is renewed.
    fn end(self) -> Instant {
        self.renewed + self.fence
    }

    /// Returns the instant of the next renewal after one that was sent at `sent`, at most the end of the
    /// lease.
    fn next_renewal(self, sent: Instant) -> Instant {
        (sent + self.heartbeat).min(self.end())
    }
}

/// The lease of one attempt.
pub(super) struct ClaimLease<'d> {
    shared: &'d CronShared,
    key: &'d ClaimKey,
    slot: Option<&'d HeldSlot>,
    timer: Mutex<LeaseTimer>,
}

impl<'d> ClaimLease<'d> {
    /// Creates the lease of an attempt whose start, the first renewal, was sent at `begun`.
    pub(super) fn new(
        shared: &'d CronShared,
        key: &'d ClaimKey,
        slot: Option<&'d HeldSlot>,
        begun: Instant,
    ) -> Self {
        let timer = LeaseTimer::new(shared.settings.lease, shared.settings.heartbeat, begun);
        Self { shared, key, slot, timer: Mutex::new(timer) }
    }

    /// Returns true if the lease is lost by now. Timers of a process that was stopped are late and not to be
    /// trusted.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.timer().end()
    }

    fn timer(&self) -> MutexGuard<'_, LeaseTimer> {
        self.timer.lock()
    }

    /// Renews the lease at every heartbeat until it is lost. The start of the attempt was the first renewal,
    /// so the next one follows a heartbeat later. One renewal is under way at a time; one that fails is tried
    /// again at the next heartbeat.
    pub(super) async fn hold(&self) -> LeaseLoss {
        let mut sent = self.timer().renewed;
        loop {
            let mut timer = *self.timer();
            sleep_until(timer.next_renewal(sent)).await;
            if self.is_over() {
                return LeaseLoss::Fenced;
            }
            sent = Instant::now();
            let renewal = self.shared.ledger.renew(self.key, self.slot, self.shared.settings.lease);
            match timeout_at(timer.end(), renewal).await {
                Ok(Ok(true)) => {
                    timer.renewed = sent;
                    *self.timer() = timer;
                }
                Ok(Ok(false)) => return LeaseLoss::Taken,
                Ok(Err(error)) => {
                    self.shared.metrics.renewal_failures.inc();
                    warn!(self.shared.log, "lease renewal failed";
                        "occurrence" => %self.key.id, "error" => %error);
                }
                Err(_) => {
                    self.shared.metrics.renewal_failures.inc();
                    return LeaseLoss::Fenced;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_is_lost_before_its_lease_ends() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut timer = LeaseTimer::new(Duration::from_secs(60), Duration::from_secs(15), begun);
        assert_eq!((timer.next_renewal(begun), timer.end()), (at(15), at(45)));
        // Three renewals fail.
        assert_eq!([at(15), at(30), at(45)].map(|sent| timer.next_renewal(sent)), [at(30), at(45), at(45)]);
        timer.renewed = at(30);
        assert_eq!((timer.next_renewal(at(30)), timer.end()), (at(45), at(75)));
    }
}
