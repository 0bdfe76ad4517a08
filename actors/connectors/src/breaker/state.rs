//! The pure state of one breaker: no clock, no lock.

use std::time::Duration;

use tokio::time::Instant;

/// The result of a call, as far as its breaker is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallVerdict {
    /// The call succeeded.
    Success,
    /// A failure of the backend.
    Failure,
    /// A refusal by a healthy backend: it counts as no failure, and closes a breaker that is half open.
    Answered,
    /// A result that says nothing about the backend.
    Neutral,
}

/// The state of a breaker, as operators see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Admits every call.
    Closed,
    /// Rejects every call until the recovery time is over.
    Open,
    /// Admits one call at a time, whose result decides.
    HalfOpen,
}

impl BreakerState {
    /// Returns the name that answers show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The call is admitted: the breaker is closed.
    Free,
    /// The call is admitted alone as a trial, whose result decides.
    Probe,
    /// The call is rejected.
    Refused,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed { failures: u32 },
    Open { since: Instant },
    HalfOpen { probing: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Breaker(Phase);

impl Default for Breaker {
    fn default() -> Self {
        Self(Phase::Closed { failures: 0 })
    }
}

impl Breaker {
    pub(super) fn state(&self) -> BreakerState {
        match self.0 {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    pub(super) fn admit(&mut self, now: Instant, recovery: Duration) -> Admission {
        match self.0 {
            Phase::Closed { .. } => Admission::Free,
            Phase::Open { since } if now.duration_since(since) < recovery => Admission::Refused,
            Phase::HalfOpen { probing: true } => Admission::Refused,
            Phase::Open { .. } | Phase::HalfOpen { probing: false } => {
                self.0 = Phase::HalfOpen { probing: true };
                Admission::Probe
            }
        }
    }

    /// Records the result of a call; returns `true` if it opened the breaker. A call that was admitted before
    /// the breaker opened changes nothing.
    pub(super) fn record(
        &mut self,
        verdict: CallVerdict,
        is_probe: bool,
        now: Instant,
        threshold: u32,
    ) -> bool {
        let (next, opens) = match (self.0, verdict) {
            (Phase::Closed { .. }, CallVerdict::Success) => (Phase::Closed { failures: 0 }, false),
            (Phase::Closed { failures }, CallVerdict::Failure) if failures + 1 >= threshold => {
                (Phase::Open { since: now }, true)
            }
            (Phase::Closed { failures }, CallVerdict::Failure) => {
                (Phase::Closed { failures: failures + 1 }, false)
            }
            (Phase::HalfOpen { .. }, CallVerdict::Success | CallVerdict::Answered) if is_probe => {
                (Phase::Closed { failures: 0 }, false)
            }
            (Phase::HalfOpen { .. }, CallVerdict::Failure) if is_probe => (Phase::Open { since: now }, true),
            (Phase::HalfOpen { .. }, CallVerdict::Neutral) if is_probe => {
                (Phase::HalfOpen { probing: false }, false)
            }
            (same, _) => (same, false),
        };
        self.0 = next;
        opens
    }
}
