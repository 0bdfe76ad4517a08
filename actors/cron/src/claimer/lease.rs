//! A claim held for as long as its run takes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slog::warn;
use svc_ledger::{ClaimKey, HeldSlot, fence};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::desk::Desk;

/// Why a claim is no longer ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The ledger says so.
    Taken,
    /// No renewal succeeded for so long that somebody may have taken it.
    Fenced,
}

/// When a lease is renewed and when it counts as lost; pure.
#[derive(Clone, Copy, Debug)]
struct Beats {
    heartbeat: Duration,
    fence: Duration,
    /// When the latest renewal that succeeded was sent.
    renewed: Instant,
}

impl Beats {
    fn new(lease: Duration, heartbeat: Duration, begun: Instant) -> Self {
        Self { heartbeat, fence: fence(lease, heartbeat), renewed: begun }
    }

    /// When it counts as lost, unless it is renewed.
    fn end(self) -> Instant {
        self.renewed + self.fence
    }

    /// What follows a renewal that was sent then: the next one, or the end.
    fn next(self, sent: Instant) -> Instant {
        (sent + self.heartbeat).min(self.end())
    }
}

/// Holds the lease of a run.
pub(super) struct Lease<'d> {
    desk: &'d Desk,
    key: &'d ClaimKey,
    slot: Option<&'d HeldSlot>,
    beats: Mutex<Beats>,
}

impl<'d> Lease<'d> {
    /// `begun` is when the start of the run was sent, which is the first renewal.
    pub(super) fn new(desk: &'d Desk, key: &'d ClaimKey, slot: Option<&'d HeldSlot>, begun: Instant) -> Self {
        let beats = Beats::new(desk.settings.lease, desk.settings.heartbeat, begun);
        Self { desk, key, slot, beats: Mutex::new(beats) }
    }

    /// Whether it is lost by now, whatever timers have told of it: those of a process that was stopped are late.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.beats().end()
    }

    fn beats(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews it, at once and then at every beat, until it is lost. One renewal is under way at a time; one that fails
    /// is tried again at the next beat.
    pub(super) async fn hold(&self) -> Lost {
        loop {
            let (sent, mut beats) = (Instant::now(), *self.beats());
            if self.is_over() {
                return Lost::Fenced;
            }
            let renewal = self.desk.ledger.renew(self.key, self.slot, self.desk.settings.lease);
            match timeout_at(beats.end(), renewal).await {
                Ok(Ok(true)) => {
                    beats.renewed = sent;
                    *self.beats() = beats;
                }
                Ok(Ok(false)) => return Lost::Taken,
                Ok(Err(error)) => {
                    self.desk.metrics.renewal_failures.inc();
                    warn!(self.desk.log, "a lease was not renewed";
                        "occurrence" => %self.key.id, "error" => %error);
                }
                Err(_) => {
                    self.desk.metrics.renewal_failures.inc();
                    return Lost::Fenced;
                }
            }
            sleep_until(beats.next(sent)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_lost_before_the_lease_ends_counted_from_the_last_renewal_that_was_sent() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut beats = Beats::new(Duration::from_secs(60), Duration::from_secs(15), begun);
        assert_eq!((beats.next(begun), beats.end()), (at(15), at(45)));
        // Three beats fail.
        assert_eq!([at(15), at(30), at(45)].map(|sent| beats.next(sent)), [at(30), at(45), at(45)]);
        beats.renewed = at(30);
        assert_eq!((beats.next(at(30)), beats.end()), (at(45), at(75)));
    }
}
