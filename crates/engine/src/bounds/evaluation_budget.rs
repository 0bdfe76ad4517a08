//! The budget of a run on its thread: it yields after a while, and ends when its deadline passes or its
//! processor time is used up.

use std::time::Duration;

use tokio::time::Instant;

use crate::bounds::budget::{self, BudgetExhausted};
use crate::error::TaskError;

/// The time a run may hold its thread before it gives way.
const TURN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct EvaluationBudget {
    /// The end of the turn.
    turn: Instant,
    deadline: Option<Instant>,
}

/// Returns the deadline of a run that begins `now`, may take `limit` and must not last beyond `until`.
pub(crate) fn deadline(now: Instant, limit: Option<Duration>, until: Option<Instant>) -> Option<Instant> {
    let limited = limit.and_then(|limit| now.checked_add(limit));
    limited.into_iter().chain(until).min()
}

impl EvaluationBudget {
    /// Starts the first turn of a run that begins `now`. A run inside another shares the turn of that one.
    pub(crate) fn start(now: Instant, deadline: Option<Instant>) -> Self {
        Self { turn: budget::turn_started().unwrap_or(now) + TURN, deadline }
    }

    /// Returns the deadline of the run, or of the part of it that runs now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sets that deadline.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Returns `true` if the run that is polled now has held its thread for a turn.
    pub(crate) fn is_turn_over() -> bool {
        budget::turn_started().is_some_and(|started| started.elapsed() >= TURN)
    }

    /// Returns `true` if neither the turn nor a limit of the run has been reached `now`: most checks need no more.
    pub(crate) fn is_calm(&self, now: Instant) -> bool {
        now < self.turn && budget::is_calm(now)
    }

    /// Checks whether the run may go on `now`.
    ///
    /// # Errors
    /// The deadline has passed, or the processor time is used up.
    pub(crate) fn check_at(now: Instant) -> Result<(), TaskError> {
        budget::check(now).map_err(BudgetExhausted::into_error)
    }

    /// Gives way when the turn is over, and returns the current time. Called between any two pieces of work.
    ///
    /// # Errors
    /// The deadline has passed, or the processor time is used up.
    pub(crate) async fn check(&mut self) -> Result<Instant, TaskError> {
        let now = Instant::now();
        if self.is_calm(now) { Ok(now) } else { self.check_since(now).await }
    }

    /// Checks as [`check`](Self::check) does at an instant that was read just before.
    ///
    /// # Errors
    /// The deadline has passed, or the processor time is used up.
    pub(crate) async fn check_since(&mut self, mut now: Instant) -> Result<Instant, TaskError> {
        Self::check_at(now)?;
        if now >= self.turn {
            tokio::task::yield_now().await;
            now = Instant::now();
            self.turn = budget::turn_started().unwrap_or(now) + TURN;
            Self::check_at(now)?;
        }
        Ok(now)
    }
}

/// Returns the error of a task that the deadline met.
pub(crate) fn timed_out() -> TaskError {
    BudgetExhausted::Deadline.into_error()
}
