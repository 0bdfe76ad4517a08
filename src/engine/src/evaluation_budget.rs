//! The budget of a run on its thread: it yields after a while, and ends when its deadline passes or its
//! processor time is used up.

use std::time::Duration;

use tokio::time::Instant;

use crate::budget::{self, BudgetExhausted};
use crate::error::TaskError;

/// The time a run may hold its thread before it gives way.
const TURN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct EvaluationBudget {
    /// The end of the turn.
    turn: Instant,
    deadline: Option<Instant>,
}

/// Returns the deadline of a run that may take `limit` and must not last beyond `until`.
pub(crate) fn deadline(limit: Option<Duration>, until: Option<Instant>) -> Option<Instant> {
    let limited = limit.and_then(|limit| Instant::now().checked_add(limit));
    limited.into_iter().chain(until).min()
}

impl EvaluationBudget {
    /// Starts the first turn of a run.
    pub(crate) fn start(deadline: Option<Instant>) -> Self {
        Self { turn: budget::turn_started() + TURN, deadline }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the current time, unless the deadline has passed or the processor time is used up.
    ///
    /// # Errors
    /// It has, or is.
    pub(crate) fn in_time(&self) -> Result<Instant, TaskError> {
        let now = Instant::now();
        self.check_at(now).map(|()| now)
    }

    /// As [`in_time`](Self::in_time), for a moment that was read already.
    pub(crate) fn check_at(&self, now: Instant) -> Result<(), TaskError> {
        budget::check(now).map_err(BudgetExhausted::into_error)
    }

    /// Gives way when the turn is over. Called between any two pieces of work.
    ///
    /// # Errors
    /// The deadline has passed, or the processor time is used up.
    pub(crate) async fn check(&mut self) -> Result<(), TaskError> {
        let now = self.in_time()?;
        if now >= self.turn {
            tokio::task::yield_now().await;
            self.turn = budget::turn_started() + TURN;
        }
        Ok(())
    }
}

/// Returns the error of a task that the deadline met.
pub(crate) fn timed_out() -> TaskError {
    BudgetExhausted::Deadline.into_error()
}
