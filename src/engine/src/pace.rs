//! How a run shares its thread: it gives way when it has held it for a while, and ends when its deadline passes.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{ErrorCode, TaskError};

/// The time a run may hold its thread before it gives way.
const TURN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Pace {
    /// When the turn is over.
    turn: Instant,
    deadline: Option<Instant>,
}

impl Pace {
    /// Starts the clock of a run that may take `limit` and not last beyond `until`.
    pub(crate) fn start(limit: Option<Duration>, until: Option<Instant>) -> Self {
        let now = Instant::now();
        let limited = limit.and_then(|limit| now.checked_add(limit));
        Self { turn: now + TURN, deadline: limited.into_iter().chain(until).min() }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Now, unless the deadline has passed.
    ///
    /// # Errors
    /// It has.
    pub(crate) fn in_time(&self) -> Result<Instant, TaskError> {
        let now = Instant::now();
        match self.deadline {
            Some(deadline) if deadline <= now => Err(timed_out()),
            _ => Ok(now),
        }
    }

    /// Gives way when the turn is over. Called between any two pieces of work.
    ///
    /// # Errors
    /// The deadline has passed.
    pub(crate) async fn check(&mut self) -> Result<(), TaskError> {
        let now = self.in_time()?;
        if now >= self.turn {
            tokio::task::yield_now().await;
            self.turn = Instant::now() + TURN;
        }
        Ok(())
    }
}

/// The error of a task that the deadline met.
pub(crate) fn timed_out() -> TaskError {
    TaskError::new(ErrorCode::Timeout, "the deadline of the run passed")
}
