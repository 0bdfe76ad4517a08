//! The supervisor's decision after an exit, as a pure function.
//!
//! [`decide`] reads no clock and does no I/O: the instant, the history and the jitter are given by the
//! caller, so the same arguments always give the same [`Directive`]. The tree's supervisor is the only caller
//! at run time. It carries the directive out and, for a restart, adds it to the [`History`] with
//! [`History::record`].
//!
//! Instants are durations since the tree started.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::backoff::Backoff;
use crate::error::StartError;

#[cfg(test)]
mod tests;

/// The largest restart budget that is counted exactly; it bounds the memory of a [`History`].
const LARGEST_BUDGET: usize = 1024;

/// Limits the restarts of a child: their number, their delay, and the action when they are used up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RestartPolicy {
    /// Restarts allowed inside any window of [`within`](Self::within). 0 allows none; more than 1024 counts
    /// as 1024. A child that is to be retried for ever needs a budget that its backoff cannot use up.
    pub max_restarts: u32,
    /// Length of the sliding window. A child that lives this long after its last restart is quiet again: its
    /// next restart is immediate.
    pub within: Duration,
    /// The delay before a restart.
    pub backoff: Backoff,
    /// The action when the budget is used up.
    pub exhausted: ExhaustedAction,
}

impl Default for RestartPolicy {
    /// Five restarts within 30 s, then quarantine.
    fn default() -> Self {
        Self {
            max_restarts: 5,
            within: Duration::from_secs(30),
            backoff: Backoff::default(),
            exhausted: ExhaustedAction::Quarantine,
        }
    }
}

/// The exits of a child that are followed by a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Every exit, a normal one too: the child is meant to run for ever.
    #[default]
    Permanent,
    /// Abnormal exits only: a normal exit means that its work is done.
    OnFailure,
    /// None.
    Never,
}

/// The action when a restart budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedAction {
    /// The child stays registered but admits no message until its configuration changes or an operator
    /// restarts it.
    #[default]
    Quarantine,
    /// The failure becomes the parent group's.
    Escalate,
    /// The whole tree ends.
    EndTree,
}

/// The end of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "exit", rename_all = "snake_case")]
pub enum Exit {
    /// The instance stopped itself because its work was done.
    Normal,
    /// The instance reported a failure with [`Context::fail`](crate::Context::fail).
    Failed {
        /// The reason it gave.
        reason: String,
    },
    /// It panicked.
    Panicked {
        /// The panic's message.
        message: String,
        /// `file:line:column` of the panic.
        location: Option<String>,
        /// Type name of the message that was being handled.
        handling: Option<&'static str>,
    },
    /// The factory did not build the instance.
    StartFailed(StartError),
    /// The tree ended the instance: it was retired, replaced, shut down, or restarted with a sibling. The
    /// command decides what follows.
    Ordered,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("stopped normally"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
            Self::Panicked { message, location, handling } => {
                f.write_str("panicked")?;
                if let Some(location) = location {
                    write!(f, " at {location}")?;
                }
                if let Some(handling) = handling {
                    write!(f, " while handling {handling}")?;
                }
                write!(f, ": {message}")
            }
            Self::StartFailed(error) => write!(f, "did not start: {error}"),
            Self::Ordered => f.write_str("ended by order"),
        }
    }
}

/// The action of the supervisor after an exit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Directive {
    /// Build a new instance after this delay.
    Restart {
        /// Zero means at once.
        after: Duration,
    },
    /// Admit no message until the configuration changes or an operator restarts the child.
    Quarantine {
        /// Shown to callers and operators.
        reason: String,
    },
    /// Hand the failure to the parent group.
    Escalate {
        /// Shown to operators.
        reason: String,
    },
    /// End the whole tree.
    EndTree {
        /// Shown to operators.
        reason: String,
    },
    /// The child is done.
    Stop,
}

/// The restarts of a child, or of a group with a shared budget, that still count.
///
/// Bounded: it keeps no more restarts than the budget has, and none that has left the window.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Instants of the exits that were answered with a restart, oldest first.
    restarted: VecDeque<Duration>,
    /// Restarts without a quiet period between them.
    streak: u32,
    /// Instant at which the last restart was due; a quiet period starts here.
    due: Duration,
}

impl History {
    /// Records that the exit at `now` was followed by a restart `after` that delay.
    pub fn record(&mut self, policy: &RestartPolicy, now: Duration, after: Duration) {
        self.streak = self.streak_at(policy, now).saturating_add(1);
        self.due = now.saturating_add(after);
        self.restarted.push_back(now);
        let within = self.count(now, policy.within);
        let keep = within.min(budget(policy));
        self.restarted.drain(..self.restarted.len() - keep);
    }

    /// Removes everything, as an operator's restart does.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of restarts inside the window that ends at `now`. One exactly `within` ago is
    /// outside.
    pub fn count(&self, now: Duration, within: Duration) -> usize {
        self.restarted.iter().rev().take_while(|at| now.saturating_sub(**at) < within).count()
    }

    /// Returns the number of consecutive restarts before an exit at `now`.
    fn streak_at(&self, policy: &RestartPolicy, now: Duration) -> u32 {
        let quiet = now.saturating_sub(self.due) >= policy.within;
        if quiet { 0 } else { self.streak }
    }
}

/// Decides what follows the `exit` of a child at the instant `now`.
///
/// In this order:
/// - an exit that a command ordered stops the child; the command decides what follows;
/// - a start that failed with [`StartError::Fatal`] ends the tree, one with [`StartError::Config`]
///   quarantines the child, whatever the budget and the restart mode say;
/// - an exit that `restart` does not cover stops the child;
/// - once the restart budget is used up, the [`ExhaustedAction`] of the policy applies;
/// - otherwise the child restarts, after the delay of the backoff. `jitter` is a random number that varies
///   the delay.
///
/// ```
/// use std::time::Duration;
///
/// use actix_supervision::{Directive, Exit, History, Restart, RestartPolicy, decide};
///
/// let policy = RestartPolicy { max_restarts: 1, ..RestartPolicy::default() };
/// let mut history = History::default();
/// let exit = Exit::Failed { reason: "no connection".to_owned() };
/// let now = Duration::from_secs(10);
///
/// let first = decide(&policy, Restart::Permanent, &history, &exit, now, 0);
/// assert_eq!(first, Directive::Restart { after: Duration::ZERO });
///
/// history.record(&policy, now, Duration::ZERO);
/// let second = decide(&policy, Restart::Permanent, &history, &exit, now, 0);
/// assert!(matches!(second, Directive::Quarantine { .. }));
/// ```
pub fn decide(
    policy: &RestartPolicy,
    restart: Restart,
    history: &History,
    exit: &Exit,
    now: Duration,
    jitter: u64,
) -> Directive {
    match exit {
        Exit::Ordered => return Directive::Stop,
        Exit::StartFailed(StartError::Fatal(reason)) => return Directive::EndTree { reason: reason.clone() },
        Exit::StartFailed(StartError::Config(reason)) => {
            return Directive::Quarantine { reason: reason.clone() };
        }
        Exit::Normal if restart != Restart::Permanent => return Directive::Stop,
        _ if restart == Restart::Never => return Directive::Stop,
        _ => {}
    }
    let used = history.count(now, policy.within);
    if used < budget(policy) {
        let after = restart_delay(&policy.backoff, history.streak_at(policy, now), jitter);
        return Directive::Restart { after };
    }
    let reason = format!("{used} restarts within {:?} were not enough; last exit: {exit}", policy.within);
    match policy.exhausted {
        ExhaustedAction::Quarantine => Directive::Quarantine { reason },
        ExhaustedAction::Escalate => Directive::Escalate { reason },
        ExhaustedAction::EndTree => Directive::EndTree { reason },
    }
}

/// Returns the delay of the restart that follows `streak` consecutive ones: the first restart after a quiet
/// period is immediate. `jitter` is a uniformly distributed random number.
fn restart_delay(backoff: &Backoff, streak: u32, jitter: u64) -> Duration {
    streak.checked_sub(1).map_or(Duration::ZERO, |retry| backoff.jittered_delay(retry, jitter))
}

/// Returns the number of restarts that the policy allows in one window.
fn budget(policy: &RestartPolicy) -> usize {
    usize::try_from(policy.max_restarts).unwrap_or(LARGEST_BUDGET).min(LARGEST_BUDGET)
}
