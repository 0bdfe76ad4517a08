//! One breaker: no clock, no lock.

use std::time::Duration;

use tokio::time::Instant;

use super::Verdict;

/// What a breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything.
    Closed,
    /// Nothing, until the recovery time is over.
    Open,
    /// One call at a time, which decides.
    HalfOpen,
}

impl BreakerState {
    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It goes, as all do.
    Free,
    /// It goes, alone, and decides.
    Probe,
    /// It does not.
    Refused,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed { failures: u32 },
    Open { since: Instant },
    HalfOpen { probing: bool },
}

/// A breaker.
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

    /// Takes the end of a call in; `true` if it opened the breaker. A call from before the breaker opened decides nothing.
    pub(super) fn ended(&mut self, verdict: Verdict, probe: bool, now: Instant, threshold: u32) -> bool {
        let (next, opens) = match (self.0, verdict) {
            (Phase::Closed { .. }, Verdict::Success) => (Phase::Closed { failures: 0 }, false),
            (Phase::Closed { failures }, Verdict::Failure) if failures + 1 >= threshold => {
                (Phase::Open { since: now }, true)
            }
            (Phase::Closed { failures }, Verdict::Failure) => {
                (Phase::Closed { failures: failures + 1 }, false)
            }
            (Phase::HalfOpen { .. }, Verdict::Success | Verdict::Answered) if probe => {
                (Phase::Closed { failures: 0 }, false)
            }
            (Phase::HalfOpen { .. }, Verdict::Failure) if probe => (Phase::Open { since: now }, true),
            (Phase::HalfOpen { .. }, Verdict::Neutral) if probe => {
                (Phase::HalfOpen { probing: false }, false)
            }
            (same, _) => (same, false),
        };
        self.0 = next;
        opens
    }
}
